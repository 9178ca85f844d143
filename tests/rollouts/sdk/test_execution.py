"""Executions: what is made of what workflows and graders do."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.rollouts.sdk.executing import (
    ANSWER,
    Make,
    Source,
    answer,
    cause,
    executed,
    playing,
    request,
    worked,
)

from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, GraderConfig
from mesocosm.rollouts.sdk.context import (
    AgentWorkflowContext,
    GraderContext,
    RolloutContext,
    SampleSource,
    get_rollout_context,
)
from mesocosm.rollouts.sdk.request import ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, AgentWorkflowOutput, Grader


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


async def test_functions_that_are_not_async_are_named_as_such(backends: Make) -> None:
    class Plain(AgentWorkflow[Any]):
        def run(self, ctx: Any) -> Any:
            return list(ctx.prompt)

    class Judge(Grader):
        def grade(self, ctx: Any) -> Any:
            ctx.set_reward(1.0)

    result = await worked(LocalBackend(workflow=Plain))
    assert cause(result) == "workflow_invalid"
    assert "`async def run(self, ctx)`" in str(result.err_message)
    _, graded = await executed(LocalBackend(workflow=playing(answer), grader=Judge), request())
    assert cause(graded) == "grader_error"
    assert "`async def grade(self, ctx)`" in str(graded.err_message)


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
    assert "test_execution.py" in str((result.extra_fields or {})["detail"])
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


async def test_the_traceback_has_at_most_twelve_frames_of_the_users(backends: Make) -> None:
    async def run(_: Any) -> Any:
        def deep(level: int) -> None:
            if level == 0:
                raise RuntimeError("deep")
            # Through exec, so that no two frames are the same line, which Python would fold.
            exec(f"deep({level} - 1)", {"deep": deep})

        deep(20)

    detail = (await worked(backends(run))).extra_fields["detail"]  # type: ignore[index]
    assert detail.count('File "') == 12
    assert "/sdk/execution.py" not in detail


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
