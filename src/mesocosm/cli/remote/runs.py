"""`mesocosm run …` for runs of a server: show, stop, resume and export them."""

from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import Remote, known_client
from mesocosm.cli.render import answer, counted, emit, interval, number, plain, table, when

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.run_request import Visibility


@click.command(cls=Remote, always=True)
@click.argument("run_id")
def get(run_id: str) -> None:
    """Print a run on the server with its episodes and scores, as JSON. `last` is your newest one."""
    from mesocosm.cli.remote.locate import on_server
    from mesocosm.compat.swecc.mapping import older_episodes, older_run

    client, run_id = on_server(run_id)
    found = client.runs.get(run_id)
    run = older_run(found)
    episodes = older_episodes(found, client.runs.episodes(run_id))
    emit({"run": run, "episodes": episodes, "aggregate_scores": run.scores})


@click.command(cls=Remote)
@click.argument("run_id")
@click.argument("visibility", type=click.Choice(["private", "gallery_public"]))
def visibility(run_id: str, visibility: "Visibility") -> None:
    """Set who may see a run on the server: you and your team, or everyone once it has completed.

    `last` is your newest one.
    """
    from mesocosm.cli.remote.locate import named
    from mesocosm.compat.swecc.mapping import older_item

    client = known_client()
    changed = client.runs.set_visibility(named(client, run_id), visibility)
    answer(f"run {changed.id} is {changed.visibility}", older_item(changed))


def episodes(client: "Client", run_id: str, *, traces: bool, limit: int | None) -> None:
    """Print the episodes of a run as JSON, with `traces` including their events."""
    from mesocosm.cli.remote.watch import list_episodes

    found = list_episodes(client, run_id, limit)
    recorded = _traces(client, run_id) if traces else {}
    kept = {episode.id: recorded[episode.id] for episode in found if episode.id in recorded}
    emit({"run_id": run_id, "episodes": found, "traces_by_episode": kept})


def _traces(client: "Client", run_id: str) -> dict[str, Any]:
    """Return the events of each episode by its id."""
    import io
    import json

    file = io.BytesIO()
    client.runs.export(run_id, file, "traces")
    found: dict[str, Any] = json.loads(file.getvalue())["traces"]
    return found


def export(client: "Client", run_id: str, output: str | None) -> None:
    """Write a run as replay JSON to a file, or stream it to standard output."""
    import sys
    from pathlib import Path

    from mesocosm.interop.files import replacing

    if output in {None, "-"}:
        client.runs.export(run_id, sys.stdout.buffer)
        sys.stdout.buffer.write(b"\n")
        return
    with replacing(Path(str(output))) as file:
        client.runs.export(run_id, file)
    answer(f"Wrote {output}", {"output": output, "run_id": run_id})


def listed(limit: int, cursor: str | None, domain: str | None, team: str | None = None) -> None:
    """List the caller's runs on the server, or those of a team, newest first."""
    from mesocosm.cli.remote.watch import word_of
    from mesocosm.compat.swecc.mapping import older_item

    client = known_client()
    limit = min(limit, 100)
    whose = None if team else "mine"
    page = client.runs.list(whose=whose, team_id=team, domain_id=domain, limit=limit, cursor=cursor)
    found, following = [older_item(run) for run in page.items], page.cursor
    if options().json:
        shown = [
            {
                **plain(one),
                "status": word_of(one, run),
                **({} if run.imported is None else {"imported": plain(run.imported)}),
            }
            for one, run in zip(found, page.items, strict=True)
        ]
        emit({"items": shown, "next": following})
        return
    if client.caller.team_id and not team:
        click.echo(
            f"these are your own runs; those of your team: mesocosm run list --team {client.caller.team_id}", err=True
        )
    if not found:
        click.echo(f"no runs match at {client.base_url}; `mesocosm run create` starts one")
        return
    rows = []
    for run, one in zip(page.items, found, strict=True):
        primary = next((metric for metric in one.metrics if metric.primary), None)
        score = number(primary.value if primary else None)
        bounds = interval(primary.low, primary.high, weak=primary.weak) if primary else ""
        if primary and primary.missing:
            bounds = f"{bounds} {counted(primary)}".strip()
        done = f"{one.finished:,}/{one.planned or one.config.num_episodes:,}"
        made = when(one.created_at.timestamp() if one.created_at else None)
        played = [one.config.domain_id or run.benchmark, one.config.agent_config.model]
        status = word_of(one, run) if run.imported is None else f"{word_of(one, run)}, imported"
        rows.append([one.id, status, *played, score, bounds, done, made])
    columns = ["id", "status", "domain", "model", "score", "95 % interval", "episodes", "started"]
    table(columns, rows, options(), right=(4, 6), whole=(0, 1, 4, 5, 6, 7), spare=(2, 7, 5))
    if following:
        click.echo(f"more: --cursor {following}")


def stop(client: "Client", run_id: str) -> int:
    """Cancel a run; finished episodes stay. Return the exit code."""
    from mesocosm.cli.remote.watch import state
    from mesocosm.compat.swecc.mapping import older_run

    run = older_run(client.runs.stop(run_id))
    if options().json:
        emit({"run": run})
    elif run.status == "cancelled":
        click.echo(f"run {run_id} is stopped; {run.finished:,} finished episodes are kept")
    else:
        click.echo(f"run {run_id} is {state(run)} already")
    return 0


def resume(client: "Client", run_id: str, *, retry_failed: bool) -> int:
    """Queue a run again; only its pending episodes are run. Return the exit code."""
    from mesocosm.compat.swecc.mapping import older_run

    run = older_run(client.runs.resume(run_id, retry_failed=retry_failed))
    answer(f"run {run_id} is {run.status.value} again; follow it with: mesocosm run watch {run_id}", {"run": run})
    return 0
