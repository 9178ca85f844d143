# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN204
"""Two speakers, each a sample source with a name: a rollout as they were before 0.3."""

import os

import uvicorn
from openai import AsyncOpenAI
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowConfig,
    AgentWorkflowContext,
    ConcurrencyConfig,
    Grader,
    GraderConfig,
    GraderContext,
    LocalBackend,
    MultiTurnMode,
    RolloutSample,
    create_rollout_server,
    get_rollout_context,
)
from osmosis_ai.rollout.context import SampleSource

MODE = MultiTurnMode.MULTI_SAMPLE


class Speaker(SampleSource):
    def __init__(self, name, opening):
        self.name = name
        self.messages = list(opening)
        get_rollout_context().register_sample_source(name, self)

    async def speak(self, client, question):
        self.messages.append({"role": "user", "content": question})
        headers = {"x-rollout-id": get_rollout_context().rollout_id, "x-sample-id": self.name}
        reply = await client.chat.completions.create(model="any", messages=self.messages, extra_headers=headers)
        self.messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        return reply.choices[0].message.content

    async def get_sample(self, name: str) -> RolloutSample:
        return RolloutSample(id=name, messages=self.messages, metrics={"messages": len(self.messages)})


class Debate(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> None:
        rollout = get_rollout_context()
        client = AsyncOpenAI(base_url=rollout.chat_completions_url, api_key=rollout.api_key)
        first, second = Speaker("for", []), Speaker("against", [])
        question = ctx.prompt[-1]["content"]
        for_it, against_it = question.split("|")
        await first.speak(client, for_it)
        await second.speak(client, against_it)


class Points(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        assert set(ctx.get_samples()) == set(ctx.samples) == {"for", "against"}
        for name, sample in ctx.get_samples().items():
            ctx.set_sample_reward(name, 1.0 if ctx.label in sample.messages[-1]["content"] else 0.0)


backend = LocalBackend(
    workflow=Debate,
    workflow_config=AgentWorkflowConfig(name="debate", concurrency=ConcurrencyConfig(max_concurrent=4)),
    grader=Points,
    grader_config=GraderConfig(name="points"),
)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    port = os.environ.get("ROLLOUT_PORT") or os.environ.get("_OSMOSIS_ROLLOUT_PORT") or "9000"
    uvicorn.run(app, host="0.0.0.0", port=int(port))
