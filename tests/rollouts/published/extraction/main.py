# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, PERF401
"""Streams, calls tools in parallel, wants JSON by a schema, with a seed and log probabilities, by two clients."""

import asyncio
import json
import os

import httpx
import uvicorn
from openai import OpenAI
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowConfig,
    AgentWorkflowContext,
    AgentWorkflowOutput,
    Grader,
    GraderContext,
    LocalBackend,
    get_rollout_context,
)
from osmosis_ai.rollout.server import create_rollout_server

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Now.", "parameters": CITY}}]
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": CITY}}


def streamed(client, messages):
    """Put a streamed answer together."""
    text, calls, chunks, usage = "", {}, 0, None
    stream = client.chat.completions.create(
        model="gpt-of-mine",
        messages=messages,
        tools=TOOLS,
        parallel_tool_calls=True,
        stream=True,
        stream_options={"include_usage": True},
        seed=7,
        stop=["###"],
        presence_penalty=0.5,
        max_completion_tokens=300,
        user="someone",
    )
    for chunk in stream:
        chunks += 1
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = part.id or call["id"]
                call["name"] += part.function.name or ""
                call["arguments"] += part.function.arguments or ""
    return text, list(calls.values()), chunks, usage


class Extraction(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> AgentWorkflowOutput:
        rollout = get_rollout_context()
        client = OpenAI(base_url=rollout.chat_completions_url, api_key=rollout.api_key)
        messages = list(ctx.prompt)
        # The client blocks, so it is asked in a thread.
        text, calls, chunks, usage = await asyncio.to_thread(streamed, client, messages)
        asked = [{"id": c["id"], "type": "function", "function": {**c}} for c in calls]
        for one in asked:
            one["function"].pop("id")
        messages.append({"role": "assistant", "content": text or None, **({"tool_calls": asked} if asked else {})})
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "sunny " + call["arguments"]})
        body = {
            "model": "another",
            "messages": messages,
            "response_format": FORMAT,
            "seed": ctx.metadata["seed"],
            "logprobs": True,
            "top_logprobs": 2,
            "temperature": 0.3,
            "top_p": 0.9,
        }
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {rollout.api_key}"}, timeout=30) as raw:
            reply = await raw.post(f"{rollout.chat_completions_url}/chat/completions", json=body)
        reply.raise_for_status()
        messages.append(reply.json()["choices"][0]["message"])
        metrics = {"calls": len(calls), "streamed": float(chunks > 1), "counted": float(usage.total_tokens > 0)}
        return AgentWorkflowOutput(messages=messages, metrics=metrics)


class Parsed(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        try:
            ctx.set_reward(json.loads(ctx.sample.messages[-1]["content"])["city"] == ctx.label)
        except json.JSONDecodeError:
            ctx.set_reward(-1)


backend = LocalBackend(workflow=Extraction, workflow_config=AgentWorkflowConfig(name="extraction"), grader=Parsed)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))
