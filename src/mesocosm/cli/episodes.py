"""`mesocosm run logs`, `mesocosm run episodes` and `mesocosm run export`: the content of a run."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options
from mesocosm.cli.import_export import TABLES
from mesocosm.cli.import_export import export as export_runs
from mesocosm.cli.remote.connection import Remote
from mesocosm.cli.remote.locate import elsewhere, remote_option
from mesocosm.cli.render import ROLLOUT, answer, duration, emit, number, table
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.store import Store

WIDTH = 400
"""Maximum characters of an observation or a reply in the timeline on a terminal."""


@click.command(cls=Remote, always=True)
@click.argument("run_id")
@click.option("--traces", is_flag=True, help="Include what happened in each episode.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of episodes.")
@remote_option
def episodes(run_id: str, traces: bool, limit: int | None, remote: bool) -> None:
    """List the episodes of a run: as a table on a terminal or with --plain, otherwise as one JSON document.

    Those of a run on a server are always JSON.
    """
    there = elsewhere(run_id, remote=remote)
    if there is not None:
        from mesocosm.cli.remote import runs

        runs.episodes(*there, traces=traces, limit=limit)
        return
    from itertools import islice

    from mesocosm.interop.replay import all_episodes

    store, chosen = command_store(), options()
    run = find_run(store, run_id)

    def listed() -> Iterator[Episode]:
        return islice(all_episodes(store, run.id), limit)

    if chosen.json or not (sys.stdout.isatty() or chosen.plain):
        _write_json(store, run.id, listed, traces=traces)
    elif traces:
        for episode in listed():
            _timeline(store, episode)
    else:
        _table(listed())


@click.command(cls=Remote)
@click.argument("run_id", metavar="RUN")
@click.option("--task", default="", metavar="ID", help="Only episodes of this task, in full; for rows their numbers.")
@click.option("--failed", is_flag=True, help="Only episodes that failed.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Maximum number of episodes.")
@remote_option
@click.pass_context
def logs(context: click.Context, run_id: str, task: str, failed: bool, limit: int, remote: bool) -> Any:
    """Show what happened in a run: every event of its episodes, failures with their tracebacks.

    Long observations and replies are shortened, except with --task.

    Runs of rollouts are shown row by row, with what they printed: mesocosm eval logs --help.
    """
    from mesocosm.cli.eval.logs import logs as rollout_logs

    there = elsewhere(run_id, remote=remote)
    if there is not None:
        from mesocosm.cli.remote import runs

        if task:
            raise UsageError("--task is for runs of this machine; leave it out")
        runs.episodes(*there, traces=True, limit=limit)
        return 0
    from itertools import islice

    from mesocosm.interop.replay import all_episodes, episode_document, trace

    store = command_store()
    run = find_run(store, run_id)
    if run.kind == ROLLOUT:
        rest = {"cursor": None, "rows": task, "follow": False, "remote": False, "workspace": None}
        return context.invoke(rollout_logs, name=run.id, limit=limit, failed=failed, **rest)
    wanted = (
        one
        for one in all_episodes(store, run.id)
        if (not failed or one.status is EpisodeStatus.FAILED) and task in {"", one.task_id, one.id}
    )
    found = list(islice(wanted, limit))
    if options().json:
        items = [
            {**episode_document(one), "events": trace(one, store.traces.events(one.id), store.blobs)} for one in found
        ]
        emit({"items": items, "next": None})
        return 0
    for episode in found:
        _timeline(store, episode, whole=bool(task))
        if episode.failure is not None:
            click.echo(f"      {episode.failure.cause}: {episode.failure.message}")
            for line in episode.failure.detail.splitlines():
                click.echo(f"        {line}")
    if not found and task:
        raise UnknownName(
            f"run {run.name or run.id} has no episode of task {task!r}; `mesocosm run episodes {run.name or run.id}` "
            "lists them"
        )
    if not found:
        click.echo("no episode failed" if failed else "nothing happened yet")
    return 0


def _write_json(store: "Store", run_id: str, listed: Callable[[], Iterator[Episode]], *, traces: bool) -> None:
    import msgspec

    from mesocosm.interop.replay import episode_document, trace

    write = sys.stdout.buffer.write
    write(b'{"run_id":' + msgspec.json.encode(run_id) + b',"episodes":[')
    for place, episode in enumerate(listed()):
        write((b",\n" if place else b"\n") + msgspec.json.encode(episode_document(episode)))
    write(b"]")
    if traces:
        write(b',"traces_by_episode":{')
        for place, episode in enumerate(listed()):
            found = trace(episode, store.traces.events(episode.id), store.blobs)
            write((b",\n" if place else b"\n") + msgspec.json.encode(episode.id) + b":" + msgspec.json.encode(found))
        write(b"}")
    write(b"}\n")


def _table(listed: Iterator[Episode]) -> None:
    rows = []
    for episode in listed:
        scores = ", ".join(f"{score.name} {number(score.value)}" for score in episode.scores)
        why = episode.failure.message.splitlines()[0][:80] if episode.failure else scores
        took = (episode.ended_at or episode.started_at) - episode.started_at
        seconds = f"{took:.3f} s" if took < 10 else duration(took)
        reward = f"{episode.total_reward:.2f}"
        rows.append(
            [str(episode.index), episode.task_id, str(episode.status), reward, str(episode.steps), seconds, why]
        )
    columns = ["#", "task", "status", "reward", "steps", "time", "scores or failure"]
    table(columns, rows, options(), right=(0, 3, 4, 5), whole=(0, 2, 3, 4, 5))


def _timeline(store: "Store", episode: Episode, *, whole: bool = False) -> None:
    from mesocosm.interop.replay import trace

    click.secho(f"\n{episode.task_id} trial {episode.trial + 1} · {episode.status} · {episode.id}", bold=True)
    shown: Any = None
    for event in trace(episode, store.traces.events(episode.id), store.blobs):
        payload = event["payload"]
        if event["event_type"] == "observation":
            # What the environment showed last is what the agent sees next: it is printed once.
            if payload["phase"] == "after_env" or payload["data"] == shown:
                continue
            shown = payload["data"]
        words = _words(event["event_type"], payload, whole=whole)
        if words:
            click.echo(f"{event['step']:>4}  {event['event_type']:<13} {words}")


def _words(kind: str, payload: dict[str, Any], *, whole: bool) -> str:
    import msgspec

    shown: Any = payload
    if kind == "observation":
        shown = payload["data"]
    elif kind == "model_call":
        shown = payload["text"]
    elif kind == "action":
        shown = payload["action"]
    elif kind == "technique_event" and payload.get("kind") == "token_usage":
        return ""
    shown = without_pictures(shown)
    text = shown if isinstance(shown, str) else msgspec.json.encode(shown).decode()
    text = text if whole or len(text) <= WIDTH else f"{text[:WIDTH]}… ({len(text):,} characters)"
    return text.replace("\n", "\n" + " " * 20)


def without_pictures(value: Any) -> Any:
    """Return a value in which pictures (base64) are told by their type and size: nobody reads their letters."""
    if isinstance(value, str):
        head = value[: len(_DATA_URL) + 40].partition(";base64,")
        body = head[2] if value.startswith(_DATA_URL) else value[:16]
        kind = next((name for start, name in _PICTURES.items() if body.startswith(start)), "")
        return f"({kind}, {len(value) * 3 // 4:,} bytes)" if kind and len(value) > _SHORTEST else value
    if isinstance(value, dict):
        return {name: without_pictures(one) for name, one in value.items()}
    return [without_pictures(one) for one in value] if isinstance(value, list) else value


_PICTURES = {"iVBORw0KGgo": "PNG", "/9j/": "JPEG", "R0lGOD": "GIF", "UklGR": "WebP"}
"""Types of pictures by the first letters of their base64."""
_DATA_URL = "data:image/"
_SHORTEST = 60


@click.command(cls=Remote)
@click.argument("run_id")
@click.option("-o", "--output", metavar="FILE", help="File to write; standard output (-) without it.")
@remote_option
@click.pass_context
def export(context: click.Context, run_id: str, output: str | None, remote: bool) -> None:
    """Write a run to a file: replay JSON for a showcase page, a bundle, or a table.

    Replay JSON has the episodes, their traces, and turns. The ending of FILE chooses other formats: .zip a bundle with
    everything; .parquet, .csv and .jsonl a table of its samples. `mesocosm export --site` writes a folder for any web
    server.
    """
    if output is not None and not remote and Path(output).suffix.lower() in {".zip", *TABLES}:
        context.invoke(export_runs, run_ids=(run_id,), output=output, site=None)
        return
    there = elsewhere(run_id, remote=remote)
    if there is not None:
        from mesocosm.cli.remote import runs

        runs.export(*there, output)
        return
    from mesocosm.interop.files import replacing
    from mesocosm.interop.record import run_document
    from mesocosm.interop.replay import all_episodes, pieces

    store = command_store()
    run = find_run(store, run_id)
    found = pieces(run, lambda: all_episodes(store, run.id), store.traces.events, store.blobs, run_document)
    if output in {None, "-"}:
        stream = sys.stdout.buffer
        for piece in found:
            stream.write(piece)
        return
    with replacing(Path(str(output))) as file:
        for piece in found:
            file.write(piece)
    answer(f"Wrote {output}", {"output": output, "run_id": run.id})
