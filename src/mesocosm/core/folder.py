"""Digests of the files in a folder that can change what its code does; other files are left out."""

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntEnum
from pathlib import Path

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import APPLICATION_ID

LARGE = 2**30
"""Files larger than this many bytes are digested by size and samples, because a disk image would take minutes."""
MOST_FILES = 50_000
"""A folder with more files than this is rejected: it is not the folder of one program."""
RESULTS = "benchmark_results"
"""Default directory of results."""

_SAMPLES, _SAMPLE = 64, 2**20
_SKIPPED_DIRECTORIES = frozenset({"__pycache__", "node_modules", "venv"})
_COMPILED = (".pyc", ".pyo")
_LOGS = frozenset({"log", "logs"})
_TEST = re.compile(rb"^\s*(async\s+)?(def\s+test|class\s+Test)", re.MULTILINE)
_FOR_PEOPLE = re.compile(
    r"(readme|changelog|changes|history|contributing|code_of_conduct|security|licen[cs]e|notice|authors|local_dev)\.md",
    re.IGNORECASE,
)
"""Markdown about a repository. Any other Markdown, such as a prompt, is data."""

_HEAD = 4096
"""Bytes at the beginning of a file that show its format."""
_PAGES = 256 * 1024
"""Bytes at the beginning of a database in which SQLite stores the schema that it was created with."""
_TAIL = 64 * 1024
"""Bytes at the end of a Parquet file that contain its column names."""

MARK = "<!-- mesocosm -->"
"""The first line of reports in Markdown."""
SUITES = "mesocosm"
"""Name of the test suites in JUnit reports."""

_MARKED = re.compile(
    rb"\s*(<\?xml[^>]*>\s*)?<testsuites name=\"" + SUITES.encode() + rb"\"[\s>]|" + re.escape(MARK.encode())
)
_ID = rb'"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"'
_FORMS = re.compile(
    # A run as replay JSON, as tables of samples, as a bundle.
    rb'\{"schema_version":"1","exported_at":"[^"]*","visibility":'
    rb"|episode,row_index,task,trial,status,reward,passed,"
    rb'|\{"episode":"[^"]*","row_index":\d+,"task":'
    rb"|PK\x03\x04.{26}bundle\.json"
    # What commands print with --json, and the file of `bench compare`.
    rb'|\s*\{\s*"runs?":\s*(\[\s*)?\{\s*"id":\s*' + _ID + rb',\s*"status":\s*"\w+",\s*"config":\s*\{\s*"domain_id":'
    rb'|\s*\{\s*"items":\s*\[\s*\{\s*"id":\s*' + _ID + rb',\s*"status":\s*"\w+",\s*"created_at":\s*"'
    rb'|\s*\{\s*"comparison_id":\s*' + _ID,
    re.DOTALL,
)
_SQLITE = b"SQLite format 3\0"
_OWNER = slice(68, 72)
"""Position of the `application_id` in a SQLite file."""
_TABLES = (b"mesocosm_schema", b"CREATE TABLE responses (key BLOB PRIMARY KEY, reply BLOB")
"""Tables that identify databases (results; response caches) created before we set `application_id`."""
_SIDECAR = re.compile(r"(.+)-(wal|shm|journal)")
_COLUMNS = (b"row_index", b"duration_s", b"completion_tokens")


def from_home(path: str | Path) -> Path:
    """Return a path with a leading `~` replaced, unchanged if there is no such user: then nothing exists there."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def from_root(path: str | Path) -> str:
    """Return a path from the root, without `~`, `.` and `..`; links stay."""
    return os.path.abspath(from_home(path))  # noqa: PTH100 -- Path.absolute keeps `..`


def without_folders(source: str) -> str:
    """Return a source, or several with commas, as it is shown: files by their names, since folders are of a machine."""
    return ",".join(Path(part).name if part.startswith("/") else part for part in source.split(","))


class WrittenByUs(IntEnum):
    """Whether mesocosm wrote a file: no; probably, judged by its form; or certainly, by its mark."""

    NO = 0
    FORM = 1
    MARK = 2


def files_below(
    root: Path, *, places: Collection[str] = (RESULTS,), apart: Callable[[str], bool] = lambda _: False
) -> dict[str, str]:
    """Return the digest of every file below `root` that can change what its code does, by relative POSIX name.

    Files larger than LARGE bytes are digested by size and samples. Left out are hidden files, virtual environments,
    caches; logs at the top, beside code and in log folders; test files that contain a test; Markdown about the
    repository (README.md and the like); the relative names in `places` and those for which `apart` returns True. Files
    that mesocosm wrote are left out too: anywhere if they have a mark; if only their form shows it (see `written`), at
    the top and beside results, because elsewhere they may be data. Links are followed, once to each directory. Raise
    OSError, and UsageError for more than MOST_FILES files.
    """
    found = {}
    for name, path in _content(root, frozenset(places), apart):
        found[name] = path if isinstance(path, str) else fingerprint(path)
        if len(found) > MOST_FILES:
            raise UsageError(
                f"{root} has more than {MOST_FILES:,} files, and any of them may change what is measured; "
                "keep data sets and output elsewhere"
            )
    return dict(sorted(found.items()))


def written(path: Path) -> WrittenByUs:
    """Return whether mesocosm wrote a file, judged by its content.

    Results and response caches in SQLite, and reports in JUnit XML and Markdown, have a mark. Exports of runs (JSON,
    zip, CSV, JSONL, Parquet) and the --json output of commands have a recognizable form. A SQLite sidecar (-wal, -shm,
    -journal) counts as its database. Raise OSError.
    """
    sidecar = _SIDECAR.fullmatch(path.name)
    if sidecar is not None and (main := path.with_name(sidecar[1])).is_file():
        return written(main)
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if head.startswith(_SQLITE):
            pages = head + file.read(_PAGES)
            ours = int.from_bytes(head[_OWNER]) == APPLICATION_ID or any(table in pages for table in _TABLES)
            return WrittenByUs.MARK if ours else WrittenByUs.NO
        if head.startswith(b"PAR1"):
            file.seek(max(0, path.stat().st_size - _TAIL))
            columns = file.read(_TAIL)
            return WrittenByUs.FORM if all(name in columns for name in _COLUMNS) else WrittenByUs.NO
    return WrittenByUs.MARK if _MARKED.match(head) else WrittenByUs.FORM if _FORMS.match(head) else WrittenByUs.NO


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file; for files above LARGE bytes, of its size and samples. Raise OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= LARGE:
            return hashlib.file_digest(file, "sha256").hexdigest()
        found = hashlib.sha256(f"{size} bytes".encode())
        for place in range(_SAMPLES):
            file.seek(place * (size - _SAMPLE) // (_SAMPLES - 1))
            found.update(file.read(_SAMPLE))
        return found.hexdigest()


def _content(
    root: Path, places: Collection[str], apart: Callable[[str], bool]
) -> Iterator[tuple[str, Path] | tuple[str, str]]:
    """Yield relative POSIX name and path of each file that counts; for a link to a known directory, its target."""
    home = os.path.realpath(root)
    seen = {home}
    # Links are processed last, so that names do not depend on the order of directory entries.
    pending, links = [("", root)], list[tuple[str, Path]]()
    while pending or links:
        if not pending:
            name, link = links.pop(0)
            real = os.path.realpath(link)
            if real in seen:
                yield name, f"link to {os.path.relpath(real, home)}"
                continue
            seen.add(real)
            pending.append((f"{name}/", link))
        prefix, folder = pending.pop()
        files = []
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            name, path = prefix + entry.name, Path(entry.path)
            if entry.name.startswith(".") or name in places or apart(name):
                continue
            if not entry.is_dir():
                files += [path] if entry.is_file() else []
            elif entry.name not in _SKIPPED_DIRECTORIES and not (path / "pyvenv.cfg").exists():
                if entry.is_symlink():
                    links.append((name, path))
                else:
                    seen.add(os.path.realpath(path))
                    pending.append((f"{name}/", path))
        yield from ((prefix + path.name, path) for path in _counted(files, top=not prefix))


def _counted(files: Sequence[Path], *, top: bool) -> Iterator[Path]:
    """Yield the files of one directory that count."""
    logged = top or any(path.suffix == ".py" or path.parent.name.lower() in _LOGS for path in files)
    ours = {path: written(path) for path in files}
    # Exports are usually stored beside results.
    output = top or any(ours[path] is WrittenByUs.MARK and path.suffix not in {".xml", ".md"} for path in files)
    for path in files:
        if ours[path] is WrittenByUs.MARK or (ours[path] is WrittenByUs.FORM and output):
            continue
        ending = path.suffix.lower()
        if ending in _COMPILED or (ending == ".log" and logged) or (top and _FOR_PEOPLE.fullmatch(path.name)):
            continue
        if ending == ".py" and path.name.startswith("test_") and _TEST.search(path.read_bytes()):
            continue
        yield path
