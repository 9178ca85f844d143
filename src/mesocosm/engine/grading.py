"""Scores of one episode, while it is played and again later."""

import time
from collections.abc import Callable, Iterator, Sequence

from mesocosm.core.episode import SCOREABLE, Episode
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.ports import Benchmark, Store
from mesocosm.core.run import Run
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.engine.context import boundary
from mesocosm.engine.metrics import measure
from mesocosm.engine.plan import planned

GROUP = 500
"""Episodes whose new scores are written together."""


async def grade(benchmark: Benchmark, task: Task, episode: Episode) -> Sequence[Score]:
    """Return the scores of an episode that is over.

    Only an episode that ended in the ordinary way reaches the benchmark's grader. A failure of the agent's own doing
    counts as worst, any other failure leaves every score missing with its cause.
    """
    names = dict.fromkeys(metric.score for metric in benchmark.info.metrics)
    if episode.status in SCOREABLE:
        try:
            with boundary(Cause.GRADER_ERROR, "the grader"):
                return await benchmark.grade(task, episode)
        except EpisodeError as error:
            return [Score(name, missing=error.cause, explanation=str(error)) for name in names]
    failure = episode.failure
    if episode.valid and failure is not None:
        return [Score(name, worst=True, explanation=failure.message) for name in names]
    cause = failure.cause if failure else Cause.INTERNAL
    return [Score(name, missing=cause) for name in names]


async def rescore(run: Run, benchmark: Benchmark, store: Store, graded: Callable[[int], None] | None = None) -> Run:
    """Grade every finished episode of `run` again with `benchmark`, store scores and metrics, return the run.

    Nothing is played. `graded` hears how many are done. Raises UsageError when the benchmark no longer has the tasks
    that the run was made of.
    """
    pending: list[tuple[str, Sequence[Score]]] = []
    for done, (task, episode) in enumerate(_with_tasks(run, benchmark, store), 1):
        pending.append((episode.id, await grade(benchmark, task, episode)))
        if len(pending) >= GROUP:
            store.save_scores(run.id, pending)
            pending = []
            if graded is not None:
                graded(done)
    store.save_scores(run.id, pending)
    run = store.get_run(run.id)
    run.metrics = measure(benchmark.info.metrics, store.score_rows(run.id), run.counts.planned)
    run.provenance = {**run.provenance, "rescored_at": time.time(), "rescored_with": benchmark.info.digest}
    store.save_run(run)
    return run


def _with_tasks(run: Run, benchmark: Benchmark, store: Store) -> Iterator[tuple[Task, Episode]]:
    """Yield finished episodes with their tasks; both come in the order of the plan, so one pass is enough."""
    plan = planned(benchmark, run.spec.selection)
    cursor: str | None = None
    while True:
        page = store.episodes(run.id, cursor=cursor)
        for episode in page.items:
            item = next((item for item in plan if (item.digest, item.trial) == episode.key), None)
            if item is None:
                raise UsageError(
                    f"episode {episode.id} (task {episode.task_id}) of run {run.id} belongs to no task of "
                    f"{benchmark.info.id!r} as it is now, so it cannot be scored with it"
                )
            yield item.task, episode
        if page.cursor is None:
            return
        cursor = page.cursor
