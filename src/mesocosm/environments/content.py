"""The files that make an environment what it is, and those beside them that do not count."""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from mesocosm.core.ids import APPLICATION_ID

LARGE = 64 * 2**20
"""Bytes from which a file counts by name and size alone: a data set beside the code must not cost seconds a run."""

_SKIPPED_DIRECTORIES = frozenset({"__pycache__", "node_modules", "venv"})
_SKIPPED_PLACES = frozenset({"showcase", "benchmark_results", "data/traces"})
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


def files_below(root: Path, manifest: Path) -> dict[str, str]:
    """Return the digest of every file below `root` that can change how the environment behaves, by relative POSIX name.

    Files above LARGE bytes have their size for it. Left out are the manifest, hidden files, virtual environments,
    caches, logs, Markdown, test_*.py, showcase/, benchmark_results/, data/traces/, and what mesocosm has written: see
    `is_output`. Links to directories are not followed. Raises OSError.
    """
    return {name: _fingerprint(path) for name, path in sorted(_content(root, manifest))}


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


def _fingerprint(path: Path) -> str:
    size = path.stat().st_size
    if size > LARGE:
        return f"{size} bytes"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content(root: Path, manifest: Path) -> Iterator[tuple[str, Path]]:
    """Yield relative POSIX name and path of the regular files that count."""
    pending = [root]
    while pending:
        for entry in os.scandir(pending.pop()):
            path = Path(entry.path)
            name = path.relative_to(root).as_posix()
            if entry.name.startswith(".") or name in _SKIPPED_PLACES:
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_DIRECTORIES and not (path / "pyvenv.cfg").exists():
                    pending.append(path)
            elif (
                entry.is_file()
                and not _SKIPPED_FILES.fullmatch(entry.name)
                and path != manifest
                and not is_output(path)
            ):
                yield name, path
