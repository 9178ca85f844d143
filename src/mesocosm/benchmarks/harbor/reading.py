"""Read task folders, of Harbor or of Terminal-Bench 1."""

from pathlib import Path

from mesocosm.benchmarks.harbor.folder import BENCH_CONFIG, CONFIG, TaskFolder, read_harbor_folder
from mesocosm.benchmarks.harbor.terminal_bench import read_bench_folder
from mesocosm.core.failure import UsageError


def is_task(folder: Path) -> bool:
    """Return whether a folder is a task, of Harbor or of Terminal-Bench 1."""
    return (folder / CONFIG).is_file() or (folder / BENCH_CONFIG).is_file()


def read_folders(place: Path) -> list[TaskFolder]:
    """Return the task at `place`, or those in the folders of `place`, by name. Raises UsageError."""
    if not place.is_dir():
        raise UsageError(f"there is no folder {place}; harbor: takes a task folder or a folder of them")
    folders = [place] if is_task(place) else sorted(one for one in place.iterdir() if is_task(one))
    if not folders:
        raise UsageError(f"{place} is no task and holds none: a task has a {CONFIG}, or a {BENCH_CONFIG} of older ones")
    return [read_folder(one) for one in folders]


def read_folder(folder: Path) -> TaskFolder:
    """Return a task. Raises UsageError with the file that cannot be read."""
    folder = folder.resolve()
    return read_harbor_folder(folder) if (folder / CONFIG).is_file() else read_bench_folder(folder)
