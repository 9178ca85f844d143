# mypy: ignore-errors
"""A loop of tools over the anthropic client."""

import os

import uvicorn
from anthropic import AsyncAnthropic
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowContext,
    AgentWorkflowOutput,
    Grader,
    GraderContext,
    LocalBackend,
    get_rollout_context,
)
from osmosis_ai.rollout.server import create_rollout_server

TOOLS = [
    {
        "name": "shelf",
        "description": "Where a book stands.",
        "input_schema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
    }
]


class Librarian(AgentWorkflow):
    async def run(self, ctx: AgentWorkflowContext) -> AgentWorkflowOutput:
        rollout = get_rollout_context()
        client = AsyncAnthropic(base_url=rollout.chat_completions_url.removesuffix("/v1"), api_key=rollout.api_key)
        system = " ".join(message["content"] for message in ctx.prompt if message["role"] == "system")
        messages = [message for message in ctx.prompt if message["role"] != "system"]
        calls = 0
        for _turn in range(4):
            reply = await client.messages.create(
                model="claude-of-mine", system=system, messages=messages, tools=TOOLS, max_tokens=200
            )
            messages.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
            uses = [block for block in reply.content if block.type == "tool_use"]
            if not uses:
                break
            calls += len(uses)
            results = [
                {"type": "tool_result", "tool_use_id": use.id, "content": f"{use.input['title']}: shelf 7"}
                for use in uses
            ]
            messages.append({"role": "user", "content": results})
        return AgentWorkflowOutput(messages=messages, metrics={"calls": calls})


class Said(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        text = "".join(block.get("text", "") for block in ctx.sample.messages[-1]["content"])
        ctx.set_reward(1.0 if ctx.label in text else 0.0)


backend = LocalBackend(workflow=Librarian, grader=Said)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))
