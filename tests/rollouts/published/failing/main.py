# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ASYNC251
"""Everything that goes wrong in rollouts, each when its row asks for it."""

import asyncio
import os
import time

import uvicorn
from osmosis_ai.rollout import AgentWorkflow, AgentWorkflowOutput, Grader, LocalBackend, RolloutSample
from osmosis_ai.rollout.server import create_rollout_server


class Failing(AgentWorkflow):
    async def run(self, ctx):
        does = ctx.metadata["does"]
        said = [*ctx.prompt, {"role": "assistant", "content": does}]
        if does == "raise":
            raise KeyError("no such tool")
        if does == "raise timeout":
            raise TimeoutError("the page did not load")
        if does == "return dict":
            return {"messages": said}
        if does == "return nothing":
            return None
        if does == "return nan":
            return AgentWorkflowOutput(messages=said, metrics={"loss": float("nan")})
        if does == "hang":
            await asyncio.sleep(3600)
        if does == "block":
            time.sleep(0.6)
        if does == "no messages":
            return []
        return said


class Judge(Grader):
    async def grade(self, ctx):
        does = ctx.metadata["does"]
        if does == "grader raises":
            raise ValueError("the reference is broken")
        if does == "grader hangs":
            await asyncio.sleep(3600)
        if does == "leave out":
            ctx.sample.remove_sample = True
            return
        if does == "no reward":
            return
        if does == "reward text":
            ctx.set_reward("much")
        if does == "replace":
            ctx.sample = RolloutSample(messages=ctx.sample.messages, metrics={"replaced": True})
        ctx.set_reward("0.5" if does == "reward as text" else len(ctx.sample.messages) > 1)


app = create_rollout_server(backend=LocalBackend(workflow="main:Failing", grader=Judge))

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", 8000)))  # noqa: PLW1508
