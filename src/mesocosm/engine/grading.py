"""Scoring of an episode, during a run and when rescoring it later."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from mesocosm.core.episode import FINISHED, SCOREABLE, Episode, EpisodeKey
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.ports import Benchmark, EngineStore
from mesocosm.core.run import RESCORING, Run, RunSpec, RunStatus
from mesocosm.core.score import MALFORMED, Metric, MetricResult, Score
from mesocosm.core.task import Task
from mesocosm.engine.episode_context import boundary
from mesocosm.engine.metrics import AGENT_FAILURE, PARTS, so_far
from mesocosm.engine.plan import part_sizes, planned
from mesocosm.stats import usable

GROUP = 500
"""Episodes per write when rescoring."""


async def grade(benchmark: Benchmark, task: Task, episode: Episode) -> Sequence[Score]:
    """Return the scores of an episode that has ended.

    The benchmark's grader is called only for episodes that did not fail. A failure of the agent counts as worst; any
    other failure, or an exception of the grader, leaves every score missing with its cause. A score that a metric needs
    and the grader did not return is missing too.
    """
    names = dict.fromkeys(metric.score for metric in benchmark.info.metrics if metric.covers(task))
    if episode.status in SCOREABLE:
        try:
            with boundary(Cause.GRADER_ERROR, "the grader"):
                given = {score.name: _usable(score) for score in await benchmark.grade(task, episode)}
        except EpisodeError as error:
            return [Score(name, missing=error.cause, explanation=error.failure().message) for name in names]
        lacking = [Score(name, missing=Cause.VALUE_MISSING) for name in names if name not in given]
        return [*given.values(), *lacking, *_malformed(episode)]
    failure = episode.failure
    if episode.valid and failure is not None:
        return [Score(name, worst=True, explanation=failure.message) for name in names]
    cause = failure.cause if failure else Cause.INTERNAL
    return [Score(name, missing=cause) for name in names]


def _malformed(episode: Episode) -> Iterator[Score]:
    """Yield the score that marks an episode in which replies without a valid action were passed to the environment."""
    count = episode.terminal_info.get(MALFORMED)
    if isinstance(count, int) and count > 0:
        yield Score(MALFORMED, float(count), explanation="passed to the environment as they stood")


def _usable(score: Score) -> Score:
    """Return a score that can be stored; its value is missing with a cause if it is not a finite number.

    Raises TypeError if it is not a Score.
    """
    if not isinstance(score, Score) or not isinstance(score.name, str) or not isinstance(score.explanation, str):
        raise TypeError(f"{score!r:.200} is no score")
    value = score.value
    if value is None:
        valued = score.worst or score.missing is not None
        return score if valued else msgspec.structs.replace(score, missing=Cause.VALUE_MISSING)
    if isinstance(value, int | float) and usable(value):
        return score
    explanation = score.explanation or f"{value!r:.80} is no finite number"
    return msgspec.structs.replace(score, value=None, missing=Cause.VALUE_UNUSABLE, explanation=explanation)


async def rescore(
    run: Run, benchmark: Benchmark, store: EngineStore, graded: Callable[[int], None] | None = None
) -> Run:
    """Grade every finished episode of `run` again with `benchmark`, store scores and metrics, and return the run.

    No episode is run. The run takes over the description of `benchmark`, which defines its metrics. `graded` is called
    with the number of episodes graded so far. Raises UsageError, before anything is written, if the benchmark no longer
    has the run's tasks.
    """
    _check_tasks(run, benchmark, store)
    run.info = described(benchmark, run)
    told = {"rescored_with": benchmark.info.digest, "graded_with": benchmark.info.digest}
    run.provenance = {**run.provenance, **told, RESCORING: True}
    # Before the scores: the description decides which score is copied into an episode's row, and readers must know that
    # scores are mixed in the meantime, or if this process is killed.
    store.runs.save_terms(run)
    pending: list[tuple[str, Sequence[Score]]] = []
    done = 0
    for task, episode in _with_tasks(run, benchmark, store):
        pending.append((episode.id, await grade(benchmark, task, episode)))
        if len(pending) >= GROUP:
            done += _save(run, store, pending, graded, done)
    _save(run, store, pending, graded, done)
    run = store.runs.get(run.id)
    run.metrics = so_far(run, store)
    run.provenance = {**run.provenance, "rescored_at": time.time()}
    del run.provenance[RESCORING]
    if not run.counts.pending:
        run.status, run.error = outcome(run.metrics, run.spec.limits.max_missing)
    store.runs.save(run)
    return store.runs.get(run.id)


def described(benchmark: Benchmark, run: Run) -> dict[str, Any]:
    """Return the `info` of a run: the benchmark's description, and the sizes of its parts in this run."""
    found = part_sizes(benchmark, run.spec.selection, benchmark.info.metrics)
    return {**benchmark.info.document(), **({PARTS: found} if found else {})}


def remeasure(run: Run, metrics: Sequence[Metric], store: EngineStore, spec: RunSpec | None = None) -> Run:
    """Recompute the metrics of `run` from its stored scores with other `metrics`, store the run and return it.

    For example, with another threshold. Nothing is run or graded, and scores stay unchanged. `spec` replaces the run's
    own, which contains the old threshold, in the same transaction. Raises UsageError, before anything is written, if
    two metrics have the same name or the primary metric does not read the same score as before.
    """
    run = store.runs.get(run.id)
    _check_metrics(run, metrics)
    run.spec = spec or run.spec
    graded_with = run.regraded or run.benchmark_digest
    run.info = {**run.info, "metrics": msgspec.to_builtins(tuple(metrics)), PARTS: _same_parts(run, metrics)}
    rescored = {"rescored_at": time.time(), "rescored_with": digest(run.info["metrics"]), "graded_with": graded_with}
    run.provenance = {**run.provenance, **rescored}
    run.metrics = so_far(run, store)
    if not run.counts.pending:
        run.status, run.error = outcome(run.metrics, run.spec.limits.max_missing)
    store.runs.save(run, terms=True)
    return store.runs.get(run.id)


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


def outcome(metrics: Sequence[MetricResult], max_missing: float) -> tuple[RunStatus, str]:
    """Return status and error of a run after all its episodes were executed.

    It is failed if it has no score at all, and partial if more than the share `max_missing` of its planned episodes has
    no value for reasons other than the agent.
    """
    if not any(metric.n_scored for metric in metrics):
        return RunStatus.FAILED, "no episode could be scored"
    missing, planned = lacking(metrics)
    if missing <= max_missing * planned:
        return RunStatus.FINISHED, ""
    verb = "has" if missing == 1 else "have"
    return (
        RunStatus.PARTIAL,
        f"{missing:,} of {planned:,} planned episodes {verb} no value, more than {100 * max_missing:.4g} %",
    )


def lacking(metrics: Sequence[MetricResult]) -> tuple[int, int]:
    """Return how many planned episodes have no value (not counting the agent's failures), and how many are planned.

    This is about the primary metric; without one, about the metric that lacks most.
    """
    ranking = [metric for metric in metrics if metric.primary] or list(metrics)
    counts = [(sum(_not_the_agents(metric)), metric.n_planned) for metric in ranking]
    return max(counts, default=(0, 0), key=lambda count: count[0] / max(count[1], 1))


def _not_the_agents(metric: MetricResult) -> Iterator[int]:
    return (count for cause, count in metric.missing.items() if cause != AGENT_FAILURE)


def _save(
    run: Run,
    store: EngineStore,
    pending: list[tuple[str, Sequence[Score]]],
    graded: Callable[[int], None] | None,
    done: int,
) -> int:
    count = len(pending)
    store.episodes.save_scores(run.id, pending)
    pending.clear()
    if graded is not None:
        graded(done + count)
    return count


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
