# mypy: ignore-errors
"""A Strands agent with tools; the agent itself becomes the sample."""

import os

import uvicorn
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowConfig,
    AgentWorkflowContext,
    Grader,
    GraderContext,
    LocalBackend,
)
from osmosis_ai.rollout.integrations.agents.strands import OsmosisRolloutModel, OsmosisStrandsAgent
from osmosis_ai.rollout.server import create_rollout_server
from strands import tool

ROOMS = {"101": "free", "102": "taken"}
MODEL = OsmosisRolloutModel(params={"temperature": 0.1, "max_tokens": 200})


@tool
def look_up(room: str) -> str:
    """Say whether a room is free.

    Args:
        room: Its number.
    """
    return ROOMS.get(room, "unknown")


class Reception(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> None:
        *before, question = ctx.prompt
        agent = OsmosisStrandsAgent(
            model=MODEL,
            tools=[look_up],
            system_prompt="You answer guests.",
            messages=[message for message in before if message["role"] != "system"],
            callback_handler=None,
        )
        await agent.invoke_async(question["content"])


class Said(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        blocks = [block for message in ctx.sample.messages for block in message["content"]]
        text = "".join(block.get("text", "") for block in ctx.sample.messages[-1]["content"])
        ctx.sample.metrics["calls"] = sum("toolUse" in block for block in blocks)
        ctx.set_reward(float(ctx.label in text))


backend = LocalBackend(workflow=Reception, workflow_config=AgentWorkflowConfig(name="reception"), grader=Said)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))
