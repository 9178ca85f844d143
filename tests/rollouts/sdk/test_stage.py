"""Stages: code that blocks is named, isolated and given up, and harms nobody else."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mesocosm.rollouts.sdk import stages
from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig
from mesocosm.rollouts.sdk.context import AgentWorkflowContext, GraderContext
from mesocosm.rollouts.sdk.grader import Grader
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.stage import Stage
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow

ANSWER = [{"role": "assistant", "content": "4"}]
UNLIMITED = AgentWorkflowConfig(name="unlimited")
SHORT, LONG = 0.2, 60.0

release = threading.Event()
"""Lets go of whoever blocks in `held`."""

started: list[str] = []
"""Rollouts whose workflow has begun, each time that it has."""

waiting = threading.Event()


def sleep_on(_: Any) -> None:
    time.sleep(5)  # longer than anything here waits


def spin(_: Any) -> None:
    while True:
        pass


def lock(_: Any) -> None:
    release.wait(20)


BLOCKING: dict[str, Callable[[Any], None]] = {"sleep_on": sleep_on, "spin": spin, "lock": lock}


class Playing(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> Any:
        told = ctx.metadata or {}
        started.append(str(told.get("name")))
        if "wait_for_blocker" in told:
            waiting.set()
            await asyncio.sleep(told["wait_for_blocker"])
        if "when_others_wait" in told:
            await asyncio.to_thread(waiting.wait, 20)
        if "block" in told:
            BLOCKING[told["block"]](ctx)
        if "swallow" in told:
            await self.swallow()
        return ANSWER

    async def swallow(self) -> None:
        while not release.is_set():
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                continue


class Grading(Grader):
    async def grade(self, ctx: GraderContext) -> Any:
        told = ctx.metadata or {}
        if "grader_block" in told:
            BLOCKING[told["grader_block"]](ctx)
        if "grader_wait" in told:
            await asyncio.Event().wait()
        ctx.set_reward(1.0)


@pytest.fixture
def backend() -> Iterator[LocalBackend]:
    release.clear()
    waiting.clear()
    started.clear()
    made = LocalBackend(workflow=Playing, grader=Grading, workflow_config=UNLIMITED)
    yield made
    release.set()
    made.close()


def nap() -> None:
    time.sleep(0.03)


async def until(reached: Callable[[], bool]) -> None:
    """Wait, on a thread, for something that only threads know."""

    def wait() -> None:
        while not reached():
            time.sleep(0.01)

    await asyncio.to_thread(wait)


async def perform(
    backend: LocalBackend, name: str = "r", *, seconds: float | None = LONG, **metadata: Any
) -> tuple[ExecutionResult, ExecutionResult | None]:
    return await backend.perform(
        ExecutionRequest(
            id=name,
            prompt=[],
            label="4",
            metadata={"name": name, **metadata},
            agent_timeout_sec=seconds,
            grader_timeout_sec=seconds,
        )
    )


def facts(result: ExecutionResult | None) -> dict[str, Any]:
    assert result is not None
    return result.extra_fields or {}


def isolate(backend: LocalBackend) -> None:
    backend._stages.isolated = True


async def test_code_runs_on_another_thread(backend: LocalBackend) -> None:
    idents: list[int] = []

    class Telling(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            idents.append(threading.get_ident())
            return ANSWER

    other = LocalBackend(workflow=Telling)
    await perform(other)
    other.close()
    assert idents
    assert idents[0] != threading.get_ident()


async def test_a_workflow_that_waits_too_long_is_cancelled(backend: LocalBackend) -> None:
    worked, graded = await perform(backend, seconds=SHORT, wait_for_blocker=30)
    assert (facts(worked)["cause"], worked.err_category) == ("workflow_timeout", RolloutErrorCategory.TIMEOUT)
    assert worked.err_message == "workflow exceeded its 0.2s deadline"
    assert graded is None


async def test_a_grader_has_a_deadline_of_its_own(backend: LocalBackend) -> None:
    worked, graded = await perform(backend, seconds=SHORT, grader_wait=True)
    assert worked.status is RolloutStatus.SUCCESS
    assert facts(graded)["cause"] == "grader_timeout"
    assert graded is not None
    assert graded.err_message == "grader exceeded its 0.2s deadline"
    assert graded.sample is not None
    assert list(graded.sample.messages) == ANSWER


async def test_a_result_that_comes_back_too_late_is_a_timeout(backend: LocalBackend) -> None:
    class Late(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            nap()
            return ANSWER

    other = LocalBackend(workflow=Late)
    worked, _ = await perform(other, seconds=0.01)
    other.close()
    assert facts(worked)["cause"] == "workflow_timeout"


async def test_a_cancellation_that_is_swallowed_for_a_moment_is_a_timeout_all_the_same() -> None:
    class Swallowing(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return ANSWER

    other = LocalBackend(workflow=Swallowing)
    worked, _ = await perform(other, seconds=0.05)
    other.close()
    assert (facts(worked)["cause"], worked.err_message) == ("workflow_timeout", "workflow exceeded its 0.05s deadline")


@pytest.mark.parametrize("how", list(BLOCKING))
async def test_a_blocking_workflow_is_given_up_and_named(backend: LocalBackend, how: str) -> None:
    worked, _ = await perform(backend, seconds=0.6, block=how)
    assert facts(worked)["cause"] == "workflow_timeout"
    assert str(worked.err_message).startswith("workflow exceeded its 0.6s deadline: its code blocks the event loop at ")
    where = facts(worked)["blocked"]["where"]
    assert where.startswith("test_stage.py:")
    assert where.endswith(f" in {how}")
    assert where in str(worked.err_message)


@pytest.mark.parametrize("how", list(BLOCKING))
async def test_a_blocking_grader_is_given_up_and_named(backend: LocalBackend, how: str) -> None:
    worked, graded = await perform(backend, seconds=0.6, grader_block=how)
    assert worked.status is RolloutStatus.SUCCESS
    assert facts(graded)["cause"] == "grader_timeout"
    assert facts(graded)["blocked"]["where"].endswith(f" in {how}")
    assert graded is not None
    assert graded.sample is not None


async def test_a_workflow_that_ignores_its_cancellation_is_given_up(backend: LocalBackend) -> None:
    worked, _ = await perform(backend, seconds=SHORT, swallow=True)
    assert facts(worked)["cause"] == "workflow_timeout"
    assert "goes on although it was cancelled at test_stage.py:" in str(worked.err_message)
    assert str(worked.err_message).endswith(" in swallow")
    assert not backend._stages.isolated


async def test_many_that_ignore_their_cancellation_are_given_up_together(backend: LocalBackend) -> None:
    results = await asyncio.gather(
        *(perform(backend, str(number), seconds=SHORT, swallow=True) for number in range(40))
    )
    assert {facts(worked)["cause"] for worked, _ in results} == {"workflow_timeout"}


async def test_who_is_cancelled_by_other_code_before_it_began_is_an_error_not_a_hang() -> None:
    running, posted = threading.Event(), threading.Event()

    class Sweeping(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            running.set()
            posted.wait(20)
            # The others are put on the loop now, and their turn comes after this one's.
            await asyncio.sleep(0)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                asyncio.Task.cancel(task)  # past what protects neighbours
            return ANSWER

    other = LocalBackend(workflow=Sweeping, workflow_config=UNLIMITED)
    first = asyncio.create_task(perform(other, "first"))
    await until(running.is_set)
    rest = [asyncio.create_task(perform(other, name)) for name in ("second", "third")]
    await asyncio.sleep(0)
    posted.set()
    assert (await first)[0].status is RolloutStatus.SUCCESS
    for task in rest:
        with pytest.raises(RuntimeError, match="cancelled it"):
            await task
    other.close()


async def test_blocking_that_ends_in_time_is_a_success_that_is_told(backend: LocalBackend) -> None:
    task = asyncio.create_task(perform(backend, block="lock"))
    await until(lambda: backend._stages.isolated)
    release.set()
    worked, graded = await task
    assert worked.status is RolloutStatus.SUCCESS
    assert graded is not None
    assert backend.health()["isolated"]


async def test_what_has_not_begun_moves_away_from_a_blocked_stage(backend: LocalBackend) -> None:
    blocking = asyncio.create_task(perform(backend, "blocking", block="lock"))
    others = [asyncio.create_task(perform(backend, f"other-{number}")) for number in range(3)]
    for worked, _ in await asyncio.gather(*others):
        assert worked.status is RolloutStatus.SUCCESS
    assert not blocking.done()
    release.set()
    assert (await blocking)[0].status is RolloutStatus.SUCCESS
    assert sorted(started) == ["blocking", "other-0", "other-1", "other-2"]


async def test_what_moves_away_when_its_task_waits_on_the_loop_already_is_delivered_once() -> None:
    running, posted, free = threading.Event(), threading.Event(), threading.Event()

    class Blocking(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            if not running.is_set():
                running.set()
                posted.wait(20)
                while len(asyncio.all_tasks()) < 3:  # noqa: ASYNC110 - an event would be another turn of the loop
                    await asyncio.sleep(0)
                free.wait(20)
            return ANSWER

    other = LocalBackend(workflow=Blocking, workflow_config=UNLIMITED)
    first = asyncio.create_task(perform(other, "first"))
    await until(running.is_set)
    rest = [asyncio.create_task(perform(other, name)) for name in ("second", "third")]
    await asyncio.sleep(0)
    posted.set()
    await until(lambda: other._stages.isolated)
    free.set()
    for worked, _ in await asyncio.gather(first, *rest):
        assert worked.status is RolloutStatus.SUCCESS
    other.close()


async def test_many_who_each_hold_the_loop_shortly_stay_together() -> None:
    class Busy(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            nap()
            await asyncio.sleep(0)
            nap()
            return ANSWER

    other = LocalBackend(workflow=Busy, workflow_config=UNLIMITED)
    results = await asyncio.gather(*(perform(other, str(number)) for number in range(15)))
    isolated = other.health()["isolated"]
    other.close()
    assert all(worked.status is RolloutStatus.SUCCESS for worked, _ in results)
    assert not isolated


async def test_once_somebody_blocked_each_has_a_stage_of_its_own(backend: LocalBackend) -> None:
    isolate(backend)
    blocking = [asyncio.create_task(perform(backend, f"blocking-{number}", block="lock")) for number in range(3)]
    worked, graded = await perform(backend, "free")
    assert graded is not None
    assert worked.status is RolloutStatus.SUCCESS
    assert not any(task.done() for task in blocking)
    release.set()
    await asyncio.gather(*blocking)
    assert len(backend._stages._own) <= 4


async def test_who_shared_a_stage_that_comes_back_goes_on(backend: LocalBackend) -> None:
    victim = asyncio.create_task(perform(backend, "victim", seconds=0.5, wait_for_blocker=0.05))
    blocking = asyncio.create_task(perform(backend, "blocking", when_others_wait=True, block="lock"))
    await until(lambda: backend._stages.isolated)
    # Longer than the victim's own time, of which the other one takes everything.
    await asyncio.sleep(0.7)
    release.set()
    worked, graded = await victim
    assert worked.status is RolloutStatus.SUCCESS
    assert graded is not None
    assert (await blocking)[0].status is RolloutStatus.SUCCESS
    assert started.count("victim") == 1


async def test_who_shared_a_stage_that_is_given_up_is_run_again(backend: LocalBackend) -> None:
    victim = asyncio.create_task(perform(backend, "victim", seconds=0.5, wait_for_blocker=0.05))
    blocking = asyncio.create_task(perform(backend, "blocking", seconds=0.7, when_others_wait=True, block="lock"))
    worked, graded = await victim
    assert worked.status is RolloutStatus.SUCCESS
    assert graded is not None
    assert graded.status is RolloutStatus.SUCCESS
    blocked, _ = await blocking
    assert facts(blocked)["cause"] == "workflow_timeout"
    assert facts(blocked)["blocked"]["where"].endswith(" in lock")
    assert started.count("victim") == 2


async def test_who_shares_a_stage_with_one_that_may_block_forever_moves_on(backend: LocalBackend) -> None:
    victim = asyncio.create_task(perform(backend, "victim", seconds=0.5, wait_for_blocker=0.05))
    blocking = asyncio.create_task(perform(backend, "blocking", seconds=None, when_others_wait=True, block="lock"))
    assert (await victim)[0].status is RolloutStatus.SUCCESS
    assert not blocking.done()
    release.set()
    assert (await blocking)[0].status is RolloutStatus.SUCCESS
    await until(lambda: not backend._stages._deserted)


async def test_python_code_that_was_given_up_is_interrupted(backend: LocalBackend) -> None:
    await perform(backend, seconds=SHORT, block="spin")
    await until(lambda: not backend._stages._deserted)
    leaving = list(backend._stages._leaving)
    await until(lambda: not any(stage.alive for stage in leaving))


async def test_a_blocking_rollout_that_is_cancelled_frees_its_caller(backend: LocalBackend) -> None:
    task = asyncio.create_task(perform(backend, block="lock"))
    await until(lambda: "r" in started)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    worked, _ = await perform(backend, "next")
    assert worked.status is RolloutStatus.SUCCESS


async def test_threads_end_when_the_backend_is_closed() -> None:
    other = LocalBackend(workflow=Playing, grader=Grading)
    await perform(other)
    stage, watcher = other._stages._shared, other._stages._watcher
    assert stage is not None
    assert watcher is not None
    other.close()
    await until(lambda: not stage.alive and not watcher.is_alive())
    assert stage.loop.is_closed()


async def test_there_are_not_more_threads_than_the_limit(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "MOST", 2)
    isolate(backend)
    results = await asyncio.gather(*(perform(backend, str(number), wait_for_blocker=0.01) for number in range(6)))
    assert all(worked.status is RolloutStatus.SUCCESS for worked, _ in results)
    assert len(backend._stages._own) == 2


async def test_a_client_of_an_ended_stage_that_nobody_closed_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    done = threading.Event()

    def complain() -> None:
        for words in ("Event loop is closed", "something else"):
            stage.loop.call_exception_handler({"message": f"a task: {words}", "exception": RuntimeError(words)})
        done.set()

    stage.loop.call_soon_threadsafe(complain)
    await until(done.is_set)
    stage.stop()
    assert [record.message for record in caplog.records] == ["a task: something else"]
