"""The rollout {{name}}: one question, one answer, and a reward for the right number.

    mesocosm eval run-local configs/eval/{{name}}.toml
"""

import os
import re

from mesocosm.rollouts import (
    AgentWorkflow,
    AgentWorkflowConfig,
    AgentWorkflowContext,
    AgentWorkflowOutput,
    Grader,
    GraderConfig,
    GraderContext,
    LocalBackend,
    complete,
    create_rollout_server,
)

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Workflow(AgentWorkflow[AgentWorkflowConfig]):
    """The agent. Add tools, turns or other agents as you like: the messages that it returns are the sample."""

    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> AgentWorkflowOutput:
        messages = list(ctx.prompt)
        # With openai among the dependencies in pyproject.toml, get_rollout_context().openai() is a client of it.
        answer = await complete(messages)
        messages.append(answer)
        words = len((answer.get("content") or "").split())
        return AgentWorkflowOutput(messages=messages, metrics={"words": words})


class LastNumber(Grader):
    """Grades 1 if the last number of the answer equals the one in the column ground_truth, else 0."""

    async def grade(self, ctx: GraderContext) -> None:
        content = str(ctx.sample.messages[-1].get("content") or "")
        numbers = NUMBER.findall(content.replace(",", ""))
        label = str(ctx.label).replace(",", "").strip()
        if not NUMBER.fullmatch(label):
            raise ValueError(f"the label {ctx.label!r} is not a number; write a grader that suits your data")
        right = bool(numbers) and float(numbers[-1]) == float(label)
        ctx.set_reward(1.0 if right else 0.0)


backend = LocalBackend(
    workflow=Workflow,
    workflow_config=AgentWorkflowConfig(name="{{name}}"),
    grader=LastNumber,
    grader_config=GraderConfig(name="last-number"),
)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))
