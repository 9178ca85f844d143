"""Scoring of a stored run again: by other rules for its episodes, or by other metrics of their scores."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from mesocosm.core.behaviour import Behaviour
from mesocosm.core.episode import FINISHED, Episode, EpisodeKey
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.ports import Benchmark, EngineStore
from mesocosm.core.registry import SOURCES
from mesocosm.core.run import RESCORING, BenchmarkRef, Run, RunSpec
from mesocosm.core.score import WHOLE, Metric, MetricResult, Score
from mesocosm.core.task import Task
from mesocosm.engine.assessment import assess
from mesocosm.engine.conclusion import whole_metrics
from mesocosm.engine.episode import grade
from mesocosm.engine.metrics import PARTS, outcome, so_far
from mesocosm.engine.plan import part_sizes, planned
from mesocosm.engine.reviewing import added_metrics

GROUP = 500
"""Episodes per write when rescoring."""


async def rescore(
    run: Run, benchmark: Benchmark, store: EngineStore, graded: Callable[[int], None] | None = None
) -> Run:
    """Grade every finished episode of `run` again with `benchmark`, store scores and metrics, and return the run.

    No episode is run. The run takes over the description of `benchmark`, which defines its metrics. `graded` is called
    with the number of episodes graded so far. Raises UsageError, before anything is written, if the benchmark no longer
    has the run's tasks.
    """
    _check_tasks(run, benchmark, store)
    sizes = part_sizes(benchmark, run.spec.selection, benchmark.info.metrics)
    # What people and scans said of the episodes is not for the benchmark to say again.
    kept = added_metrics(run)
    said_by_others = {metric.score for metric in kept}
    run.info = {**benchmark.info.document(), **({PARTS: sizes} if sizes else {})}
    if kept:
        run.info["metrics"] = [*run.info.get("metrics", []), *msgspec.to_builtins(kept)]
    versions = {"rescored_with": benchmark.info.digest, "graded_with": benchmark.info.digest}
    run.provenance = {**run.provenance, **versions, RESCORING: True}
    # Before the scores: the description decides which score is copied into an episode's row, and readers must know that
    # scores are mixed in the meantime, or if this process is killed.
    store.runs.save_terms(run)
    scored: list[tuple[str, Sequence[Score]]] = []
    assessed: list[Episode] = []
    done = 0

    def save() -> None:
        nonlocal done
        store.episodes.save_scores(run.id, scored)
        store.episodes.save_assessments(run.id, assessed)
        done += len(scored)
        scored.clear()
        assessed.clear()
        if graded is not None:
            graded(done)

    for task, episode in _with_tasks(run, benchmark, store):
        said = [score for score in episode.scores if score.name in said_by_others]
        before = {name: getattr(episode, name) for name in ("input", "target", "reference")}
        episode.scores = tuple(await grade(benchmark, task, episode))
        assess(episode, task, benchmark.info.metrics, Behaviour(episode.behaviour) if episode.behaviour else None)
        # What was recorded has no secrets, and what is large is stored by reference.
        for name, recorded in before.items():
            setattr(episode, name, getattr(episode, name) if recorded is None else recorded)
        scored.append((episode.id, (*episode.scores, *said)))
        assessed.append(episode)
        if len(scored) >= GROUP:
            save()
    save()
    run = store.runs.get(run.id)
    numbers = _whole_numbers(run)
    run.metrics = so_far(run, store)
    if not run.counts.pending:
        await asyncio.to_thread(_add_whole, run, benchmark, store, numbers)
    run.provenance = {**run.provenance, "rescored_at": time.time()}
    del run.provenance[RESCORING]
    if not run.counts.pending:
        run.status, run.error = outcome(run.metrics, run.spec.limits.max_missing)
    store.runs.save(run)
    return store.runs.get(run.id)


def rescore_leased(run: Run, store: EngineStore, reference: BenchmarkRef | None = None) -> Run:
    """Lease `run`, rescore it with its benchmark (or the one that `reference` names) as it is now, and return it.

    Raises UnknownName or UsageError if there is no such benchmark, RunLeased, and what `rescore` raises.
    """
    reference = reference or run.spec.benchmark
    benchmark = SOURCES.get(reference.kind)(reference)
    owner = store.leases.owner()
    store.leases.take(run.id, owner)

    async def rescored() -> Run:
        try:
            return await rescore(run, benchmark, store)
        finally:
            await benchmark.close()

    try:
        return asyncio.run(rescored())
    finally:
        store.leases.release(run.id, owner)


def remeasure(run: Run, metrics: Sequence[Metric], store: EngineStore, spec: RunSpec | None = None) -> Run:
    """Recompute the metrics of `run` from its stored scores with other `metrics`, store the run and return it.

    For example, with another threshold. Nothing is run or graded, and scores stay unchanged. `spec` replaces the run's
    own, which contains the old threshold, in the same transaction. Raises UsageError, before anything is written, if
    two metrics have the same name or the primary metric does not read the same score as before.
    """
    run = store.runs.get(run.id)
    metrics = (*metrics, *(metric for metric in added_metrics(run) if metric not in metrics))
    _check_metrics(run, metrics)
    run.spec = spec or run.spec
    graded_with = run.regraded or run.benchmark_digest
    run.info = {**run.info, "metrics": msgspec.to_builtins(tuple(metrics)), PARTS: _same_parts(run, metrics)}
    rescored = {"rescored_at": time.time(), "rescored_with": digest(run.info["metrics"]), "graded_with": graded_with}
    run.provenance = {**run.provenance, **rescored}
    run.metrics = (*so_far(run, store), *_whole_numbers(run))
    if not run.counts.pending:
        run.status, run.error = outcome(run.metrics, run.spec.limits.max_missing)
    store.runs.save(run, terms=True)
    return store.runs.get(run.id)


def _add_whole(run: Run, benchmark: Benchmark, store: EngineStore, before: Sequence[MetricResult]) -> None:
    """Add the numbers of the whole run to its metrics. One that cannot be made again is missing, not gone."""
    warnings: list[str] = []
    numbers = whole_metrics(benchmark, run, store, warnings.append)
    run.metrics += numbers or (tuple(map(_unmeasured, before)) if warnings else ())
    run.warnings = tuple(dict.fromkeys((*run.warnings, *warnings)))


def _whole_numbers(run: Run) -> tuple[MetricResult, ...]:
    """Return the numbers of the whole run that its benchmark made of its episodes."""
    return tuple(metric for metric in run.metrics if metric.aggregation == WHOLE)


def _unmeasured(metric: MetricResult) -> MetricResult:
    """Return a number of the whole run without its value."""
    missing = {Cause.GRADER_ERROR.value: metric.n_planned}
    return msgspec.structs.replace(metric, value=None, n_scored=0, n_tasks=0, missing=missing)


def _same_parts(run: Run, metrics: Sequence[Metric]) -> dict[str, int]:
    """Return the sizes of the parts with the same tasks as before; sizes of others are unknown here."""
    before = {metric.name: metric.where for metric in msgspec.convert(run.info.get("metrics", []), list[Metric])}
    kept = {metric.name for metric in metrics if metric.where == before.get(metric.name)}
    return {name: size for name, size in run.info.get(PARTS, {}).items() if name in kept}


def _check_metrics(run: Run, metrics: Sequence[Metric]) -> None:
    names = [metric.name for metric in metrics]
    if len(set(names)) < len(names):
        raise UsageError(f"metrics of run {run.id} would share a name: {', '.join(names)}; give each its own")
    before = [metric.score for metric in msgspec.convert(run.info.get("metrics", []), list[Metric]) if metric.primary]
    after = [metric.score for metric in metrics if metric.primary]
    if len(after) != 1 or (before and after != before):
        raise UsageError(
            f"run {run.id} must have one primary metric that reads the score {' '.join(before) or 'of its episodes'!r} "
            f"as before, not {', '.join(after) or 'none'}; to change what is scored, start a new run"
        )


def _check_tasks(run: Run, benchmark: Benchmark, store: EngineStore) -> None:
    left = store.episodes.finished_keys(run.id)
    for item in planned(benchmark, run.spec.selection):
        left.discard(EpisodeKey(item.digest, item.trial))
    if left:
        raise UsageError(
            f"{len(left)} finished episodes of run {run.id} belong to no task of {benchmark.info.id!r} as it is now, "
            "so they cannot be scored with it; bring back the tasks, or start a new run"
        )


def _with_tasks(run: Run, benchmark: Benchmark, store: EngineStore) -> Iterator[tuple[Task, Episode]]:
    """Yield finished episodes with their tasks.

    Both are normally in plan order; tasks that come too early are kept until their episode comes.
    """
    plan = planned(benchmark, run.spec.selection)
    early: dict[EpisodeKey, Task] = {}
    cursor: str | None = None
    while True:
        page = store.episodes.list(run.id, cursor=cursor)
        for episode in page.items:
            if episode.status not in FINISHED:
                continue
            while episode.key not in early:
                item = next(plan)
                early[EpisodeKey(item.digest, item.trial)] = item.task
            yield early.pop(episode.key), episode
        if page.cursor is None:
            return
        cursor = page.cursor
