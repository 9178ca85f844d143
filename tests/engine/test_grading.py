"""Scores of episodes: which of them reach the grader, and scoring a stored run again."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.model import ModelRequest
from mesocosm.core.run import Limits, Run, RunStatus, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.engine.comparison.runs import compare
from mesocosm.engine.episode import grade
from mesocosm.engine.rescoring import GROUP, rescore
from mesocosm.engine.session import Control
from mesocosm.environments.inprocess import ClassBenchmark

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


class Strict(ClassBenchmark):
    """A walk that counts steps; its grader keeps what it was given."""

    def __init__(self, walk: type, points: float = 1.0) -> None:
        super().__init__(walk)
        self._info = msgspec.structs.replace(
            self.info, metrics=(Metric("arrived", "arrived", "pass_rate", low=0.0, high=1.0, primary=True),)
        )
        self.points = points
        self.seen: list[tuple[Task, Episode]] = []

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        self.seen.append((task, episode))
        return [Score("arrived", self.points, explanation="by the new rule")]


TASK = Task("t", seed=1)


def episode(status: EpisodeStatus, cause: Cause | None = None) -> Episode:
    failure = EpisodeError(cause, "it went wrong").failure() if cause else None
    return Episode("e", "r", TASK.digest(), "t", status=status, failure=failure)


@pytest.mark.parametrize("status", [EpisodeStatus.COMPLETED, EpisodeStatus.TRUNCATED, EpisodeStatus.TIMEOUT])
async def test_an_ordinary_end_reaches_the_grader(lab: "Lab", status: EpisodeStatus) -> None:
    benchmark = Strict(lab.world("Walk"))
    assert await grade(benchmark, TASK, episode(status)) == [Score("arrived", 1.0, explanation="by the new rule")]


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause is not Cause.CANCELLED])
async def test_a_failure_never_reaches_the_grader(lab: "Lab", cause: Cause) -> None:
    benchmark = Strict(lab.world("Walk"))
    failed = episode(EpisodeStatus.FAILED, cause)
    (score,) = await grade(benchmark, TASK, failed)
    assert benchmark.seen == []
    assert score.value is None
    assert (score.worst, score.missing) == ((True, None) if failed.valid else (False, cause))


async def played(lab: "Lab", **given: int) -> Run:
    return await lab.run(lab.spec(lab.model(), **given))  # type: ignore[arg-type]


async def test_scoring_again_replaces_scores_and_numbers_and_plays_nothing(lab: "Lab") -> None:
    model = lab.model(lambda request: "crash" if request.view and request.view.seed == 2 else "end")
    run = await lab.run(lab.spec(model, count=4, trials=2))
    benchmark = Strict(lab.world("Walk"), points=0.0)
    again = await rescore(run, benchmark, lab.store)
    assert lab.models[model].calls == 8
    assert again == lab.store.runs.get(run.id)
    assert again.primary is not None
    assert (again.primary.value, again.primary.n_scored, again.primary.missing) == (0.0, 6, {"environment_error": 2})
    scores = [episode.scores for episode in lab.episodes(run)]
    assert scores.count((Score("arrived", 0.0, explanation="by the new rule"),)) == 6
    assert scores.count((Score("arrived", missing=Cause.ENVIRONMENT_ERROR),)) == 2
    assert [(task.seed, episode.seed) for task, episode in benchmark.seen] == [(s, s) for s in (0, 1, 3, 0, 1, 3)]
    counts = msgspec.structs.replace(run.counts, passed=0, not_passed=6)
    assert (again.counts, again.usage, again.ended_at) == (counts, run.usage, run.ended_at)


async def test_scoring_again_with_the_same_rules_changes_nothing(lab: "Lab") -> None:
    run = await played(lab, count=5)
    before = lab.episodes(run)
    again = await rescore(run, ClassBenchmark(lab.world("Walk")), lab.store)
    assert again.metrics == run.metrics
    assert lab.episodes(run) == before


async def test_more_episodes_than_one_page_are_all_scored_and_progress_is_told(lab: "Lab") -> None:
    run = await played(lab, count=GROUP + 7, parallel=32)
    told: list[int] = []
    again = await rescore(run, Strict(lab.world("Walk"), points=0.0), lab.store, told.append)
    assert again.primary is not None
    assert (again.primary.value, again.primary.n_scored) == (0.0, GROUP + 7)
    assert told == [GROUP, GROUP + 7]


async def test_a_run_that_could_not_be_scored_is_finished_once_it_can(lab: "Lab") -> None:
    class Broken(ClassBenchmark):
        async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
            raise OSError("no judge")

    run = await lab.run(lab.spec(lab.model(), world=lab.benchmark(Broken(lab.world("Walk")))))
    assert (run.status, run.error) == (RunStatus.FAILED, "no episode could be scored")
    again = await rescore(run, Strict(lab.world("Walk")), lab.store)
    assert (again.status, again.error) == (RunStatus.FINISHED, "")
    worse = await rescore(run, Broken(lab.world("Walk")), lab.store)
    assert (worse.status, worse.error) == (RunStatus.FAILED, "no episode could be scored")


async def test_a_stopped_run_stays_stopped_and_its_unfinished_episodes_unscored(lab: "Lab") -> None:
    control, reached = Control(), asyncio.Event()

    async def wait(request: ModelRequest) -> str:
        if request.view is not None and request.view.seed == 1:
            reached.set()
            await asyncio.Event().wait()
        return "end"

    running = asyncio.create_task(lab.run(lab.spec(lab.model(wait)), control=control))
    await asyncio.wait_for(reached.wait(), 120)
    await lab.until(lambda: len(lab.episodes(lab.only_run())) == 2)
    control.stop("for now", grace=0)
    run = await asyncio.wait_for(running, 120)
    assert [episode.status.value for episode in lab.episodes(run)] == ["completed", "cancelled"]
    again = await rescore(run, Strict(lab.world("Walk")), lab.store)
    assert (again.status, again.error) == (RunStatus.STOPPED, "for now")
    assert [len(episode.scores) for episode in lab.episodes(run)] == [1, 0]


class Changed(Strict):
    """A walk with other tasks, or with the same in another order."""

    def __init__(self, walk: type, *seeds: int) -> None:
        super().__init__(walk, points=0.25)
        self.seeds = seeds

    def tasks(self, selection: Selection) -> Iterator[Task]:
        yield from super().tasks(Selection(seeds=self.seeds))


async def test_the_order_of_tasks_may_have_changed(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), seeds=(1, 2, 3, 3, 4), trials=2))
    benchmark = Changed(lab.world("Walk"), 4, 3, 9, 2, 3, 1)
    await rescore(run, benchmark, lab.store)
    assert [(task.seed, episode.seed) for task, episode in benchmark.seen] == [(s, s) for s in (1, 2, 3, 3, 4) * 2]


async def test_tasks_that_are_gone_cannot_be_scored_and_nothing_is_written(lab: "Lab") -> None:
    run = await played(lab, count=GROUP + 7, parallel=32)
    before = lab.episodes(run)
    with pytest.raises(UsageError, match=rf"1 finished episodes of run {run.id} belong to no task of 'games:Walk'"):
        await rescore(run, Changed(lab.world("Walk"), *range(GROUP + 6)), lab.store)
    assert lab.episodes(run) == before
    assert lab.store.runs.get(run.id) == run


async def test_runs_that_were_rescored_with_another_metric_are_compared_in_it(lab: "Lab") -> None:
    runs = [await lab.run(lab.spec(lab.model(), count=6, trials=1)) for _ in range(2)]
    strict = [Strict(lab.world("Walk"), points) for points in (0.0, 1.0)]
    again = [await rescore(run, one, lab.store) for run, one in zip(runs, strict, strict=True)]
    assert [metric["name"] for metric in lab.store.runs.get(again[0].id).info["metrics"]] == ["arrived"]
    (group,) = compare(lab.store.runs.get, lab.store.episodes.score_rows, [run.id for run in again]).groups
    assert group.metric is not None
    assert group.metric.name == "arrived"
    assert (group.pairs[0].contrast.n_a, group.pairs[0].contrast.delta.value) == (6, 1.0)


class Otherwise(Strict):
    """Another content, so other rules."""

    def __init__(self, walk: type) -> None:
        super().__init__(walk)
        self._info = msgspec.structs.replace(self.info, digest="other rules")


async def test_a_run_that_other_rules_scored_says_so_and_does_not_go_on(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), count=3, limits=Limits(run_tokens=15)))
    await rescore(run, Otherwise(lab.world("Walk")), lab.store)
    again = lab.store.runs.get(run.id)
    assert again.regraded == "other rules"
    assert again.rescored == f"rescored with content other rules; it was played with {run.benchmark_digest}"
    with pytest.raises(UsageError, match="it would mix two scorings: it was rescored with other rules"):
        await lab.resume(run.id)
    await rescore(again, ClassBenchmark(lab.world("Walk")), lab.store)
    assert lab.store.runs.get(run.id).regraded == ""
    assert (await lab.resume(run.id, limits=Limits(run_tokens=10**6))).counts.pending == 0
