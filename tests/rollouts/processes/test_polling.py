"""Servers that send no callbacks and are asked for their results, as osmosis-ai from 0.3.3 on."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.rollouts.executor import LineLog, RowJob
from mesocosm.rollouts.processes.executor import ProcessExecutor

Opened = Callable[..., Awaitable[ProcessExecutor]]
Working = Callable[..., RowJob]

POLLED = pytest.mark.parametrize("polled", ["grading", "end"])


@POLLED
async def test_a_polled_try_brings_its_sample_and_its_reward(
    opened: Opened, working: Working, log: LineLog, polled: str
) -> None:
    place = await opened({"POLLED": polled})
    fine, removed, cancelled = await asyncio.gather(
        *(place.run(working(word), log) for word in ("fine", "removed", "cancelled once"))
    )
    assert fine.sample is not None
    assert (fine.sample.reward, fine.sample.metrics, fine.sample.extra) == (0.5, {"length": 3.0}, {"a": 1})
    assert (fine.graded, fine.failure) == (True, None)
    assert removed.sample is not None
    assert (removed.sample.left_out, removed.failure) == (True, None)
    assert cancelled.graded


@POLLED
@pytest.mark.parametrize(
    ("word", "expected", "message"),
    [
        ("raises", Cause.WORKFLOW_FAILED, "boom"),
        ("wrong", Cause.WORKFLOW_INVALID, "must return"),
        ("value", Cause.WORKFLOW_FAILED, "invalid literal"),
        ("late", Cause.WORKFLOW_TIMEOUT, "deadline"),
        ("no sample", Cause.WORKFLOW_INVALID, "the workflow left no sample"),
        ("grader raises", Cause.GRADER_ERROR, "bad grade"),
        ("ungraded", Cause.GRADER_ERROR, "no grader, or the row has neither label nor metadata"),
    ],
)
async def test_a_polled_failure_has_its_true_cause(
    opened: Opened, working: Working, log: LineLog, polled: str, word: str, expected: Cause, message: str
) -> None:
    ended = await (await opened({"POLLED": polled})).run(working(word), log)
    assert ended.failure is not None
    assert (ended.failure.cause, ended.graded) == (expected, False)
    assert message in ended.failure.message


async def test_polled_tries_that_never_answer_end(opened: Opened, working: Working, log: LineLog) -> None:
    place = await opened({"POLLED": "grading"})
    workflow, grader = await asyncio.gather(
        place.run(working("never", workflow_seconds=0.2), log),
        place.run(working("grader never", grader_seconds=0.2), log),
    )
    assert workflow.failure is not None
    assert workflow.failure.cause is Cause.WORKFLOW_TIMEOUT
    assert grader.failure is not None
    assert grader.failure.cause is Cause.GRADER_TIMEOUT


@pytest.mark.parametrize(("word", "message"), [("forgotten", "status 404"), ("crashed", "rollout task crashed")])
async def test_a_server_that_loses_a_polled_try_broke(
    opened: Opened, working: Working, log: LineLog, word: str, message: str
) -> None:
    place = await opened({"POLLED": "grading"})
    with pytest.raises(EpisodeError, match=message) as raised:
        await place.run(working(word, workflow_seconds=None), log)
    assert raised.value.cause is Cause.ROLLOUT_FAILED


async def test_the_end_of_a_polled_process_is_that_of_its_row(opened: Opened, working: Working, log: LineLog) -> None:
    place = await opened({"POLLED": "grading"})
    with pytest.raises(EpisodeError, match="exit code 3"):
        await place.run(working("exit", workflow_seconds=None), log)
    assert (await place.run(working("fine"), log)).graded
