# mypy: ignore-errors
"""An agent of the OpenAI Agents SDK with function tools; its session becomes the sample."""

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
from osmosis_ai.rollout.integrations.agents.openai_agents import (
    OsmosisAgent,
    OsmosisMemorySession,
    OsmosisRolloutModel,
)
from osmosis_ai.rollout.server import create_rollout_server

from agents import ModelSettings, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)
ROOMS = {"101": "free", "102": "taken"}


@function_tool
def look_up(room: str) -> str:
    """Say whether a room is free."""
    return ROOMS.get(room, "unknown")


class Concierge(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> None:
        agent = OsmosisAgent(
            name="concierge",
            instructions="You answer guests.",
            tools=[look_up],
            model=OsmosisRolloutModel(),
            model_settings=ModelSettings(temperature=0.0, parallel_tool_calls=True),
        )
        session = OsmosisMemorySession()
        await Runner.run(agent, ctx.prompt[-1]["content"], session=session, max_turns=5)


class Said(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        last = ctx.sample.messages[-1]
        text = "".join(part["text"] for part in last["content"])
        calls = sum(item.get("type") == "function_call" for item in ctx.sample.messages)
        ctx.sample.metrics["calls"] = calls
        ctx.set_reward(float(ctx.label in text))


backend = LocalBackend(workflow=Concierge, workflow_config=AgentWorkflowConfig(name="concierge"), grader=Said)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))
