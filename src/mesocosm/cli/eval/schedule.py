"""`mesocosm eval schedule …`: evaluation runs that a workspace on a server submits by itself."""

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import confirmed, options
from mesocosm.cli.remote.connection import RemoteGroup, document, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, interval, number, table, when
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.server.schemas.schedule import ScheduleDetail, ScheduleDocument, ScheduledRunDocument


@click.group(cls=RemoteGroup)
def schedule() -> None:
    """Submit evaluation runs at times, or after every sync of a branch, on a server.

    The runs are those of the member who made the schedule, and notifications tell how they end:
    mesocosm workspace notify add.
    """


@schedule.command()
@click.argument("config")
@click.option("--cron", default="", metavar="TIMES", help="When: '0 3 * * 1-5' is 3:00 from Monday to Friday; @daily.")
@click.option("--timezone", metavar="ZONE", help="Time zone of --cron, such as Europe/Berlin  [UTC].")
@click.option("--on-sync", is_flag=True, help="After each sync with a new commit of the branch, instead of --cron.")
@click.option("--name", help="Name of the schedule; it begins those of the runs  [the configuration's].")
@click.option("--branch", metavar="BRANCH", help="Branch  [the one that the workspace follows].")
@click.option("-m", "--model", metavar="M", help="Model  [as configured].")
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="The first N rows  [as configured].")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag of the runs; several times.")
@workspace_option
def add(
    config: str,
    *,
    cron: str,
    timezone: str | None,
    on_sync: bool,
    name: str | None,
    branch: str | None,
    model: str | None,
    limit: int | None,
    tags: tuple[str, ...],
    workspace: str | None,
) -> None:
    """Add a schedule of CONFIG, the path of a configuration in the synced workspace."""
    from mesocosm.server.schemas.schedule import ScheduleInput

    if bool(cron) == on_sync:
        raise UsageError("say when: --cron '0 3 * * *' for times, or --on-sync for each new commit of a branch")
    if on_sync and timezone:
        raise UsageError("--timezone belongs to --cron; leave it out with --on-sync")
    overrides = {"limit": limit, "model": model, "tags": list(tags)}
    fields: dict[str, Any] = {
        "name": name or PurePath(config).stem,
        "configuration": config,
        "branch": branch,
        "trigger": "sync" if on_sync else "cron",
        "cron": cron,
        "timezone": timezone,
        "overrides": {key: value for key, value in overrides.items() if value},
    }
    client = member_client()
    made = client.schedules.add(workspace_for(client, workspace), document(ScheduleInput, fields))
    _tell(made, f"Added the schedule {made.schedule.name}.")


@schedule.command("list")
@workspace_option
def list_(workspace: str | None) -> None:
    """List the schedules of the workspace, with the last run of each."""
    client = member_client()
    found = client.schedules.list(workspace_for(client, workspace))
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("no schedules; add one with: mesocosm eval schedule add CONFIG --cron '0 3 * * *'", err=True)
        return
    rows = [
        [one.name, one.configuration, _times(one), _next(one), *_last(one.last), one.owner or "–", one.fault]
        for one in found
    ]
    columns = ["name", "configuration", "runs", "next", "last run", "status", "score", "owner", "problem"]
    table(columns, rows, options(), whole=(0, 3), spare=(7, 1, 4))


@schedule.command()
@click.argument("name")
@workspace_option
def show(name: str, workspace: str | None) -> None:
    """Show a schedule: its next times and its last runs."""
    client = member_client()
    found = client.schedules.get(workspace_for(client, workspace), name)
    _tell(found, f"{found.schedule.name}: {found.schedule.configuration}, {_times(found.schedule)}")
    if options().json or not found.runs:
        return
    rows = [[when(one.due_at.timestamp()), *_last(one), one.commit[:12] or "–", one.fault] for one in found.runs]
    table(["due", "run", "status", "score", "commit", "problem"], rows, options(), whole=(0, 1), spare=(4,))


@schedule.command()
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def remove(name: str, yes: bool, workspace: str | None) -> int:
    """Remove a schedule. Its runs stay."""
    client = member_client()
    place = workspace_for(client, workspace)
    found = client.schedules.get(place, name).schedule
    if not (yes or confirmed(f"remove the schedule {found.name!r} of {found.configuration}?")):
        click.echo("nothing was removed", err=True)
        return 1
    client.schedules.remove(place, found.id)
    answer(f"Removed the schedule {found.name}.", {"removed": found.name})
    return 0


@schedule.command()
@click.argument("name")
@workspace_option
def pause(name: str, workspace: str | None) -> None:
    """Pause a schedule until it is resumed. Runs that were submitted go on."""
    client = member_client()
    changed = client.schedules.change(workspace_for(client, workspace), name, enabled=False)
    _tell(changed, f"Paused the schedule {changed.schedule.name}.")


@schedule.command()
@click.argument("name")
@workspace_option
def resume(name: str, workspace: str | None) -> None:
    """Resume a schedule. If its owner has left, its runs are yours from now on."""
    client = member_client()
    changed = client.schedules.change(workspace_for(client, workspace), name, enabled=True)
    _tell(changed, f"Resumed the schedule {changed.schedule.name}. Its runs are those of {changed.schedule.owner}.")


def _tell(found: "ScheduleDetail", words: str) -> None:
    """Print what is known of a schedule."""
    one = found.schedule
    lines = [words]
    if one.fault:
        lines.append(f"problem: {one.fault}")
    if not one.enabled:
        lines.append(f"paused; go on with: mesocosm eval schedule resume {one.name}")
    elif found.next_times:
        lines += ["next, in your time zone:", *(f"  {when(at.timestamp())}" for at in found.next_times)]
    answer("\n".join(lines), found)


def _times(one: "ScheduleDocument") -> str:
    if one.trigger == "sync":
        return f"after syncs of {one.branch}" if one.branch else "after syncs"
    return f"{one.cron} {one.timezone}"


def _next(one: "ScheduleDocument") -> str:
    if not one.enabled:
        return "paused"
    return "–" if one.next_at is None else when(one.next_at.timestamp())


def _last(run: "ScheduledRunDocument | None") -> tuple[str, str, str]:
    """Return name, status and score of a run."""
    if run is None:
        return "–", "–", "–"
    if run.run_id is None:
        return "–", run.status, "–"
    score = number(run.score)
    if run.score is not None and run.score_low is not None:
        score += f" {interval(run.score_low, run.score_high, weak=run.score_weak)}"
    return run.run_name or run.run_id, run.run_status or "deleted", score
