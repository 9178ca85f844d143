"""`mesocosm dataset upload | list | download | rename | delete`: the datasets of a workspace on a server."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import confirmed, options, plural
from mesocosm.cli.dataset_cells import COLUMN_HEADS, ROW_HEAD, cell_text, column_cells, mapped
from mesocosm.cli.remote.connection import Remote, document, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, table
from mesocosm.core.failure import Incompatible, InvalidInput, Problem, UsageError

if TYPE_CHECKING:
    from mesocosm.cli.remote.dataset_source import UploadSource
    from mesocosm.client.client import Client
    from mesocosm.rollouts.dataset_check import CheckedDataset
    from mesocosm.rollouts.tables import Columns
    from mesocosm.server.schemas.dataset import (
        DatasetColumn,
        DatasetDocument,
        DatasetSource,
        DatasetVersionDocument,
    )

_SECONDS = 2.0
"""Seconds between lines of progress without a terminal."""


@click.command(cls=Remote, many=("--columns",), short_help="Upload a file to a workspace, in parts.")
@click.argument("places", metavar="FILE|hf:ORG/NAME...", nargs=-1, required=True)
@click.option("--name", help="Name of the dataset  [the file's name without ending].")
@click.option("--columns", multiple=True, metavar="ROLE=NAME", help="Roles of columns: user_prompt=question.")
@click.option("--split", "splits", multiple=True, help="Name of the split; once for each file  [their names].")
@click.option("--overwrite", is_flag=True, help="Upload a new version if the name exists.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def upload(places: tuple[str, ...], columns: tuple[str, ...], splits: tuple[str, ...], **given: Any) -> int:
    """Check a CSV, JSONL or Parquet file row by row, and upload it to a workspace.

    Several files are one dataset, each a split of it. hf:ORG/NAME[@REVISION][:CONFIG][:SPLIT] is a dataset of the
    Hugging Face hub. The same file again is the same version. An interrupted upload continues when the command is
    repeated. The server checks the file too; exit code 1 if a row is invalid.
    """
    from mesocosm.cli.remote.dataset_source import open_source

    roles = mapped(columns)
    client = member_client()
    with tempfile.TemporaryDirectory(prefix="mesocosm-") as folder:
        source = open_source(places, given["name"], splits, roles.split, Path(folder))
        return _upload(client, source, roles, **given)


def _upload(
    client: "Client",
    source: "UploadSource",
    roles: "Columns",
    *,
    name: str | None,
    overwrite: bool,
    yes: bool,
    workspace: str | None,
) -> int:
    from mesocosm.client.datasets import describe_file
    from mesocosm.server.schemas.dataset import DatasetInput

    place = workspace_for(client, workspace)
    checked = _check(source, roles)
    if checked is not None and checked.faults:
        return _refused(source.name, checked.faults, checked.faults_total)
    size, digest = describe_file(source.path)
    if size == 0:
        raise UsageError(f"{source.path} is empty; a dataset has at least one row")
    fields = {"file_name": source.name, "name": name, "size": size, "digest": digest, "overwrite": overwrite}
    wanted = document(DatasetInput, {**fields, "columns": _columns(roles), "source": source.source})
    if overwrite and not (yes or confirmed(f"upload {source.name} as a new version of the dataset {wanted.name!r}?")):
        click.echo("nothing was uploaded", err=True)
        return 1
    progress = UploadProgress()
    try:
        done = client.datasets.upload(place, source.path, wanted, sent=progress.sent, told=progress.tell)
    except KeyboardInterrupt:
        progress.tell("interrupted; repeat the command to continue the upload")
        raise
    finally:
        progress.end()
    return _report(done, source.name)


@click.command("list", cls=Remote)
@workspace_option
def list_(workspace: str | None) -> None:
    """List the datasets of a workspace, newest first."""
    client = member_client()
    place = workspace_for(client, workspace)
    found, cursor = [], None
    while True:
        page = client.datasets.list(place, limit=100, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("the workspace has no datasets; upload one with: mesocosm dataset upload FILE", err=True)
        return
    rows = [
        [
            one.name,
            one.status,
            "–" if one.version is None else str(one.version),
            "–" if one.rows is None else f"{one.rows:,}",
            _size(one.size),
            one.format,
            one.creator or "–",
            f"{one.updated_at.astimezone():%Y-%m-%d %H:%M}",
        ]
        for one in found
    ]
    table(["name", "status", "version", "rows", "size", "format", "by", "updated"], rows, options(), right=(2, 3, 4))


@click.command(cls=Remote)
@click.argument("name")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File to write, or folder  [the uploaded name].")
@click.option("--version", "number", type=click.IntRange(1), help="Version  [the newest].")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@workspace_option
def download(name: str, output: Path | None, number: int | None, force: bool, workspace: str | None) -> None:
    """Download the file of a dataset as it was uploaded."""
    client = member_client()
    place = workspace_for(client, workspace)
    found = client.datasets.get(place, name, version=number)
    # The name is foreign: only its last part is used.
    uploaded = Path(found.current.file_name).name or "dataset"
    target = Path(uploaded) if output is None else output / uploaded if output.is_dir() else output
    if target.exists() and not force:
        raise UsageError(f"{target} exists; name another file with --output, or replace it with --force")
    handle, partial = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w+b") as file:
            client.datasets.download(
                place, found.id, file, version=found.current.version, told=lambda words: click.echo(words, err=True)
            )
        Path(partial).chmod(0o666 & ~_umask())
        Path(partial).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(partial).unlink()
        raise
    facts = {"file": str(target), "name": found.name, "version": found.current.version, "digest": found.current.digest}
    answer(f"Wrote {target} ({_size(found.current.size)}), version {found.current.version} of {found.name}.", facts)


@click.command(cls=Remote)
@click.argument("name")
@click.argument("new_name")
@workspace_option
def rename(name: str, new_name: str, workspace: str | None) -> None:
    """Rename a dataset. For its creator and admins of the workspace."""
    client = member_client()
    done = client.datasets.rename(workspace_for(client, workspace), name, new_name)
    answer(f"Renamed {name} to {done.name}.", done)


@click.command(cls=Remote)
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def delete(name: str, yes: bool, workspace: str | None) -> int:
    """Delete a dataset with all its versions; runs keep those that they used."""
    client = member_client()
    place = workspace_for(client, workspace)
    found = client.datasets.get(place, name)
    if not (yes or confirmed(f"delete the dataset {found.name!r} with {plural(len(found.versions), 'version')}?")):
        click.echo("nothing was deleted", err=True)
        return 1
    client.datasets.delete(place, found.id)
    answer(f"Deleted {found.name}.", {"deleted": found.id, "name": found.name})
    return 0


def remote_info(name: str, number: int | None, workspace: str | None) -> int:
    """Describe a dataset of a workspace; return 1 if the version is not usable."""
    client = member_client()
    found = client.datasets.get(workspace_for(client, workspace), name, version=number)
    current = found.current
    if options().json:
        emit(found)
        return int(current.status == "error")
    facts = [f"version {current.version}", current.status]
    facts += [] if current.rows is None else [plural(current.rows, "row")]
    click.echo(f"{found.name} · {' · '.join([*facts, f'{current.size:,} bytes', current.format])}")
    click.echo(f"digest {current.digest}")
    if current.source is not None:
        click.echo(_source(current.source))
    if current.faults:
        return _refused(found.name, [Problem(*_words(fault)) for fault in current.faults], current.faults_total)
    if current.columns:
        _print_columns(current)
    if len(found.versions) > 1:
        click.echo()
        rows = [
            [str(one.version), one.status, "–" if one.rows is None else f"{one.rows:,}", _size(one.size), one.file_name]
            for one in found.versions
        ]
        table(["version", "status", "rows", "size", "file"], rows, options(), right=(0, 2, 3))
    return 0


def remote_preview(name: str, rows: int, number: int | None, workspace: str | None) -> None:
    """Show the first rows of a dataset of a workspace."""
    client = member_client()
    found = client.datasets.preview(workspace_for(client, workspace), name, version=number, limit=min(rows, 20))
    if options().json:
        emit(found)
        return
    columns = list(dict.fromkeys(column for item in found.items for column in item.cells))
    click.echo(f"{name} · version {found.version} · {plural(found.rows, 'row')} · {plural(len(columns), 'column')}")
    cells = [[str(item.row), *(cell_text(item.cells, column) for column in columns)] for item in found.items]
    table([ROW_HEAD, *columns], cells, options(), right=(0,))
    if rows > 20 and found.rows > 20:
        click.echo("a server shows at most 20 rows; download the dataset to see more", err=True)


def _source(source: "DatasetSource") -> str:
    """Return where the rows of a version come from, in words."""
    if source.kind == "hub":
        parts = (source.config, source.split)
        return f"from {'/'.join(filter(None, (source.repository, *parts)))} at commit {source.revision}"
    if source.added == 0:
        return f"no row added from run {source.run}: version {source.base} had all of them"
    added = "rows" if source.added is None else plural(source.added, "row")
    onto = "" if source.base is None else f" to version {source.base}"
    return f"{added} added from run {source.run}{onto}"


def _print_columns(current: "DatasetVersionDocument") -> None:
    from mesocosm.datasets.summary import ColumnSummary

    def summary(column: "DatasetColumn") -> ColumnSummary:
        import msgspec

        return msgspec.convert(column.model_dump(), ColumnSummary)

    table(COLUMN_HEADS, [column_cells(summary(column)) for column in current.columns], options(), right=(2, 3, 4, 5))
    click.echo()
    played = (f"{role} ← {', '.join(names)}" for role, names in current.roles.items())
    click.echo(f"{current.mode} mode: {', '.join(played)}")
    if any(current.splits):
        found = (f"{name or 'in none'} {rows:,}" for name, rows in current.splits.items())
        click.echo(f"splits: {', '.join(found)}")
    for warning in current.warnings:
        click.echo(f"warning: {warning}")


def _check(source: "UploadSource", roles: "Columns") -> "CheckedDataset | None":
    """Return what the server will find; None if only the server can tell."""
    from mesocosm.datasets.reading import format_of
    from mesocosm.rollouts.dataset_check import check_dataset

    try:
        return check_dataset(source.path, format_of(source.path), source.name, roles)
    except Incompatible as error:
        click.echo(f"note: only the server checks the rows: {error}", err=True)
        return None


def _columns(roles: "Columns") -> dict[str, Any]:
    """Return the roles that were given."""
    from mesocosm.rollouts.tables import Columns

    usual = Columns()
    names = ("user_prompt", "system_prompt", "ground_truth", "metadata", "split")
    given = {name: getattr(roles, name) for name in names if getattr(roles, name) != getattr(usual, name)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def _report(done: "DatasetDocument", name: str) -> int:
    """Print the outcome of an upload; return the exit code."""
    current = done.current
    if options().json:
        emit(done)
    if current.status == "uploaded":
        rows = plural(current.rows or 0, "row")
        if not options().json:
            click.echo(f"{name} is version {current.version} of the dataset {done.name}: {rows}")
        for warning in current.warnings:
            click.echo(f"warning: {warning}", err=True)
        return 0
    return refuse_version(done)


def refuse_version(done: "DatasetDocument") -> int:
    """Print what is wrong with a version that cannot be used; return the exit code."""
    current = done.current
    if current.faults:
        faults = [Problem(*_words(fault)) for fault in current.faults]
        return _refused(f"version {current.version} of {done.name}", faults, current.faults_total)
    click.echo(
        f"error: version {current.version} of the dataset {done.name} is {current.status}; upload it again", err=True
    )
    return 1


def _refused(subject: str, faults: Sequence[Problem], total: int) -> int:
    hidden = f" (the first {len(faults)} of {total:,} problems)" if total > len(faults) else ""
    click.echo(str(InvalidInput(f"{subject}{hidden}", faults)), err=True)
    return 1


def _words(fault: Any) -> tuple[str, str, str]:
    return fault.path, fault.message, fault.fix


def _size(count: int) -> str:
    """Return a number of bytes with a unit."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"


def _umask() -> int:
    known = os.umask(0)
    os.umask(known)
    return known


class UploadProgress:
    """Progress of an upload on standard error: a bar on a terminal, lines elsewhere; nothing with --quiet."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._at = time.monotonic()
        self._is_bar = sys.stderr.isatty() and not options().bare()
        self._print: Callable[[str], object] = lambda words: click.echo(words, err=True)

    def sent(self, done: int, total: int) -> None:
        """Show how many bytes are there."""
        if self._is_bar and self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

            parts = (BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn())
            self._bar = Progress(*parts, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=total)
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
        elif time.monotonic() - self._at > _SECONDS:
            self._at = time.monotonic()
            self._print(f"{_size(done)} of {_size(total)} sent")

    def tell(self, words: str) -> None:
        """Print a line."""
        if self._bar is not None:
            self._bar.console.print(words, markup=False, highlight=False)
        else:
            self._print(words)

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
