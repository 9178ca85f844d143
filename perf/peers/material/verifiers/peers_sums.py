"""The work as a taskset of verifiers, and a harness that asks in the runner's process.

The harness `null` of the package starts a Python process for each row; this one is what a fast workflow would be.
"""

import json
from pathlib import Path

import verifiers.v1 as vf
from openai import AsyncOpenAI
from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.harness import Harness
from verifiers.v1.runtimes import ProgramResult


class SumData(vf.TaskData):
    """One question."""

    answer: str


class SumTask(vf.Task[SumData]):
    """Asked once; the answer has to be the number."""

    @vf.stop
    async def single_turn(self, trace: vf.Trace) -> bool:
        """End after the first answer."""
        return trace.num_turns >= 1

    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        """Return 1 for the right number."""
        reply = trace.assistant_messages[-1].content if trace.assistant_messages else ""
        return float((reply or "").strip() == self.data.answer)


class SumsConfig(vf.TasksetConfig):
    """Where the questions are."""

    rows: str = "rows.jsonl"


class Sums(vf.Taskset[SumTask, SumsConfig]):
    """All questions of a file."""

    def load(self) -> list[SumTask]:
        """Read the questions."""
        rows = [json.loads(line) for line in Path(self.config.rows).read_text().splitlines()]
        return [
            SumTask(SumData(idx=n, prompt=row["question"], answer=row["answer"]), self.config.task)
            for n, row in enumerate(rows)
        ]


class OnceConfig(HarnessConfig):
    """Nothing to decide."""


class Once(Harness[OnceConfig]):
    """Asks the question once, with a client for each row."""

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data) -> ProgramResult:
        """Ask."""
        _, prompt = self.resolve_text_prompt(data)
        async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            messages = [{"role": "user", "content": prompt}]
            await client.chat.completions.create(model=ctx.model, messages=messages)
        return ProgramResult(0, "", "")


__all__ = ["Once", "Sums"]
