"""`mesocosm eval list`."""

from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.eval.document import listed
from mesocosm.cli.eval.on_server import has_workspace, list_on_server, server_option, show_listed
from mesocosm.cli.render import ROLLOUT, emit, scored, state, table, when
from mesocosm.cli.results import command_store
from mesocosm.core.failure import MesocosmError, UnknownName
from mesocosm.core.run import Run, RunStatus

if TYPE_CHECKING:
    from mesocosm.server.schemas.run import RunSummary


@click.command("list", cls=MesocosmCommand)
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Runs per page.")
@click.option("--all", "everything", is_flag=True, help="List all runs.")
@click.option("--cursor", help="Where the previous page ended.")
@click.option(
    "--status",
    type=click.Choice(["pending", "running", "finished", "partial", "failed", "stopped"]),
    help="Runs with this status.",
)
@click.option("--rollout", help="Runs of this rollout.")
@click.option("--dataset", help="Runs on this dataset.")
@click.option("--model", help="Runs of this model.")
@server_option
def list_(*, remote: bool, workspace: str | None, cursor: str | None, everything: bool, **given: Any) -> None:
    """List evaluation runs, newest first: those of this machine, then those of your workspace on a server."""
    if remote or workspace:
        _list_remote(workspace, cursor=cursor, everything=everything, **given)
        return
    shared = has_workspace()
    own, more = _local(cursor=cursor, everything=everything, shared=shared, **given)
    if options().json:
        there, beyond, _ = _shared(everything=everything, **given) if shared else ([], None, "")
        emit(listed([*own, *there], more, more=beyond is not None))
        return
    _show_local(own, more, shared=shared)
    if not shared:
        return
    if own:
        click.echo()
    there, beyond, place = _shared(everything=everything, **given)
    if place:
        show_listed(there, place)
    if beyond:
        click.echo("more: --remote --all")


def _list_remote(workspace: str | None, *, cursor: str | None, **given: Any) -> None:
    """Print runs of a workspace."""
    found, cursor, place = list_on_server(workspace, cursor=cursor, **given)
    if options().json:
        emit(listed(found, cursor))
        return
    show_listed(found, place)
    if cursor:
        click.echo(f"more: --cursor {cursor}, or --all")


def _shared(**given: Any) -> "tuple[list[RunSummary], str | None, str]":
    """Return the runs of the workspace. A server that does not answer hides nothing of this machine."""
    try:
        return list_on_server(None, cursor=None, **given)
    except MesocosmError as error:
        click.echo(f"note: the runs of your workspace are not known: {error}", err=True)
        return [], None, ""


def _local(
    *,
    limit: int,
    everything: bool,
    cursor: str | None,
    status: str | None,
    rollout: str | None,
    dataset: str | None,
    model: str | None,
    shared: bool,
) -> tuple[list[Run], str | None]:
    """Return runs of this machine, and the cursor of the next page; none without results if others are `shared`."""
    from mesocosm.store.filters import RunFilter

    try:
        store = command_store()
    except UnknownName:
        if shared:
            return [], None
        raise
    wanted = RunFilter(
        statuses=() if status is None else (RunStatus(status),),
        benchmarks=_one(dataset),
        models=_one(model),
        agents=_one(rollout),
        kinds=(ROLLOUT,),
    )
    found: list[Run] = []
    while True:
        page = store.runs.list(wanted, limit=limit, cursor=cursor)
        found += page.items
        cursor = page.cursor
        if not everything or cursor is None:
            return found, cursor


def _show_local(found: list[Run], cursor: str | None, *, shared: bool) -> None:
    if not found:
        if not shared:
            click.echo("no evaluation runs match; `mesocosm eval run-local CONFIG` makes one")
        return
    if shared:
        click.echo("on this machine")
    rows = []
    for run in found:
        score = scored(run.primary)
        done = f"{run.counts.done:,}/{run.counts.planned:,}"
        rows.append(
            [run.name or run.id, state(run), run.agent, run.benchmark, run.model, score, done, when(run.created_at)]
        )
    columns = ["name", "status", "rollout", "dataset", "model", "score", "samples", "started"]
    table(columns, rows, options(), right=(6,), whole=(0, 1, 5, 6, 7), spare=(7, 3, 6, 2, 4))
    if cursor:
        click.echo(f"more: --cursor {cursor}, or --all")


def _one(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)
