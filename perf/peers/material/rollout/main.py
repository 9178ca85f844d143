"""The work as a rollout of osmosis-ai, the same file for both runners: a client for each row, as most rollouts have."""

import os

from openai import AsyncOpenAI
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowConfig,
    AgentWorkflowContext,
    AgentWorkflowOutput,
    Grader,
    GraderConfig,
    GraderContext,
    LocalBackend,
    get_rollout_context,
)
from osmosis_ai.rollout.server import create_rollout_server


class Once(AgentWorkflow[AgentWorkflowConfig]):
    """Asks the question once."""

    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> AgentWorkflowOutput:
        """Ask."""
        rollout = get_rollout_context()
        async with AsyncOpenAI(base_url=rollout.chat_completions_url, api_key=rollout.api_key) as client:
            reply = await client.chat.completions.create(model="loopback", messages=ctx.prompt)
        said = reply.choices[0].message.content
        return AgentWorkflowOutput(messages=[*ctx.prompt, {"role": "assistant", "content": said}])


class Same(Grader):
    """Wants the number."""

    async def grade(self, ctx: GraderContext) -> None:
        """Set 1 for the right number."""
        ctx.set_reward(float(ctx.sample.messages[-1]["content"].strip() == ctx.label))


backend = LocalBackend(
    workflow=Once,
    workflow_config=AgentWorkflowConfig(name="once"),
    grader=Same,
    grader_config=GraderConfig(name="same"),
)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["_OSMOSIS_ROLLOUT_PORT"]), log_level="warning")
