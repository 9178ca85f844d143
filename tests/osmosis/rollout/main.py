# mypy: ignore-errors
"""A rollout for `osmosis-ai`: asks the model once, leaves a file behind, and grades the answer.

With a secret whose name begins with `ACC_` it asks what the model does not answer before it is released, so that a run
is still going on when it is to be stopped.
"""

import asyncio
import json
import os
import urllib.request
from typing import Any

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


def ask(address: str, key: str, messages: list[dict[str, Any]]) -> str:
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    body = json.dumps({"model": "any", "messages": messages}).encode()
    request = urllib.request.Request(f"{address}/chat/completions", body, headers)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())["choices"][0]["message"]["content"]


class Once(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> AgentWorkflowOutput:
        rollout = get_rollout_context()
        messages = list(ctx.prompt)
        if any(name.startswith("ACC_") for name in os.environ):
            messages = [{"role": "user", "content": "hold on"}]
        print("asks the model", flush=True)
        said = await asyncio.to_thread(ask, rollout.chat_completions_url, rollout.api_key, messages)
        if ctx.artifacts_dir is not None:
            (ctx.artifacts_dir / "said.txt").write_text(said)
        return AgentWorkflowOutput(messages=[*messages, {"role": "assistant", "content": said}])


class Same(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        ctx.set_reward(1.0 if ctx.sample.messages[-1]["content"].strip() == ctx.label else 0.0)


backend = LocalBackend(
    workflow=Once,
    workflow_config=AgentWorkflowConfig(name="once"),
    grader=Same,
    grader_config=GraderConfig(name="same"),
)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))
