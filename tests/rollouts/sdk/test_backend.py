"""LocalBackend: who runs when, what is known of it, and how it is cancelled."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.rollouts.sdk.executing import (
    ANSWER,
    Make,
    answer,
    cause,
    executed,
    playing,
    request,
    worked,
)

from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, ConcurrencyConfig, GraderConfig
from mesocosm.rollouts.sdk.context import (
    GraderContext,
)
from mesocosm.rollouts.sdk.request import ExecutionOutcome, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow


@pytest.mark.parametrize("configured", [None, 1, 2])
async def test_no_more_run_at_once_than_configured(backends: Make, configured: int | None) -> None:
    running, most, gate = 0, 0, asyncio.Event()
    loop = asyncio.get_running_loop()
    full = asyncio.Event()
    limit = configured or 4

    def count(step: int) -> None:
        nonlocal running, most
        running += step
        most = max(most, running)
        if running == limit:
            full.set()

    async def run(_: Any) -> Any:
        loop.call_soon_threadsafe(count, 1)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(gate.wait(), loop))
        loop.call_soon_threadsafe(count, -1)
        return ANSWER

    config = None
    if configured is not None:
        config = AgentWorkflowConfig(name="a", concurrency=ConcurrencyConfig(max_concurrent=configured))
    backend = backends(run, workflow_config=config)
    tasks = [asyncio.create_task(worked(backend, name=str(number))) for number in range(6)]
    await full.wait()
    assert backend.health()["concurrency"] == {"max_concurrent": limit, "queued": 6 - limit, "running": limit}
    gate.set()
    await asyncio.gather(*tasks)
    assert most == limit
    assert backend.max_concurrency == limit
    assert backend.health()["concurrency"]["running"] == 0


async def test_a_configuration_without_a_number_is_unlimited(backends: Make) -> None:
    backend = backends()
    assert backend.max_concurrency == 0
    assert backend.health()["concurrency"]["max_concurrent"] is None


async def test_a_full_queue_has_no_capacity(backends: Make) -> None:
    config = AgentWorkflowConfig(name="a", concurrency=ConcurrencyConfig(max_concurrent=1))

    async def run(_: Any) -> Any:
        await asyncio.Event().wait()

    backend = backends(run, workflow_config=config)
    assert backend.has_capacity()
    tasks = [asyncio.create_task(worked(backend, name=str(number))) for number in range(65)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not backend.has_capacity()
    backend.cancel_rollouts(all=True)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    assert backend.has_capacity()


async def test_time_in_the_queue_counts_against_the_workflow(backends: Make) -> None:
    config = AgentWorkflowConfig(name="a", concurrency=ConcurrencyConfig(max_concurrent=1))
    ran: list[str] = []

    async def run(ctx: Any) -> Any:
        ran.append(ctx.metadata["name"])
        await asyncio.sleep(0.2)
        return ANSWER

    backend = backends(run, workflow_config=config)
    first, second = await asyncio.gather(
        worked(backend, name="first", metadata={"name": "first"}, agent_timeout_sec=60),
        worked(backend, name="second", metadata={"name": "second"}, agent_timeout_sec=0.15),
    )
    assert first.status is RolloutStatus.SUCCESS
    assert cause(second) == "workflow_timeout"
    assert "waiting for a slot" in str(second.err_message)
    assert ran == ["first"]


async def test_a_timeout_that_is_over_runs_nothing(backends: Make) -> None:
    async def run(_: Any) -> Any:
        raise AssertionError("ran all the same")

    result = await worked(backends(run), agent_timeout_sec=0)
    assert (cause(result), result.err_category) == ("workflow_timeout", RolloutErrorCategory.TIMEOUT)


async def test_the_status_follows_a_rollout(backends: Make) -> None:
    gate, graded_gate, running = asyncio.Event(), asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def run(_: Any) -> Any:
        loop.call_soon_threadsafe(running.set)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(gate.wait(), loop))
        return ANSWER

    async def grade(ctx: GraderContext) -> Any:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(graded_gate.wait(), loop))
        ctx.set_reward(0.5)

    config = AgentWorkflowConfig(name="a", concurrency=ConcurrencyConfig(max_concurrent=1))
    backend = backends(run, grade, workflow_config=config)
    assert backend.rollout_status("r1") is None
    grading_now = asyncio.Event()

    async def take(_: ExecutionResult) -> None:
        grading_now.set()

    task = asyncio.create_task(backend.execute(request(), take, take))
    await running.wait()
    waiting = asyncio.create_task(worked(backend, name="r2"))
    await asyncio.sleep(0)
    assert backend.rollout_status("r1") == {"status": "running", "reward": None, "err_message": None}
    assert backend.rollout_status("r2") == {"status": "queued", "reward": None, "err_message": None}
    gate.set()
    await grading_now.wait()
    assert backend.rollout_status("r1") == {"status": "grading", "reward": None, "err_message": None}
    graded_gate.set()
    await asyncio.gather(task, waiting)
    assert backend.rollout_status("r1") == {"status": "success", "reward": 0.5, "err_message": None}


async def test_the_status_of_a_failure_has_its_message(backends: Make) -> None:
    async def run(_: Any) -> Any:
        raise RuntimeError("boom")

    backend = backends(run)
    await worked(backend)
    assert backend.rollout_status("r1") == {"status": "failure", "reward": None, "err_message": "boom"}


@pytest.fixture
async def held(backends: Make) -> AsyncIterator[tuple[LocalBackend, dict[str, "asyncio.Task[Any]"], list[str]]]:
    """Two rollouts that run until they are cancelled, and one that is queued."""
    started = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()
    cancelled: list[str] = []

    async def run(ctx: Any) -> Any:
        loop.call_soon_threadsafe(started.release)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(ctx.metadata["name"])
            raise

    config = AgentWorkflowConfig(name="a", concurrency=ConcurrencyConfig(max_concurrent=2))
    backend = backends(run, workflow_config=config)
    tasks = {
        name: asyncio.create_task(worked(backend, name=name, metadata={"name": name})) for name in ("a-1", "a-2", "b-3")
    }
    await started.acquire()
    await started.acquire()
    yield backend, tasks, cancelled
    backend.cancel_rollouts(all=True)
    await asyncio.gather(*tasks.values(), return_exceptions=True)


Held = tuple[LocalBackend, dict[str, "asyncio.Task[Any]"], list[str]]


async def test_rollouts_are_cancelled_by_id(held: Held) -> None:
    backend, tasks, _ = held
    told = backend.cancel_rollouts(ids=["a-1", "b-3", "nobody"])
    assert told == {"a-1": "cancelled_running", "b-3": "cancelled_queued", "nobody": "not_found"}
    for name in ("a-1", "b-3"):
        with pytest.raises(asyncio.CancelledError):
            await tasks[name]
    status = backend.rollout_status("a-1")
    assert status is not None
    assert status["status"] == "cancelled"
    assert not tasks["a-2"].done()
    assert backend.cancel_rollouts(ids=["a-1"]) == {"a-1": "not_found"}


async def test_rollouts_are_cancelled_by_prefix_and_all_together(held: Held) -> None:
    backend, _, _ = held
    assert backend.cancel_rollouts(prefix="a-") == {"a-1": "cancelled_running", "a-2": "cancelled_running"}
    assert set(backend.cancel_rollouts(all=True)) >= {"b-3"}


async def test_cancelling_who_waits_cancels_the_workflow(backends: Make) -> None:
    running, cancelled = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def run(_: Any) -> Any:
        loop.call_soon_threadsafe(running.set)
        try:
            await asyncio.Event().wait()
        finally:
            loop.call_soon_threadsafe(cancelled.set)

    backend = backends(run)
    task = asyncio.create_task(worked(backend))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await cancelled.wait()
    assert backend.health()["concurrency"]["running"] == 0


async def test_a_rollout_cancelled_during_its_callback_is_not_graded(backends: Make) -> None:
    async def grade(_: Any) -> Any:
        raise AssertionError("graded all the same")

    backend = backends(answer, grade)
    results = []

    async def take(result: ExecutionResult) -> None:
        results.append(result)
        backend.cancel_rollouts(all=True)

    with pytest.raises(asyncio.CancelledError):
        await backend.execute(request(), take, take)
    assert len(results) == 1


def test_references_are_loaded_and_checked() -> None:
    backend = LocalBackend(workflow="mesocosm.rollouts.sdk.workflow:AgentWorkflow")
    assert backend.workflow_cls is AgentWorkflow
    for wrong, error in [
        ("mesocosm.rollouts.sdk.workflow", ValueError),
        ("mesocosm.rollouts.sdk.workflow:Nothing", ImportError),
        ("mesocosm.rollouts.nowhere:Nothing", ImportError),
        ("mesocosm.rollouts.sdk.workflow:Grader", TypeError),
    ]:
        with pytest.raises(error):
            LocalBackend(workflow=wrong)
    with pytest.raises(TypeError, match="AgentWorkflowConfig"):
        LocalBackend(workflow=AgentWorkflow, workflow_config=GraderConfig(name="a"))  # type: ignore[arg-type]


async def test_a_closed_backend_says_so(backends: Make) -> None:
    backend = backends()
    backend.close()
    with pytest.raises(RuntimeError, match="closed"):
        await worked(backend)


async def test_times_are_in_the_diagnostics(backends: Make) -> None:
    _, graded = await executed(backends(), request())
    facts = graded.extra_fields or {}
    assert set(facts) == {"queued_s", "workflow_s", "grader_s"}
    assert facts["workflow_s"] > 0
    assert facts["grader_s"] > 0


async def test_without_callbacks_the_outcome_is_returned(backends: Make) -> None:
    async def grade(ctx: GraderContext) -> None:
        ctx.set_reward(0.5)

    backend = backends(answer, grade)
    outcome = await backend.execute(request("a", label="x"))
    assert outcome.grader is not None
    assert outcome.grader.sample is not None
    assert (outcome.result, outcome.grader.sample.reward) == (outcome.grader, 0.5)
    ungraded = await backend.execute(request("b", label="x").model_copy(update={"grade": False}))
    assert (ungraded.grader, ungraded.result.status) == (None, RolloutStatus.SUCCESS)


async def test_a_workflow_and_a_grader_run_by_themselves(backends: Make) -> None:
    async def grade(ctx: GraderContext) -> None:
        ctx.set_reward(len(ctx.label or ""))

    backend = backends(answer, grade)
    result = await backend.run_workflow(request("a", label="xy"))
    graded = await backend.run_grader(request("a", label="xy"), result)
    assert graded.sample is not None
    assert (graded.sample.reward, graded.sample.messages) == (2.0, ANSWER)
    assert await LocalBackend(workflow=playing(answer)).run_grader(request("a"), result) is result


def test_the_outcome_that_counts() -> None:
    passed = ExecutionResult(status=RolloutStatus.SUCCESS, sample=RolloutSample(reward=None))
    graded = ExecutionResult(status=RolloutStatus.SUCCESS, sample=RolloutSample(reward=1.0))
    failed = ExecutionResult(status=RolloutStatus.FAILURE, err_message="boom")
    assert ExecutionOutcome(workflow=passed).result is passed
    assert ExecutionOutcome(workflow=passed, grader=graded).result is graded
    assert ExecutionOutcome(workflow=passed, grader=graded).result_to_save is graded
    assert ExecutionOutcome(workflow=passed, grader=failed).result_to_save is passed
    merged = ExecutionOutcome(workflow=failed, grader=graded).result
    assert (merged.err_message, merged.sample) == ("boom", graded.sample)
