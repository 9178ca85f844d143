# mypy: ignore-errors
# ruff: noqa: ANN201, B007
"""An agent that keeps books: a loop of tool calls over several turns, with metrics and files."""

import json
import logging
import os
import time
from pathlib import Path

import uvicorn
from bookkeeping import TOOLS, Ledger
from openai import AsyncOpenAI
from osmosis_ai.rollout.agent_workflow import AgentWorkflow
from osmosis_ai.rollout.backend import LocalBackend
from osmosis_ai.rollout.context import AgentWorkflowContext, GraderContext, get_rollout_context
from osmosis_ai.rollout.grader import Grader
from osmosis_ai.rollout.server import create_rollout_server
from osmosis_ai.rollout.types import AgentWorkflowConfig, AgentWorkflowOutput, ConcurrencyConfig, GraderConfig
from reading import answer_of

logger = logging.getLogger(__name__)
SYSTEM = (Path(__file__).parent / "system.txt").read_text()


class LedgerConfig(AgentWorkflowConfig):
    opening: dict[str, int]
    max_turns: int = 6


class LedgerWorkflow(AgentWorkflow[LedgerConfig]):
    async def run(self, ctx: AgentWorkflowContext[LedgerConfig]) -> AgentWorkflowOutput:
        assert ctx.config is self.config
        rollout = get_rollout_context()
        client = AsyncOpenAI(base_url=rollout.chat_completions_url, api_key=rollout.api_key, max_retries=0)
        # The opening balances are this execution's own copy: changing them must harm no other row.
        ctx.config.opening["cash"] += 1
        ledger = Ledger(ctx.config.opening)
        messages = [{"role": "system", "content": SYSTEM}, *ctx.prompt]
        calls = errors = turns = 0
        started = time.perf_counter()
        for turns in range(1, self.config.max_turns + 1):
            reply = await client.chat.completions.create(
                model="osmosis-rollout", messages=messages, tools=TOOLS, tool_choice="auto", temperature=0.2
            )
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                calls += 1
                said = getattr(ledger, call.function.name)(**json.loads(call.function.arguments))
                errors += said.startswith("error")
                messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
        logger.info("done after %d turns, %.3f s", turns, time.perf_counter() - started)
        (ctx.artifacts_dir / "entries.json").write_text(json.dumps(ledger.entries))
        metrics = {"turns": turns, "tool_calls": calls, "tool_errors": errors, "cash": ledger.balances["cash"]}
        return AgentWorkflowOutput(messages=messages, metrics=metrics, info={"unit": self.config.currency})


class LedgerGrader(Grader):
    async def grade(self, ctx: GraderContext):
        entries = json.loads((ctx.artifacts_dir / "entries.json").read_text())
        ctx.sample.metrics["entries"] = len(entries)
        ctx.sample.extra_fields["answer"] = answer_of(ctx.sample.messages)
        right = answer_of(ctx.sample.messages) == int(ctx.label)
        ctx.set_reward(1.0 if right else self.config.consolation * (len(entries) > 0))


workflow_config = LedgerConfig(
    name="ledger",
    description="keeps books",
    currency="EUR",
    opening={"cash": 100, "bank": 900},
    concurrency=ConcurrencyConfig(max_concurrent=2),
)
backend = LocalBackend(
    workflow=LedgerWorkflow,
    workflow_config=workflow_config,
    grader=LedgerGrader,
    grader_config=GraderConfig(name="ledger-grader", consolation=0.25),
)
app = create_rollout_server(backend=backend)


def main():
    uvicorn.run(app, host="0.0.0.0", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))


if __name__ == "__main__":
    main()
