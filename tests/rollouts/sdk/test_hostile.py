"""Code that does what nobody should: each execution ends by its own true cause all the same."""

import asyncio
from typing import Any

import pytest
from tests.rollouts.sdk.executing import ANSWER, Make, cause, executed, request, worked

from mesocosm.rollouts.sdk.request import ExecutionResult
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.rollouts.sdk.tracebacks import LONGEST_MESSAGE, LONGEST_TRACEBACK


class Unspeakable(Exception):
    """Its words raise."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def facts(result: ExecutionResult) -> dict[str, Any]:
    return result.extra_fields or {}


@pytest.mark.parametrize("error", [GeneratorExit, asyncio.CancelledError, SystemExit, KeyboardInterrupt])
async def test_what_is_no_exception_fails_the_workflow_that_raises_it(
    backends: Make, error: type[BaseException]
) -> None:
    async def run(_: Any) -> Any:
        raise error

    result = await worked(backends(run))
    assert (cause(result), facts(result)["error"]) == ("workflow_failed", error.__name__)


@pytest.mark.parametrize("error", [GeneratorExit, asyncio.CancelledError, SystemExit])
async def test_what_is_no_exception_fails_the_grader_that_raises_it(backends: Make, error: type[BaseException]) -> None:
    async def grade(_: Any) -> Any:
        raise error

    _, graded = await executed(backends(grade=grade), request())
    assert (cause(graded), facts(graded)["error"]) == ("grader_error", error.__name__)


async def test_an_error_that_cannot_be_shown_is_named_by_its_type(backends: Make) -> None:
    async def run(_: Any) -> Any:
        raise Unspeakable

    result = await worked(backends(run))
    assert cause(result) == "workflow_failed"
    assert result.err_message == "Unspeakable, which cannot be shown: its __str__ raised RuntimeError"


async def test_an_endless_message_is_kept_in_part(backends: Make) -> None:
    async def run(_: Any) -> Any:
        raise ValueError("begin" + "x" * 1_000_000 + "end")

    result = await worked(backends(run))
    message, detail = result.err_message or "", facts(result)["detail"]
    assert message.startswith("begin")
    assert message.endswith("end")
    assert len(message) < LONGEST_MESSAGE + 100
    assert len(detail) < LONGEST_TRACEBACK + 100


async def test_a_message_that_utf8_cannot_hold_is_escaped(backends: Make) -> None:
    async def run(_: Any) -> Any:
        raise ValueError("half \ud800 a pair")

    result = await worked(backends(run))
    assert result.err_message == "half \\ud800 a pair"
    assert facts(result)["detail"].endswith("ValueError: half \\ud800 a pair\n")


async def test_metrics_of_a_grader_that_hold_themselves_do_not_cost_the_reward(backends: Make) -> None:
    async def grade(ctx: Any) -> Any:
        circle: dict[str, Any] = {"turns": 2}
        circle["self"] = circle
        ctx.sample.extra_fields["circle"] = circle
        ctx.set_reward(0.5)

    _, graded = await executed(backends(grade=grade), request())
    assert graded.status is RolloutStatus.SUCCESS
    assert graded.sample is not None
    safe = graded.sample.json_safe_copy()
    assert (safe.reward, safe.extra_fields["circle"]["turns"], list(safe.messages)) == (0.5, 2, ANSWER)


async def test_tasks_of_its_own_can_be_cancelled(backends: Make) -> None:
    async def run(_: Any) -> Any:
        own = asyncio.create_task(asyncio.Event().wait())
        await asyncio.sleep(0)
        assert own.cancel()
        await asyncio.wait({own})
        return ANSWER if own.cancelled() else []

    sample = (await worked(backends(run))).sample
    assert sample is not None
    assert list(sample.messages) == ANSWER
