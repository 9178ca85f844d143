"""Failures of graders: the score is missing with its cause, the episode is kept."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause
from mesocosm.core.run import Run
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.environments.inprocess import ClassBenchmark

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


class Graded(ClassBenchmark):
    """A walk with a grader of its own."""

    def __init__(self, walk: type, grader: Callable[[Episode], Awaitable[Any]]) -> None:
        super().__init__(walk)
        self.grader = grader

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        if task.seed != 1:
            return await super().grade(task, episode)
        graded: Sequence[Score] = await self.grader(episode)
        return graded


async def graded(lab: "Lab", grader: Callable[[Episode], Awaitable[Any]]) -> tuple[Run, Episode]:
    world = lab.benchmark(Graded(lab.world("Walk"), grader))
    run = await asyncio.wait_for(lab.run(lab.spec(lab.model(), world=world)), 120)
    assert run.counts.completed == 3
    return run, lab.episodes(run)[1]


@pytest.mark.parametrize(
    "error",
    [AssertionError("no gold"), TimeoutError(), SystemExit(1), asyncio.CancelledError(), OSError("\udcff")],
    ids=repr,
)
async def test_a_grader_that_raises_leaves_the_score_missing_and_the_episode_completed(
    lab: "Lab", error: BaseException
) -> None:
    async def grader(episode: Episode) -> Any:
        raise error

    run, episode = await graded(lab, grader)
    assert episode.status is EpisodeStatus.COMPLETED
    assert {score.missing for score in episode.scores} == {Cause.GRADER_ERROR}
    assert type(error).__name__ in episode.scores[0].explanation
    assert run.primary is not None
    assert run.primary.missing == {"grader_error": 1}


@pytest.mark.parametrize("answer", [None, 7, [0.5], [Score(None, 1.0)], ["arrived"]], ids=repr)  # type: ignore[arg-type]
async def test_a_grader_that_returns_no_scores_has_failed(lab: "Lab", answer: Any) -> None:
    async def grader(episode: Episode) -> Any:
        return answer

    _, episode = await graded(lab, grader)
    assert {score.missing for score in episode.scores} == {Cause.GRADER_ERROR}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1.0", 10**400], ids=str)
async def test_a_value_that_is_no_finite_number_is_missing_with_that_cause(lab: "Lab", value: Any) -> None:
    async def grader(episode: Episode) -> Any:
        return [Score("arrived", value), Score("reward", 1.0)]

    run, episode = await graded(lab, grader)
    scores = {score.name: score for score in episode.scores}
    assert (scores["arrived"].value, scores["arrived"].missing) == (None, Cause.VALUE_UNUSABLE)
    assert scores["arrived"].explanation
    assert scores["reward"].value == 1.0
    assert run.primary is not None
    assert run.primary.missing == {"value_unusable": 1}


async def test_a_score_that_the_grader_leaves_out_is_missing_not_unrun(lab: "Lab") -> None:
    async def grader(episode: Episode) -> Any:
        return [Score("reward", 1.0)]

    run, episode = await graded(lab, grader)
    assert run.primary is not None
    assert run.primary.missing == {"value_missing": 1}
    assert {score.name: score.missing for score in episode.scores}["arrived"] is Cause.VALUE_MISSING


async def test_a_score_given_twice_counts_once_and_one_nobody_asked_for_is_kept(lab: "Lab") -> None:
    async def grader(episode: Episode) -> Any:
        return [Score("arrived", 0.0), Score("arrived", True), Score("reward", 2), Score("style", 0.25)]

    run, episode = await graded(lab, grader)
    assert {score.name: score.value for score in episode.scores} == {"arrived": 1.0, "reward": 2.0, "style": 0.25}
    assert [metric.name for metric in run.metrics] == ["arrived", "mean_reward"]
