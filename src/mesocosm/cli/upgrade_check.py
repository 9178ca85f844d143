"""`mesocosm upgrade-check`: what this version would change in files of earlier ones."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import emit
from mesocosm.core.failure import InvalidInput, MesocosmError, UsageError

CURRENT, OLDER, NEWER, INVALID = "current", "older", "newer", "invalid"
UNUSABLE = frozenset({NEWER, INVALID})
MOST_FILES = 20_000
"""Files that are looked at below a folder; the rest of a larger one is left out, which is said."""
_MARKS = {CURRENT: ("✓", "green"), OLDER: ("!", "yellow"), NEWER: ("✗", "red"), INVALID: ("✗", "red")}
_SKIPPED = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file: what it is, how it relates to this version, and what would change or is wrong."""

    path: str
    kind: str
    status: str
    changes: tuple[str, ...] = ()


@click.command("upgrade-check", cls=MesocosmCommand)
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[FILE|DIR...]")
def upgrade_check(paths: tuple[Path, ...]) -> int:
    """Tell what this version would change in manifests, configurations, benchmarks and results; change nothing.

    Folders are searched, by default the current one. Exit 1 if this version cannot use a file.
    """
    found = [checked for path in paths or (Path(),) for checked in _checked(path)]
    chosen = options()
    if chosen.json:
        emit({"items": [asdict(one) for one in found], "next": None})
    else:
        for one in found:
            mark, colour = _MARKS[one.status]
            click.echo(f"{click.style(mark, fg=colour)} {one.path}  {one.kind}, {one.status}")
            for line in one.changes:
                click.echo(f"    {line}")
        older = sum(one.status == OLDER for one in found)
        broken = sum(one.status in UNUSABLE for one in found)
        click.echo(
            f"{plural(len(found), 'file')}: {older} older and still readable, {broken} unusable; nothing was changed"
            if found
            else "no manifest, configuration, benchmark or results database was found"
        )
    return int(any(one.status in UNUSABLE for one in found))


def _checked(path: Path) -> Iterator[CheckedFile]:
    """Yield the files below a folder that this program reads; a file that is named is always reported."""
    if path.is_file():
        check = _check_of(path)
        if check is None:
            raise UsageError(f"{path} is neither a manifest, a configuration, a benchmark.toml nor a results database")
        yield check(path)
        return
    seen = 0
    folders = [path]
    while folders:
        for entry in sorted(folders.pop().iterdir()):
            if entry.is_dir() and not entry.is_symlink() and entry.name not in _SKIPPED:
                folders.append(entry)
            elif entry.is_file() and (check := _check_of(entry)) is not None:
                yield check(entry)
            seen += 1
            if seen > MOST_FILES:
                click.echo(f"note: only the first {MOST_FILES:,} files below {path} were looked at", err=True)
                return


def _check_of(path: Path) -> Callable[[Path], CheckedFile] | None:
    """Return the check of a file by its name and first bytes, or None for a file that is not ours."""
    from mesocosm.benchmarks.descriptor import FILE
    from mesocosm.environments.manifest import MANIFEST_NAME

    if path.name == MANIFEST_NAME:
        return _manifest
    if path.name == FILE:
        return _benchmark
    if path.suffix == ".toml" and _tables(path) & {"experiment", "eval"}:
        return _configuration
    if path.suffix in {".sqlite", ".db"} and _is_results(path):
        return _results
    return None


def _manifest(path: Path) -> CheckedFile:
    from mesocosm.environments.validation import validate_file

    kind = "manifest"
    try:
        result = validate_file(path)
    except MesocosmError as error:
        return CheckedFile(str(path), kind, INVALID, (str(error),))
    if not result.ok:
        return CheckedFile(str(path), kind, INVALID, tuple(str(problem) for problem in result.problems))
    return CheckedFile(str(path), kind, CURRENT, tuple(str(problem) for problem in result.warnings))


def _benchmark(path: Path) -> CheckedFile:
    from mesocosm.benchmarks.descriptor import read_descriptor

    kind = "benchmark"
    try:
        read_descriptor(path.parent)
    except MesocosmError as error:
        return CheckedFile(str(path), kind, INVALID, _lines(error))
    if "knobs" in _tables(path):
        return CheckedFile(str(path), kind, OLDER, ("[knobs] is an older spelling: [parameters]",))
    return CheckedFile(str(path), kind, CURRENT)


def _configuration(path: Path) -> CheckedFile:
    import tomllib

    from mesocosm.rollouts.older import translate

    done = translate(tomllib.loads(path.read_text("utf-8-sig")))
    kind = "configuration"
    if done.problems:
        return CheckedFile(str(path), kind, INVALID, tuple(str(problem) for problem in done.problems))
    return CheckedFile(str(path), kind, OLDER if done.notes else CURRENT, tuple(done.notes))


def _results(path: Path) -> CheckedFile:
    from mesocosm.store.revision import HEAD

    kind = "results"
    revision = _revision(path)
    if revision == HEAD:
        return CheckedFile(str(path), kind, CURRENT)
    if revision > HEAD:
        why = f"schema {revision} is newer than {HEAD}, the newest that this version knows; upgrade mesocosm"
        return CheckedFile(str(path), kind, NEWER, (why,))
    steps = tuple(f"{name}: {what}" for name, what in _revisions() if name > revision)
    first = f"schema {revision} becomes {HEAD} when a command next opens it; keep a copy to go back"
    return CheckedFile(str(path), kind, OLDER, (first, *steps))


def _revisions() -> Iterator[tuple[str, str]]:
    """Yield every revision of the schema with what it changed."""
    import ast
    from importlib.resources import files

    folder = files("mesocosm.store.migrations") / "versions"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".py") and file.name[:4].isdigit():
            text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
            yield file.name[:4], " ".join(text.partition("\n\n")[0].split())


def _is_results(path: Path) -> bool:
    try:
        return bool(_revision(path))
    except MesocosmError:
        return False


def _revision(path: Path) -> str:
    """Return the schema of a results database, which is opened read-only. Raises UsageError for another file."""
    import sqlite3
    from urllib.parse import quote

    from mesocosm.store.revision import VERSION_TABLE

    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as connection:
            row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608 - our constant
    except sqlite3.Error as error:
        raise UsageError(f"{path} is no results database: {error}") from error
    return str(row[0]) if row else ""


def _tables(path: Path) -> set[str]:
    """Return the tables of a TOML file; none if it cannot be read."""
    import tomllib

    try:
        return set(tomllib.loads(path.read_text("utf-8-sig")))
    except (OSError, ValueError, RecursionError):
        return set()


def _lines(error: MesocosmError) -> tuple[str, ...]:
    problems: Any = error.problems if isinstance(error, InvalidInput) else ()
    return tuple(str(problem) for problem in problems) or (str(error),)
