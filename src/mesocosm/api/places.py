"""Where results are kept: the place that is named, else the environment's, else the project's."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mesocosm.core.failure import UnknownName
from mesocosm.core.run import Run

if TYPE_CHECKING:
    from mesocosm.store import Store

RESULTS = "benchmark_results"
MARKS = (".git", "pyproject.toml")
"""Files and folders that mark the top of a project."""

_open: dict[str, "Store"] = {}


def results_place(given: str | os.PathLike[str] | None = None, *, above: bool = True) -> str:
    """Return the URL, or the path of the file, with the results.

    Without a place: `MESOCOSM_DATABASE_URL`, `MESOCOSM_RESULTS_DIR`, else `benchmark_results` of the project, which is
    the nearest folder upwards with one of `MARKS` or such results, never the home directory or one above it; else here.
    With `above=False` folders above this one are not looked at.
    """
    from mesocosm.store.revision import DATABASE_NAME

    text = os.fspath(given) if given is not None else ""
    if not text:
        text = os.environ.get("MESOCOSM_DATABASE_URL", "") or os.environ.get("MESOCOSM_RESULTS_DIR", "")
    if "://" in text:
        return text
    if text:
        path = Path(text).expanduser()
        return str(path.absolute() if path.suffix in {".sqlite", ".db"} else (path / DATABASE_NAME).absolute())
    return str(
        project_folder(Path.cwd()) / RESULTS / DATABASE_NAME if above else Path(RESULTS).absolute() / DATABASE_NAME
    )


def project_folder(here: Path) -> Path:
    """Return the nearest folder upwards that is a project or holds results, else `here`."""
    home = Path.home().resolve()
    for folder in (here.resolve(), *here.resolve().parents):
        if folder == home or home.is_relative_to(folder):
            break
        if (folder / RESULTS).is_dir() or any((folder / mark).exists() for mark in MARKS):
            return folder
    return here.resolve()


def store_at(place: str | os.PathLike[str] | None, *, create: bool = True) -> "Store":
    """Return the open store of a place; it stays open for the life of the process. Raises UnknownName, UsageError."""
    from mesocosm.store import open_store

    where = results_place(place)
    # A child of a fork must not use the connections of its parent.
    key = f"{os.getpid()} {where}"
    if key in _open and "://" not in where and not Path(where).exists():
        # The folder was removed: what is written to the open file would be lost with it.
        _open.pop(key).close()
    if key not in _open:
        _open[key] = open_store(where, create=create)
    return _open[key]


def newest_runs(store: "Store", count: int) -> list[Run]:
    """Return the newest runs. Scans are left out: `last` is what was scanned last, not the scan."""
    from mesocosm.core.scan_question import SCAN

    found: list[Run] = []
    cursor: str | None = None
    while len(found) < count:
        page = store.runs.list(limit=count, cursor=cursor)
        found += (run for run in page.items if run.kind != SCAN)
        cursor = page.cursor
        if cursor is None:
            break
    return found[:count]


def named_run(store: "Store", name: str) -> Run:
    """Return a run by its id, the beginning of one, its name, `last`, or `last~1` for the one before.

    Raises UnknownName.
    """
    head, _, back = name.partition("~")
    if head == "last" and (not back or back.isdecimal()):
        place = int(back or 0)
        newest = newest_runs(store, place + 1)
        if len(newest) <= place:
            raise UnknownName(f"there is no run {name!r} in {store.place}; it has {len(newest)}")
        return store.runs.get(newest[place].id)
    try:
        return store.runs.get(name)
    except UnknownName:
        called = store.runs.named(name) if name else None
        if called is None:
            raise
        return store.runs.get(called.id)
