"""`mesocosm dataset`: inspect datasets before anything is run on them."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import MesocosmCommand, MesocosmGroup, options, plural, vars_of
from mesocosm.cli.dataset_cells import COLUMN_HEADS, ROW_HEAD, cell_text, column_cells, mapped
from mesocosm.cli.remote.connection import Remote, workspace_option
from mesocosm.cli.render import emit, table
from mesocosm.core.failure import InvalidInput

if TYPE_CHECKING:
    from mesocosm.datasets import DataTable
    from mesocosm.rollouts.rows import RolloutRow, Rows

_THERE = "mesocosm.cli.remote.datasets"
TREE = {
    "add": ("mesocosm.cli.dataset_add:add", "Add the tasks of a run's episodes as rows."),
    "upload": (f"{_THERE}:upload", "Upload a file to a workspace, in parts."),
    "list": (f"{_THERE}:list_", "List the datasets of a workspace."),
    "download": (f"{_THERE}:download", "Download a dataset of a workspace."),
    "rename": (f"{_THERE}:rename", "Rename a dataset of a workspace."),
    "delete": (f"{_THERE}:delete", "Delete a dataset of a workspace."),
}


@click.group(cls=MesocosmGroup, tree=TREE)
def dataset() -> None:
    """Inspect datasets, and share them in a workspace on a server.

    A dataset is a file, a folder, a dataset on the Hugging Face hub (org/name), or, by its name, one of the workspace.
    """


def _place(command: Callable[..., Any], metavar: str = "FILE|FOLDER|HUB-ID") -> Callable[..., Any]:
    """Add the argument and the options that name and read a dataset."""
    flags = (
        click.argument("place", metavar=metavar),
        click.option("--columns", multiple=True, metavar="ROLE=NAME", help="Roles of columns: user_prompt=question."),
        click.option("--format", "kind", default="", help="csv, tsv, jsonl, json, parquet; text: a file is one row."),
        click.option("--revision", default="", help="Commit, branch or tag on the hub [its newest commit]."),
        click.option("--split", default="", help="Split: on the hub, or of the column split."),
        click.option("--config", default="", help="Configuration on the hub."),
    )
    for flag in reversed(flags):
        command = flag(command)
    return command


def _remote_place(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what `_place` adds, and the options of a dataset of a workspace."""
    command = click.option("--version", "number", type=click.IntRange(1), help="Version on the server  [the newest].")(
        command
    )
    return _place(workspace_option(command), "FILE|FOLDER|HUB-ID|NAME")


@dataset.command(cls=Remote, many=("--columns",), short_help="Show the first rows.")
@click.option("--rows", type=click.IntRange(1), default=5, show_default=True, help="Number of rows.")
@_remote_place
def preview(
    place: str, columns: tuple[str, ...], rows: int, number: int | None, workspace: str | None, **where: str
) -> None:
    """Show the first rows as rollouts see them; of a dataset of a workspace, as they were uploaded."""
    if _is_remote(place, number, workspace):
        from mesocosm.cli.remote.datasets import remote_preview

        remote_preview(place, rows, number, workspace)
        return
    opened = _open(place, columns, **where)
    read, problems = _rows(opened, columns)
    count = min(rows, len(opened))
    if options().json:
        shown = [_row_document(opened, index, read) for index in range(count)]
        emit({**_head(opened), "preview": shown, "problems": [vars_of(problem) for problem in problems]})
        return
    click.echo(f"{opened.name} · {plural(len(opened), 'row')} · {plural(len(opened.columns), 'column')}")
    cells = [
        [str(_place_of(opened, index)), *(cell_text(opened.rows[index], name) for name in opened.columns)]
        for index in range(count)
    ]
    table([ROW_HEAD, *opened.columns], cells, options(), right=(0,))
    click.echo()
    for line in [*_reading(opened, read, problems), *_warnings(read)]:
        click.echo(line)


@dataset.command(cls=MesocosmCommand, many=("--columns",), short_help="Check every row as rollouts would.")
@_place
def validate(place: str, columns: tuple[str, ...], **where: str) -> int:
    """Check every row as rollouts would: exit 0 when all can be run, 1 with every problem named by row and column."""
    from mesocosm.datasets.summary import summarize

    opened: DataTable | None = None
    read: Rows | None = None
    try:
        opened = _open(place, columns, **where)
        read, problems = _rows(opened, columns)
        subject, warnings = opened.name, list(summarize(opened).warnings)
    except InvalidInput as error:
        subject, problems, warnings = error.subject, list(error.problems), []
    if read is not None:
        warnings += read.notes
    if options().json:
        head = _head(opened) if opened is not None else {"name": place}
        listed = [vars_of(problem) for problem in problems]
        emit({**head, "ok": not problems, "problems": listed, "warnings": warnings})
        return 1 if problems else 0
    for warning in warnings:
        click.echo(f"! {warning}", err=True)
    if problems:
        click.echo(str(InvalidInput(subject, problems)), err=True)
        click.echo("Rows of problems are counted from 1.", err=True)
        return 1
    assert opened is not None
    click.echo(f"{opened.name}: ok, {plural(len(opened), 'row')}")
    for line in _reading(opened, read, problems):
        click.echo(line)
    return 0


@dataset.command(cls=Remote, many=("--columns",), short_help="Describe the columns, and show the digest.")
@_remote_place
def info(place: str, columns: tuple[str, ...], number: int | None, workspace: str | None, **where: str) -> int:
    """Show rows, columns, types, gaps, lengths, ranges, duplicates and the digest; on a server also the versions."""
    if _is_remote(place, number, workspace):
        from mesocosm.cli.remote.datasets import remote_info

        return remote_info(place, number, workspace)
    from mesocosm.datasets.summary import summarize

    opened = _open(place, columns, **where)
    summary = summarize(opened)
    read, problems = _rows(opened, columns)
    if options().json:
        emit({**vars_of(summary), **_roles(read), "problems": [vars_of(problem) for problem in problems]})
        return 0
    facts = [plural(summary.rows, "row"), plural(len(summary.columns), "column"), f"{summary.bytes:,} bytes"]
    click.echo(f"{summary.name} · {' · '.join([*facts, summary.format])}")
    click.echo(f"digest {summary.digest}" + (f" · commit {summary.revision}" if summary.revision else ""))
    table(COLUMN_HEADS, [column_cells(column) for column in summary.columns], options(), right=(2, 3, 4, 5))
    click.echo()
    for line in [*summary.notes, *(f"warning: {warning}" for warning in summary.warnings)]:
        click.echo(line)
    for line in [*_reading(opened, read, problems), *_warnings(read)]:
        click.echo(line)
    return 0


def _is_remote(place: str, number: int | None, workspace: str | None) -> bool:
    """Return whether a dataset is on the server: if it says so, or if its name is that of nothing here."""
    from mesocosm.datasets.opening import is_hub_id
    from mesocosm.datasets.reading import format_of

    if number is not None or workspace is not None:
        return True
    path = Path(place)
    return not (path.exists() or is_hub_id(place) or format_of(path) or "/" in place or os.sep in place)


def _open(place: str, columns: Sequence[str], *, kind: str, revision: str, split: str, config: str) -> "DataTable":
    from mesocosm.datasets import open_table

    named = {"revision": revision, "split": split, "config": config}
    return open_table(place, kind=kind, **named, split_column=mapped(columns).split)


def _place_of(opened: "DataTable", index: int) -> int:
    """Return the index of a row in the whole dataset, of which a split may have been opened."""
    return opened.places[index] if opened.places else index


def _rows(opened: "DataTable", columns: Sequence[str]) -> tuple["Rows | None", list[Any]]:
    """Return the rows in the form that rollouts use, or the problems that prevent this."""
    from mesocosm.rollouts.rows import read_rows

    try:
        return read_rows(opened, mapped(columns)), []
    except InvalidInput as error:
        return None, list(error.problems)


def _head(opened: "DataTable") -> dict[str, Any]:
    return {
        "name": opened.name,
        "format": opened.format,
        "rows": len(opened),
        "columns": list(opened.columns),
        "digest": opened.digest,
        "revision": opened.revision,
        "notes": list(opened.notes),
    }


def _roles(read: "Rows | None") -> dict[str, Any]:
    if read is None:
        return {"mode": None, "roles": {}}
    roles = read.roles
    names = ("user_prompt", "system_prompt", "metadata", "split")
    named = {name: getattr(roles, name) for name in names}
    played: dict[str, Any] = {role: name for role, name in named.items() if name}
    if roles.ground_truth:
        played["ground_truth"] = list(roles.ground_truth)
    return {"mode": roles.mode, "roles": played}


def _row_document(opened: "DataTable", index: int, read: "Rows | None") -> dict[str, Any]:
    document: dict[str, Any] = {"row": _place_of(opened, index), "cells": dict(opened.rows[index])}
    if read is None:
        return document
    row: RolloutRow = read[index]
    return {
        **document,
        "prompt": list(row.prompt),
        "label": row.label,
        "metadata": row.metadata,
        "labels": row.labels,
    }


def _reading(opened: "DataTable", read: "Rows | None", problems: Sequence[Any]) -> list[str]:
    """Return how rollouts use the columns, or why they cannot."""
    from mesocosm.rollouts.rows import ORIGIN

    if read is None:
        return str(InvalidInput(f"{opened.name}, as the rows of a rollout", problems)).splitlines()
    roles = _roles(read)
    played = ", ".join(f"{role} ← {_joined(name)}" for role, name in roles["roles"].items())
    lines = [f"{roles['mode']} mode: {played}"]
    rest = [name for name in opened.columns if name not in (*read.roles.taken, *ORIGIN)]
    if rest and roles["mode"] == "prompt":
        lines.append(f"reach the workflow as metadata: {', '.join(rest)}")
    elif rest:
        lines.append(f"do not reach the workflow (results can be sliced by them): {', '.join(rest)}")
    if not read.roles.ground_truth:
        lines.append("no column of ground truth: graders get no label")
    return lines


def _warnings(read: "Rows | None") -> list[str]:
    return [f"warning: {note}" for note in read.notes] if read is not None else []


def _joined(name: Any) -> str:
    return name if isinstance(name, str) else ", else ".join(name)
