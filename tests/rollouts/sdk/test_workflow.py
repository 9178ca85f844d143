"""Workflows: what may be derived, and what they may return."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from mesocosm.rollouts.sdk.config import AgentWorkflowConfig
from mesocosm.rollouts.sdk.context import AgentWorkflowContext, HarborAgentWorkflowContext
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, AgentWorkflowOutput, Grader


class Own(AgentWorkflowConfig):
    turns: int = 3


class Typed(AgentWorkflow[Own]):
    async def run(self, ctx: AgentWorkflowContext[Own]) -> list[dict[str, Any]]:
        assert ctx.config is not None
        return [{"role": "assistant", "content": str(ctx.config.turns)}]


async def test_a_workflow_may_be_derived_for_a_configuration_of_its_own() -> None:
    config = Own(name="own")
    workflow = Typed(config)
    assert workflow.config is config
    assert await workflow.run(AgentWorkflowContext([], config)) == [{"role": "assistant", "content": "3"}]


def test_without_a_run_or_grade_method_there_is_no_instance() -> None:
    with pytest.raises(TypeError, match="run"):
        AgentWorkflow()  # type: ignore[abstract]
    with pytest.raises(TypeError, match="grade"):
        Grader()  # type: ignore[abstract]


@pytest.mark.parametrize(
    "fields",
    [{"unknown": 1}, {"metrics": {"a": math.nan}}, {"metrics": {"a": "x"}}, {"messages": [1]}, {"messages": "text"}],
)
def test_an_output_of_another_form_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AgentWorkflowOutput.model_validate(fields)


def test_an_output_has_no_messages_unless_it_says_so() -> None:
    output = AgentWorkflowOutput()
    assert (output.messages, output.metrics, output.info) == (None, {}, {})


def test_a_context_has_no_row_unless_it_is_told() -> None:
    context: AgentWorkflowContext[Any] = AgentWorkflowContext([])
    assert (context.row_index, context.trial, context.seed, context.metadata) == (None, 0, 0, None)


def test_an_older_context_has_its_container() -> None:
    context: HarborAgentWorkflowContext[Any] = HarborAgentWorkflowContext([], None, "container")
    assert context.environment == "container"
