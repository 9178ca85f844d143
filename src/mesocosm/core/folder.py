"""The files of a folder that can change what code in it does, and those beside them that do not count."""

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import APPLICATION_ID

LARGE = 2**30
"""Bytes from which a file counts by its size and samples of it: a disk image must not cost minutes a run."""
MOST_FILES = 50_000
"""A folder with more files than this is refused: it is no folder of one program."""
RESULTS = "benchmark_results"
"""Where results go by default."""

_SAMPLES, _SAMPLE = 64, 2**20
_SKIPPED_DIRECTORIES = frozenset({"__pycache__", "node_modules", "venv"})
_SKIPPED_FILES = re.compile(r"test_.*\.py|.*\.(pyc|pyo|md|log)", re.IGNORECASE)

_HEAD = 4096
"""Bytes at the beginning of a file that show its format."""
_PAGES = 256 * 1024
"""Bytes at the beginning of a database in which SQLite keeps the schema that it was made with."""
_TAIL = 64 * 1024
"""Bytes at the end of a Parquet file in which its columns are named."""

_ID = rb'"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"'
_OUTPUTS = re.compile(
    # A report for continuous integration, whoever wrote it.
    rb"\s*(<\?xml[^>]*>\s*)?<testsuites?[\s>]"
    # A run as replay JSON, as tables of samples, as a bundle.
    rb'|\{"schema_version":"1","exported_at":'
    rb"|episode,row_index,task,trial,status,reward,passed,"
    rb'|\{"episode":"[^"]*","row_index":\d+,"task":'
    rb"|PK\x03\x04.{26}bundle\.json"
    # What commands print with --json, and the file of `bench compare`.
    rb'|\s*\{\s*"runs?":\s*(\[\s*)?(\{\s*"id":\s*)?' + _ID + rb'|\s*\{\s*"comparison_id":\s*' + _ID,
    re.DOTALL,
)
_SQLITE = b"SQLite format 3\0"
_OWNER = slice(68, 72)
"""Where a SQLite file says whose it is."""
_TABLES = (b"mesocosm_schema", b"CREATE TABLE responses (key BLOB PRIMARY KEY, reply BLOB")
"""Tables by which databases are known that were made before they said so: of results, and of a model's answers."""
_SIDECAR = re.compile(r"(.+)-(wal|shm|journal)")
_COLUMNS = (b"row_index", b"duration_s", b"completion_tokens")


def files_below(
    root: Path, *, places: Collection[str] = (RESULTS,), apart: Callable[[str], bool] = lambda _: False
) -> dict[str, str]:
    """Return the digest of every file below `root` that can change what code in it does, by relative POSIX name.

    Files above LARGE bytes count by their size and samples. Left out are hidden files, virtual environments, caches,
    logs, Markdown, test_*.py, what mesocosm has written (see `is_output`), the directories `places`, and the files of
    which `apart` says so by their name. Links are followed, once to each directory. Raises OSError, and UsageError for
    more than MOST_FILES files.
    """
    return dict(sorted(_content(root, frozenset(places), apart)))


def is_output(path: Path) -> bool:
    """Return whether a file is something that mesocosm writes, wherever it was told to: it is known by its content.

    These are JUnit reports, results and response caches in SQLite, exports of runs (JSON, zip, CSV, JSONL, Parquet),
    and what commands print with --json. Raises OSError.
    """
    sidecar = _SIDECAR.fullmatch(path.name)
    if sidecar is not None and (main := path.with_name(sidecar[1])).is_file():
        return is_output(main)
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if head.startswith(_SQLITE):
            pages = head + file.read(_PAGES)
            return int.from_bytes(head[_OWNER]) == APPLICATION_ID or any(table in pages for table in _TABLES)
        if head.startswith(b"PAR1"):
            file.seek(max(0, path.stat().st_size - _TAIL))
            columns = file.read(_TAIL)
            return all(name in columns for name in _COLUMNS)
    return _OUTPUTS.match(head) is not None


def fingerprint(path: Path) -> str:
    """Return the digest of a file: of all its bytes, above LARGE of its size and samples. Raises OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= LARGE:
            return hashlib.file_digest(file, "sha256").hexdigest()
        found = hashlib.sha256(f"{size} bytes".encode())
        for place in range(_SAMPLES):
            file.seek(place * (size - _SAMPLE) // (_SAMPLES - 1))
            found.update(file.read(_SAMPLE))
        return found.hexdigest()


def _content(root: Path, places: Collection[str], apart: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield relative POSIX name and digest of the regular files that count."""
    home, count = os.path.realpath(root), 0
    seen = {home}
    # Links wait until everything else is known, so that a name does not depend on the order of a directory.
    pending, links = [root], list[Path]()
    while pending or links:
        if not pending:
            link = links.pop(0)
            real = os.path.realpath(link)
            if real in seen:
                yield link.relative_to(root).as_posix(), f"link to {os.path.relpath(real, home)}"
                continue
            seen.add(real)
            pending.append(link)
        for entry in sorted(os.scandir(pending.pop()), key=lambda entry: entry.name):
            path = Path(entry.path)
            name = path.relative_to(root).as_posix()
            if entry.name.startswith(".") or name in places or apart(name):
                continue
            if entry.is_dir():
                if entry.name in _SKIPPED_DIRECTORIES or (path / "pyvenv.cfg").exists():
                    continue
                if entry.is_symlink():
                    links.append(path)
                else:
                    seen.add(os.path.realpath(path))
                    pending.append(path)
            elif entry.is_file() and not _SKIPPED_FILES.fullmatch(entry.name) and not is_output(path):
                count += 1
                if count > MOST_FILES:
                    raise UsageError(
                        f"{root} has more than {MOST_FILES:,} files, and any of them may change what is measured; "
                        "keep data sets and output elsewhere"
                    )
                yield name, fingerprint(path)
