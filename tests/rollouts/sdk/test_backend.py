"""LocalBackend: what it makes of what workflows and graders do."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, ConcurrencyConfig, GraderConfig
from mesocosm.rollouts.sdk.context import (
    AgentWorkflowContext,
    GraderContext,
    RolloutContext,
    SampleSource,
    get_rollout_context,
)
from mesocosm.rollouts.sdk.grader import Grader
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, AgentWorkflowOutput

Run = Callable[[Any], Awaitable[Any]]
ANSWER = [{"role": "assistant", "content": "4"}]
PROMPT = [{"role": "user", "content": "2 + 2"}]


def playing(run: Run) -> type[AgentWorkflow[Any]]:
    class Playing(AgentWorkflow[AgentWorkflowConfig]):
        async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> Any:
            return await run(ctx)

    return Playing


def grading(grade: Run) -> type[Grader]:
    class Grading(Grader):
        async def grade(self, ctx: GraderContext) -> Any:
            return await grade(ctx)

    return Grading


async def answer(ctx: AgentWorkflowContext[Any]) -> Any:
    del ctx
    return ANSWER


async def praise(ctx: GraderContext) -> Any:
    ctx.set_reward(1.0)


class Source(SampleSource):
    def __init__(self, sample: Any) -> None:
        self.sample = sample

    async def get_sample(self) -> RolloutSample:
        return self.sample  # type: ignore[no-any-return]


Make = Callable[..., LocalBackend]


@pytest.fixture
def backends() -> Iterator[Make]:
    made: list[LocalBackend] = []

    def make(run: Run = answer, grade: Run | None = praise, **more: Any) -> LocalBackend:
        more.setdefault("workflow_config", AgentWorkflowConfig(name="test"))
        grader = None if grade is None else grading(grade)
        backend = LocalBackend(workflow=playing(run), grader=grader, **more)
        made.append(backend)
        return backend

    yield make
    for backend in made:
        backend.close()


def request(name: str = "r1", **more: Any) -> ExecutionRequest:
    return ExecutionRequest.model_validate({"id": name, "prompt": PROMPT, "label": "4", **more})


async def executed(backend: LocalBackend, asked: ExecutionRequest) -> tuple[ExecutionResult, ExecutionResult]:
    results: list[ExecutionResult] = []

    async def take(result: ExecutionResult) -> None:
        results.append(result)

    await backend.execute(asked, take, take)
    worked, graded = results
    return worked, graded


async def worked(backend: LocalBackend, **more: Any) -> ExecutionResult:
    return (await executed(backend, request(**more)))[0]


def cause(result: ExecutionResult) -> Any:
    return (result.extra_fields or {}).get("cause")


async def test_a_list_of_messages_is_a_sample_with_the_label(backends: Make) -> None:
    result, graded = await executed(backends(), request())
    assert result.status is RolloutStatus.SUCCESS
    assert graded.sample is not None
    assert (list(graded.sample.messages), graded.sample.label, graded.sample.reward) == (ANSWER, "4", 1.0)


async def test_an_empty_list_is_a_sample_without_messages(backends: Make) -> None:
    async def run(_: Any) -> Any:
        return []

    sample = (await worked(backends(run))).sample
    assert sample is not None
    assert list(sample.messages) == []


async def test_metrics_of_the_output_are_those_of_the_sample(backends: Make) -> None:
    async def run(_: Any) -> Any:
        return AgentWorkflowOutput(messages=ANSWER, metrics={"turns": 2})

    sample = (await worked(backends(run))).sample
    assert sample is not None
    assert sample.metrics == {"turns": 2.0}


async def test_an_output_is_validated_again(backends: Make) -> None:
    async def run(_: Any) -> Any:
        output = AgentWorkflowOutput(messages=ANSWER)
        output.metrics["turns"] = float("nan")
        return output

    result = await worked(backends(run))
    assert cause(result) == "workflow_invalid"
    assert result.err_category is RolloutErrorCategory.VALIDATION_ERROR


@pytest.mark.parametrize("returned", [{"messages": []}, (), "text", [1]])
async def test_what_is_no_messages_is_an_invalid_workflow(backends: Make, returned: Any) -> None:
    async def run(_: Any) -> Any:
        return returned

    result = await worked(backends(run))
    assert (result.status, cause(result)) == (RolloutStatus.FAILURE, "workflow_invalid")
    assert result.err_category is RolloutErrorCategory.VALIDATION_ERROR


async def test_none_asks_the_registered_source(backends: Make) -> None:
    async def run(_: Any) -> Any:
        context = get_rollout_context()
        assert context is not None
        context.set_sample_source(Source(RolloutSample(messages=ANSWER)))

    sample = (await worked(backends(run))).sample
    assert sample is not None
    assert (list(sample.messages), sample.label) == (ANSWER, None)


async def test_a_source_that_gives_no_sample_is_an_invalid_workflow(backends: Make) -> None:
    async def run(_: Any) -> Any:
        context = get_rollout_context()
        assert context is not None
        context.set_sample_source(Source("text"))

    result = await worked(backends(run))
    assert cause(result) == "workflow_invalid"


@pytest.mark.parametrize(("given", "messages"), [({"messages": ANSWER}, ANSWER), (None, None)])
async def test_a_source_may_give_an_object_or_nothing(backends: Make, given: Any, messages: Any) -> None:
    async def run(_: Any) -> Any:
        context = get_rollout_context()
        assert context is not None
        context.set_sample_source(Source(given))

    result = await worked(backends(run))
    assert result.status is RolloutStatus.SUCCESS
    assert (None if result.sample is None else list(result.sample.messages)) == messages


async def test_an_output_without_messages_does_not_ask_the_source(backends: Make) -> None:
    async def run(_: Any) -> Any:
        context = get_rollout_context()
        assert context is not None
        context.set_sample_source(Source(RolloutSample()))
        return AgentWorkflowOutput()

    result, graded = await executed(backends(run), request())
    assert (result.status, result.sample) == (RolloutStatus.SUCCESS, None)
    assert (graded.status, cause(graded)) == (RolloutStatus.FAILURE, "grader_error")


async def test_none_without_a_source_is_a_success_that_cannot_be_graded(backends: Make) -> None:
    async def run(_: Any) -> Any:
        return None

    async def grade(_: Any) -> Any:
        return None

    result, graded = await executed(backends(run, grade), request())
    assert (result.status, result.sample) == (RolloutStatus.SUCCESS, None)
    assert "no sample to grade" in str(graded.err_message)
    assert graded.err_category is RolloutErrorCategory.VALIDATION_ERROR


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (RuntimeError("boom"), "agent_error"),
        (ValueError("boom"), "validation_error"),
        (TypeError("boom"), "validation_error"),
        (AssertionError("boom"), "validation_error"),
        (TimeoutError("boom"), "timeout"),
        (SystemExit("boom"), "agent_error"),
        (asyncio.CancelledError("boom"), "agent_error"),
    ],
)
async def test_whatever_is_raised_fails_the_workflow_with_its_own_words(
    backends: Make, error: BaseException, category: str
) -> None:
    async def run(_: Any) -> Any:
        raise error

    result, graded = await executed(backends(run), request(agent_timeout_sec=60))
    assert (result.err_message, result.err_category, cause(result)) == ("boom", category, "workflow_failed")
    assert "test_backend.py" in str((result.extra_fields or {})["detail"])
    assert (graded.status, graded.err_message, graded.err_category) == (RolloutStatus.FAILURE, None, None)


async def test_an_error_in_the_constructor_is_a_failed_workflow(backends: Make) -> None:
    class Broken(AgentWorkflow[Any]):
        def __init__(self, config: Any = None) -> None:
            raise RuntimeError("no constructor")

        async def run(self, ctx: Any) -> Any: ...

    backend = LocalBackend(workflow=Broken)
    result = await worked(backend)
    backend.close()
    assert (result.err_message, cause(result)) == ("no constructor", "workflow_failed")


async def test_an_exit_in_a_task_of_the_workflow_does_not_end_the_others(backends: Make) -> None:
    async def leave() -> None:
        sys.exit(3)

    async def run(ctx: Any) -> Any:
        if ctx.metadata:
            await asyncio.gather(leave())
        return ANSWER

    backend = backends(run)
    left, other = await asyncio.gather(worked(backend, name="a", metadata={"x": 1}), worked(backend, name="b"))
    assert (cause(left), other.status) == ("workflow_failed", RolloutStatus.SUCCESS)


async def test_the_traceback_has_at_most_twelve_frames_of_the_users(backends: Make) -> None:
    async def run(_: Any) -> Any:
        def deep(level: int) -> None:
            if level == 0:
                raise RuntimeError("deep")
            # Both branches differ, so that Python does not fold equal lines.
            exec(f"deep({level} - 1)", {"deep": deep})

        deep(20)

    detail = (await worked(backends(run))).extra_fields["detail"]  # type: ignore[index]
    assert detail.count('File "') == 12
    assert "execution.py" not in detail


async def test_the_configuration_is_a_copy_that_workflow_and_context_share(backends: Make) -> None:
    seen: list[Any] = []

    class Counting(AgentWorkflow[AgentWorkflowConfig]):
        async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> Any:
            assert ctx.config is self.config
            assert ctx.config is not None
            ctx.config.description = "changed"
            seen.append(ctx.config)
            return ANSWER

    config = AgentWorkflowConfig(name="original")
    backend = LocalBackend(workflow=Counting, workflow_config=config)
    await worked(backend, name="a")
    await worked(backend, name="b")
    backend.close()
    assert config.description is None
    assert seen[0] is not seen[1]


async def test_the_graders_configuration_is_a_copy_too(backends: Make) -> None:
    class Changing(Grader):
        async def grade(self, ctx: GraderContext) -> Any:
            assert self.config is not None
            self.config.description = "changed"
            ctx.set_reward(1)

    config = GraderConfig(name="original")
    backend = LocalBackend(workflow=playing(answer), grader=Changing, grader_config=config)
    _, graded = await executed(backend, request())
    backend.close()
    assert (graded.status, config.description) == (RolloutStatus.SUCCESS, None)


async def test_a_configuration_that_cannot_be_copied_is_named(backends: Make) -> None:
    config = AgentWorkflowConfig.model_validate({"name": "stuck", "lock": threading.Lock()})
    result = await worked(backends(workflow_config=config))
    assert "'stuck'" in str(result.err_message)
    assert "cannot be copied" in str(result.err_message)


async def test_the_workflow_sees_its_row_and_the_ambient_context_in_its_tasks(backends: Make) -> None:
    async def address() -> str:
        context = get_rollout_context()
        assert context is not None
        return context.chat_completions_url

    async def run(ctx: Any) -> Any:
        url = await asyncio.create_task(address())
        in_thread = await asyncio.to_thread(get_rollout_context)
        assert in_thread is get_rollout_context()
        text = f"{url} {ctx.row_index} {ctx.trial} {ctx.seed} {ctx.metadata}"
        return [*ctx.prompt, {"role": "assistant", "content": text}]

    told = {"mesocosm": {"row": 7, "trial": 2, "seed": 99}}
    with RolloutContext(chat_completions_url="http://model/v1"):
        result = await worked(backends(run), metadata={"a": 1}, extra_fields=told)
    assert result.sample is not None
    assert [message["content"] for message in result.sample.messages] == ["2 + 2", "http://model/v1 7 2 99 {'a': 1}"]


async def test_without_an_ambient_context_the_environment_says_where_the_model_is(
    backends: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSMOSIS_CHAT_COMPLETIONS_URL", "http://environment/v1")

    async def run(_: Any) -> Any:
        context = get_rollout_context()
        assert context is not None
        return [{"role": "assistant", "content": context.chat_completions_url}]

    result = await worked(backends(run))
    assert result.sample is not None
    assert result.sample.messages[0]["content"] == "http://environment/v1"


async def test_the_grader_sees_its_row_and_the_judge(backends: Make) -> None:
    seen: list[Any] = []

    async def grade(ctx: GraderContext) -> Any:
        context = get_rollout_context()
        seen.extend([ctx.row_index, ctx.trial, ctx.seed, ctx.metadata, ctx.judge])
        seen.append(None if context is None else context.chat_completions_url)
        ctx.set_reward(1)

    judge = {"base_url": "http://judge/v1", "api_key": "k", "model": "m"}
    told = {"mesocosm": {"row": 7, "trial": 2, "seed": 99, "judge": judge}}
    backend = backends(answer, grade)
    await executed(backend, request(metadata={"a": 1}, extra_fields=told))
    assert seen[:4] == [7, 2, 99, {"a": 1}]
    assert (seen[4].base_url, seen[4].model, seen[5]) == ("http://judge/v1", "m", "http://judge/v1")
    seen.clear()
    await executed(backend, request())
    assert seen[4:] == [None, None]


async def test_files_go_to_the_folder_that_is_told_else_below_the_root(
    backends: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_OSMOSIS_ROLLOUT_ARTIFACT_ROOT", str(tmp_path / "root"))

    async def run(ctx: Any) -> Any:
        (ctx.artifacts_dir / "note.txt").write_text("kept")
        return ANSWER

    backend = backends(run)
    assert (await worked(backend, extra_fields={"mesocosm": {"artifacts": str(tmp_path / "told")}})).err_message is None
    assert (await worked(backend)).err_message is None
    assert (tmp_path / "told" / "note.txt").read_text() == "kept"
    assert (tmp_path / "root" / "r1" / "artifacts" / "note.txt").read_text() == "kept"


async def test_a_grader_that_raises_leaves_the_sample(backends: Make) -> None:
    async def grade(_: Any) -> Any:
        raise KeyError("answer")

    _, graded = await executed(backends(answer, grade), request())
    assert (graded.status, cause(graded)) == (RolloutStatus.FAILURE, "grader_error")
    assert graded.err_category is RolloutErrorCategory.AGENT_ERROR
    assert graded.sample is not None
    assert list(graded.sample.messages) == ANSWER


async def test_a_grader_that_sets_no_reward_failed(backends: Make) -> None:
    async def grade(ctx: GraderContext) -> Any:
        ctx.set_reward(None)
        return 1.0

    _, graded = await executed(backends(answer, grade), request())
    assert cause(graded) == "grader_error"
    assert "no reward" in str(graded.err_message)


async def test_a_removed_sample_needs_no_reward(backends: Make) -> None:
    async def grade(ctx: GraderContext) -> Any:
        assert ctx.sample is not None
        ctx.sample.remove_sample = True

    _, graded = await executed(backends(answer, grade), request())
    assert graded.status is RolloutStatus.SUCCESS
    assert graded.sample is not None
    assert graded.sample.remove_sample


async def test_a_sample_that_the_grader_put_in_place_is_reported(backends: Make) -> None:
    async def grade(ctx: GraderContext) -> Any:
        ctx.sample = RolloutSample(messages=[{"role": "assistant", "content": "other"}], reward=0.5)

    _, graded = await executed(backends(answer, grade), request())
    assert graded.sample is not None
    assert (graded.sample.messages[0]["content"], graded.sample.reward) == ("other", 0.5)


async def test_rewards_of_several_named_samples_are_averaged(backends: Make) -> None:
    async def run(_: Any) -> Any:
        context = get_rollout_context()
        assert context is not None
        for name in ("solver", "critic", "silent"):
            context.register_sample_source(name, Source(RolloutSample(messages=ANSWER, id=name)))

    async def grade(ctx: GraderContext) -> Any:
        ctx.set_sample_reward("solver", 1.0)
        ctx.set_sample_reward("critic", 0.5)
        ctx.set_score("style", 1)

    _, graded = await executed(backends(run, grade), request())
    assert graded.sample is not None
    assert graded.sample.reward == 0.75
    assert graded.sample.metrics == {"solver.reward": 1.0, "critic.reward": 0.5, "style": 1.0}


@pytest.mark.parametrize(
    ("row", "graded"),
    [
        ({"label": None}, False),
        ({"label": ""}, True),
        ({"label": None, "metadata": {}}, True),
    ],
)
async def test_a_row_is_graded_when_it_has_a_label_or_metadata(
    backends: Make, row: dict[str, Any], *, graded: bool
) -> None:
    _, result = await executed(backends(), request(**row))
    assert (result.status is RolloutStatus.SUCCESS) is graded
    assert result.err_message is None
    if not graded:
        assert "neither a label nor metadata" in (result.extra_fields or {})["ungraded"]


async def test_without_a_grader_the_grading_is_a_bare_failure(backends: Make) -> None:
    result, graded = await executed(backends(answer, None), request())
    assert result.status is RolloutStatus.SUCCESS
    assert (graded.status, graded.err_message, graded.err_category) == (RolloutStatus.FAILURE, None, None)


async def test_without_a_second_callback_nothing_is_graded(backends: Make) -> None:
    async def grade(_: Any) -> Any:
        raise AssertionError("graded all the same")

    results = []

    async def take(result: ExecutionResult) -> None:
        results.append(result)

    await backends(answer, grade).execute(request(), take)
    assert [result.status for result in results] == [RolloutStatus.SUCCESS]


async def test_messages_of_a_workflow_that_fails_are_reported(backends: Make) -> None:
    async def run(_: Any) -> Any:
        context = get_rollout_context()
        assert context is not None
        context.set_sample_source(Source(RolloutSample(messages=ANSWER)))
        raise RuntimeError("boom")

    result, graded = await executed(backends(run), request())
    for failed in (result, graded):
        assert failed.status is RolloutStatus.FAILURE
        assert failed.sample is not None
        assert list(failed.sample.messages) == ANSWER
    assert cause(graded) == "workflow_failed"


@pytest.mark.parametrize("slow", [True, False])
async def test_a_source_that_does_not_answer_adds_nothing_to_a_failure(backends: Make, *, slow: bool) -> None:
    class Stuck(SampleSource):
        async def get_sample(self) -> RolloutSample:
            if slow:
                await asyncio.Event().wait()
            raise RuntimeError("no sample")

    async def run(_: Any) -> Any:
        context = get_rollout_context()
        assert context is not None
        context.set_sample_source(Stuck())
        raise RuntimeError("boom")

    result = await worked(backends(run))
    assert (result.err_message, result.sample) == ("boom", None)


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
        ("mesocosm.rollouts.sdk.grader:Grader", TypeError),
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
