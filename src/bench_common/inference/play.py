"""The run behind `bench` and `multi_bench`: executed and stored by the engine, returned in the old format."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_common.core.run import Episode, TraceEvent, TraceEventType
from bench_common.storage.trace_store import TraceStore
from mesocosm.cli.command import CommonOptions
from mesocosm.cli.progress import episode_line
from mesocosm.cli.results import open_results
from mesocosm.core import episode as core
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import Run, RunSpec
from mesocosm.engine import session
from mesocosm.interop import replay

if TYPE_CHECKING:
    from mesocosm.store import Store

_KNOWN = frozenset(TraceEventType) - {TraceEventType.WARNING, TraceEventType.ERROR, TraceEventType.RETRY}


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The results of a run: its id, the metrics that have a value, and the episodes in plan order."""

    run_id: str
    scores: dict[str, float]
    episodes: list[Episode]


async def play(spec: RunSpec, env_url: str, *, quiet: bool) -> RecordedRun:
    """Run `spec`, write its traces to files, and return the results. Raises BenchError."""
    store = open_results(CommonOptions())
    try:
        run = await session.run(spec, store, [] if quiet else [EpisodePrinter(env_url)])
        episodes = await asyncio.to_thread(_kept, store, run)
    finally:
        store.close()
    scores = {metric.name: metric.value for metric in run.metrics if metric.value is not None}
    return RecordedRun(run.id, scores, episodes)


def _kept(store: "Store", run: Run) -> list[Episode]:
    traces = TraceStore()
    episodes = []
    for row in replay.all_episodes(store, run.id):
        events = [_in_old_words(event) for event in replay.trace(row, store.traces.events(row.id), store.blobs)]
        traces.write(row.id, events)
        document = replay.episode_document(row)
        document["terminal_info"] = {**document["terminal_info"], **_tokens_per_role(events)}
        episodes.append(Episode.model_validate(document))
    return episodes


def _in_old_words(event: dict[str, Any]) -> TraceEvent:
    """Return an event in the old format: newer kinds become technique events with their kind in the payload."""
    kind = event["event_type"]
    if kind not in _KNOWN:
        event = {**event, "event_type": TraceEventType.TECHNIQUE_EVENT, "payload": {**event["payload"], "kind": kind}}
    return TraceEvent.model_validate(event)


def _tokens_per_role(events: list[TraceEvent]) -> dict[str, Any]:
    """Return the token counts that the technique multi_agent recorded for an episode; empty if there are none."""
    key = "tokens_per_role"
    found = next((event.payload[key] for event in reversed(events) if event.payload.get("kind") == key), None)
    return {} if found is None else {key: found}


class EpisodePrinter(Observer):
    """Prints progress to stdout, a line per episode, in the format that existing readers expect."""

    def __init__(self, env_url: str) -> None:
        self._env_url = env_url
        self._planned = 0
        self._shown = 0

    def run_started(self, progress: Progress) -> None:
        """Print the model, benchmark and environment."""
        self._planned = progress.planned
        run = progress.run
        print(f"\nRunning {run.model} on {run.benchmark} ({progress.planned} episodes)\n  env: {self._env_url}")

    def episode_finished(self, episode: core.Episode) -> None:
        """Print the line of an episode."""
        self._shown += 1
        print(f"  [{self._shown}/{self._planned}] {episode_line(episode)}", flush=True)
