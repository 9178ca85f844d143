# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN204
"""No server and no backend: whoever runs this finds the workflow, the grader and their configs."""

from openai import AsyncOpenAI
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowConfig,
    AgentWorkflowContext,
    Grader,
    GraderConfig,
    GraderContext,
    RolloutSample,
    get_rollout_context,
)
from osmosis_ai.rollout.context import SampleSource


class Base(AgentWorkflow[AgentWorkflowConfig]):
    """What several workflows of this author have in common; not itself a workflow."""

    async def ask(self, messages):
        rollout = get_rollout_context()
        client = AsyncOpenAI(base_url=rollout.chat_completions_url, api_key=rollout.api_key or "none")
        reply = await client.chat.completions.create(model=self.config.model, messages=messages)
        return reply.choices[0].message.content


class Kept(SampleSource):
    def __init__(self, messages):
        self.messages = messages

    async def get_sample(self, name):
        return RolloutSample(id=name, messages=self.messages)


class Quiz(Base):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> None:
        messages = list(ctx.prompt)
        get_rollout_context().register_sample_source("main", Kept(messages))
        messages.append({"role": "assistant", "content": await self.ask(ctx.prompt)})


class Exact(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        for name, sample in ctx.samples.items():
            ctx.set_sample_reward(name, float(sample.messages[-1]["content"] == ctx.label) * self.config.points)


workflow_config = AgentWorkflowConfig(name="quiz", model="small")
grader_config = GraderConfig(name="exact", points=2)
