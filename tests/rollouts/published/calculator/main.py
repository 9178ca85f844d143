# mypy: ignore-errors
"""A rollout written for the published interface: a loop of tool calls over the openai client, metrics, a grader."""

import json
import os

import uvicorn
from openai import AsyncOpenAI
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowConfig,
    AgentWorkflowContext,
    AgentWorkflowOutput,
    ConcurrencyConfig,
    Grader,
    GraderConfig,
    GraderContext,
    LocalBackend,
    get_rollout_context,
)
from osmosis_ai.rollout.server import create_rollout_server

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        },
    }
]


class CalculatorConfig(AgentWorkflowConfig):
    max_turns: int = 4


class Calculator(AgentWorkflow[CalculatorConfig]):
    async def run(self, ctx: AgentWorkflowContext[CalculatorConfig]) -> AgentWorkflowOutput:
        rollout = get_rollout_context()
        messages = [dict(message) for message in ctx.prompt]
        calls = 0
        async with AsyncOpenAI(base_url=rollout.chat_completions_url, api_key=rollout.api_key) as client:
            for _turn in range(ctx.config.max_turns):
                reply = await client.chat.completions.create(model="any", messages=messages, tools=TOOLS)
                message = reply.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                if not message.tool_calls:
                    break
                for call in message.tool_calls:
                    calls += 1
                    given = json.loads(call.function.arguments)
                    total = str(given["a"] + given["b"])
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": total})
        if ctx.artifacts_dir is not None:
            (ctx.artifacts_dir / "calls.txt").write_text(str(calls))
        return AgentWorkflowOutput(messages=messages, metrics={"tool_calls": calls, "turns": len(messages)})


class Exact(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        answer = ctx.sample.messages[-1]["content"].strip()
        ctx.sample.metrics["answer_length"] = len(answer)
        ctx.set_reward(1.0 if answer == ctx.label else 0.0)


backend = LocalBackend(
    workflow=Calculator,
    workflow_config=CalculatorConfig(name="calculator", concurrency=ConcurrencyConfig(max_concurrent=8)),
    grader=Exact,
    grader_config=GraderConfig(name="exact"),
)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    port = int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", 8000))  # noqa: PLW1508
    uvicorn.run(app, host="127.0.0.1", port=port)
