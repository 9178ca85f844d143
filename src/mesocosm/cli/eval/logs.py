"""`mesocosm eval logs NAME`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.eval.on_server import WorkspaceRun, found_on_server, server_option
from mesocosm.cli.render import emit, number
from mesocosm.cli.results import command_store, find_evaluation
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.score import Score

if TYPE_CHECKING:
    from mesocosm.core.run import Run
    from mesocosm.server.schemas.episode import EpisodeSummary
    from mesocosm.store import Store

TAIL = 40
REWARD = "reward"


@click.command(cls=MesocosmCommand)
@click.argument("name")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Maximum number of samples."
)
@click.option("--cursor", help="Where the previous page ended.")
@click.option("--rows", default="", metavar="LIST", help='Rows by index in the dataset: "3,7,10-20".')
@click.option("--failed", is_flag=True, help="Only samples that failed.")
@click.option("-f", "--follow", is_flag=True, help="On a server: what is printed, until the run ends.")
@server_option
def logs(
    name: str,
    limit: int,
    cursor: str | None,
    rows: str,
    failed: bool,
    follow: bool,
    remote: bool,
    workspace: str | None,
) -> int:
    """Show what happened in a run: warnings, output, failures with their tracebacks, sample by sample.

    The last lines of the rollout process's output follow.
    """
    there = found_on_server(name, workspace, remote=remote, local=lambda: find_evaluation(command_store(), name))
    if there is not None:
        return _logs_there(there, limit, places(rows), cursor=cursor, failed=failed, follow=follow)
    if follow:
        raise UsageError(f"{name} is a run of this machine, whose log is not followed; leave --follow out")
    store, chosen = command_store(), options()
    run = find_evaluation(store, name)
    wanted = places(rows)
    found: list[dict[str, Any]] = []
    while len(found) < limit:
        page = store.episodes.list(run.id, cursor=cursor, limit=min(limit, 200))
        found += [_sample(store, episode) for episode in page.items if _fits(episode, wanted, failed=failed)]
        cursor = page.cursor
        if cursor is None or (not wanted and not failed):
            break
    found = found[:limit] if wanted is not None or failed else found
    printed = _printed(run)
    if chosen.json:
        emit({"schema_version": 1, "items": found, "next_cursor": cursor, "output": printed})
        return 0
    _show(found)
    if not found:
        click.echo("no sample failed" if failed else "no sample fits" if wanted else "nothing happened yet")
    if cursor:
        click.echo(f"more: --cursor {cursor}")
    if printed:
        click.secho("\nthe last lines that the rollout's process printed:", bold=True)
        click.echo("\n".join(printed))
    return 0


def _logs_there(
    there: WorkspaceRun, limit: int, wanted: set[str] | None, *, cursor: str | None, failed: bool, follow: bool
) -> int:
    """Print the log of a run on a server: followed to its end as it grows, or with its samples."""
    chosen = wanted is not None or failed
    if cursor or (follow and chosen):
        raise UsageError(
            "--follow prints the log as it grows; leave --rows and --failed out"
            if follow
            else "--cursor is for runs of this machine; on a server, name the samples with --rows or --failed"
        )
    if follow and not options().json:
        return there.follow_log()
    found = [_shared_sample(one) for one in there.client.runs.episodes(there.run.id)]
    found = [one for one in found if (wanted is None or one["row"] in wanted) and (not failed or _broken(one))]
    lines, printed = there.log()
    if options().json:
        shown = {"items": found[:limit], "next_cursor": None, "lines": lines, "output": printed}
        emit({"schema_version": 1, **shown})
        return 0
    if not chosen:
        for line in lines:
            click.echo(line)
    _show(found[:limit])
    if not found:
        click.echo("no sample failed" if failed else "no sample fits" if chosen else "no sample has begun yet")
    if len(found) > limit:
        click.echo(f"and {len(found) - limit:,} more: --limit, --rows or --failed")
    if printed and not chosen:
        click.secho("\nthe last lines that the rollout's processes printed:", bold=True)
        click.echo("\n".join(printed[-TAIL:]))
        if len(printed) > TAIL:
            click.echo(f"all {len(printed):,}: mesocosm eval logs {quote(there.run.name or there.run.id)} -f")
    return 0


def _shared_sample(episode: "EpisodeSummary") -> dict[str, Any]:
    """Return a sample of a run on a server, as `_sample` does. What it printed is in the output of the run."""
    reward = next((score for score in episode.scores if score.name == REWARD), None)
    skipped = reward is not None and reward.missing == Cause.SKIPPED
    failure: Mapping[str, Any] = {} if episode.failure is None else episode.failure.model_dump()
    if not failure and reward is not None and reward.missing and not skipped:
        said = (episode.terminal_info or {}).get("grader_failure")
        failure = {"message": reward.explanation, **(said if isinstance(said, dict) else {}), "cause": reward.missing}
    return {
        "row": episode.task_id,
        "trial": episode.trial,
        "status": "skipped" if skipped else episode.state,
        "reward": None if reward is None else reward.value,
        "why": "" if reward is None else reward.explanation,
        "cause": failure.get("cause"),
        "message": failure.get("message", ""),
        "detail": failure.get("detail", ""),
        "log": [],
    }


def _broken(sample: dict[str, Any]) -> bool:
    return sample["reward"] is None and bool(sample["cause"])


def _fits(episode: Episode, wanted: set[str] | None, *, failed: bool) -> bool:
    broken = any(score.name == REWARD and score.value is None and not _skipped(score) for score in episode.scores)
    return (wanted is None or episode.task_id in wanted) and (not failed or broken)


def _skipped(score: Score | None) -> bool:
    return score is not None and score.missing is Cause.SKIPPED


def places(rows: str) -> set[str] | None:
    """Return the rows that a flag names, or None for all."""
    if not rows:
        return None
    from mesocosm.rollouts.selection import choose

    return {str(place) for place in choose(2**31, rows).indices}


def _sample(store: "Store", episode: Episode) -> dict[str, Any]:
    reward = next((score for score in episode.scores if score.name == REWARD), None)
    failure: Mapping[str, Any] = _failure(episode, reward)
    return {
        "row": episode.task_id,
        "trial": episode.trial,
        "status": Cause.SKIPPED if _skipped(reward) else episode.status,
        "reward": None if reward is None else reward.value,
        "why": "" if reward is None else reward.explanation,
        "cause": failure.get("cause"),
        "message": failure.get("message", ""),
        "detail": failure.get("detail", ""),
        "log": list(_lines(store.traces.events(episode.id))),
    }


def _failure(episode: Episode, reward: Score | None) -> Mapping[str, Any]:
    """Return what went wrong: with the workflow, or only with the grader."""
    if episode.failure is not None:
        found: dict[str, Any] = msgspec.to_builtins(episode.failure)
        return found
    if reward is None or reward.missing is None or _skipped(reward):
        return {}
    failure = episode.terminal_info.get("grader_failure")
    said = failure if isinstance(failure, dict) else {}
    return {"message": reward.explanation, **said, "cause": reward.missing}


def _lines(events: Iterator[Event]) -> Iterator[str]:
    for event in events:
        if event.kind in {Kind.LOG, Kind.WARNING, Kind.RETRY}:
            payload = event.payload if isinstance(event.payload, dict) else {}
            yield f"{payload.get('stream') or event.kind}: {payload.get('message', '')}"


def _show(samples: Sequence[dict[str, Any]]) -> None:
    """Print samples; a failure that an earlier one had too is not told again."""
    told: dict[tuple[str, str, str], str] = {}
    for sample in samples:
        reward = f" · score {number(sample['reward'])}" if sample["reward"] is not None else ""
        if sample["cause"] and sample["status"] == EpisodeStatus.COMPLETED:
            reward = " · no score"
        click.secho(f"row {sample['row']} trial {sample['trial'] + 1} · {_status(sample)}{reward}", bold=True)
        for line in sample["log"]:
            click.echo(f"  {line}")
        if not sample["cause"]:
            if sample["why"]:
                click.echo(f"  {sample['why']}")
            continue
        failure = (sample["cause"], sample["message"], sample["detail"])
        first = told.setdefault(failure, sample["row"])
        if sample["detail"] and first != sample["row"]:
            click.echo(f"  {sample['cause']}: as in row {first}")
            continue
        click.echo(f"  {sample['cause']}: {sample['message']}")
        for line in sample["detail"].splitlines():
            click.echo(f"    {line}")


def _status(sample: dict[str, Any]) -> str:
    """Return the status of a sample in words; one that was withdrawn is played again when its run goes on."""
    if sample["status"] != EpisodeStatus.CANCELLED:
        return str(sample["status"])
    return "failed, not counted, still pending" if sample["cause"] else "cancelled, still pending"


def _printed(run: "Run") -> list[str]:
    """Return the last lines that the rollout's process printed."""
    place = run.spec.benchmark.options.get("log")
    try:
        return Path(str(place)).read_text(errors="replace").splitlines()[-TAIL:] if place else []
    except OSError:
        return []
