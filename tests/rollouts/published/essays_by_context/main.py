# mypy: ignore-errors
"""Rows are metadata alone; the run's own judge judges."""

import os
import re

import uvicorn
from openai import AsyncOpenAI
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowConfig,
    AgentWorkflowContext,
    Grader,
    GraderConfig,
    GraderContext,
    LocalBackend,
    get_rollout_context,
)
from osmosis_ai.rollout.server import create_rollout_server


class Write(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> list:
        assert ctx.prompt == []
        rollout = get_rollout_context()
        task = {"role": "user", "content": f"Write about {ctx.metadata['topic']}. {ctx.metadata['script']['writer']}"}
        async with AsyncOpenAI(base_url=rollout.chat_completions_url, api_key=rollout.api_key) as client:
            reply = await client.chat.completions.create(model=self.config.model, messages=[task])
        return [task, reply.choices[0].message.model_dump(exclude_none=True)]


class Judged(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        question = f"{self.config.rubric}\n{ctx.sample.messages[-1]['content']}\n{ctx.metadata['script']['judge']}"
        said = await ctx.judge.ask(question)
        score = re.search(r"SCORE (\d+)", said)
        if score is None:
            ctx.sample.remove_sample = True
            return
        ctx.sample.metrics["raw"] = int(score.group(1))
        ctx.set_reward(int(score.group(1)) / 10)


backend = LocalBackend(
    workflow=Write,
    workflow_config=AgentWorkflowConfig(name="write", model="writer"),
    grader=Judged,
    grader_config=GraderConfig(name="judged", rubric="Is it clear? From 0 to 10."),
)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))
