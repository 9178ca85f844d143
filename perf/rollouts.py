"""Rows per second of a rollout that does nothing, executed within this process."""

import asyncio
import time
from pathlib import Path
from typing import Any

from mesocosm.rollouts.inprocess import InProcessPlace
from mesocosm.rollouts.place import Access, Work
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig
from mesocosm.rollouts.sdk.context import AgentWorkflowContext, GraderContext
from mesocosm.rollouts.sdk.grader import Grader
from mesocosm.rollouts.sdk.sample import MessageDict
from mesocosm.rollouts.sdk.workflow import AgentWorkflow

AT_ONCE = 16


class Nothing(AgentWorkflow[AgentWorkflowConfig]):
    """Answers at once."""

    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> list[MessageDict]:
        """Return one message more."""
        return [*ctx.prompt, {"role": "assistant", "content": "4"}]


class Right(Grader):
    """Finds everything right."""

    async def grade(self, ctx: GraderContext) -> Any:
        """Set the reward."""
        ctx.set_reward(1.0)


def rollouts() -> None:
    """Print the rows per second of 1,000, 10,000 and 100,000 rows, 16 at once: place alone, without the engine."""
    for rows in (1_000, 10_000, 100_000):
        seconds = asyncio.run(_rows(rows))
        print(f"rollouts in process  {rows:>7} rows  {rows / seconds:8.0f} rows/s  {seconds / rows * 1e6:6.0f} µs/row")


async def _rows(rows: int) -> float:
    place = InProcessPlace.of(workflow=Nothing, grader=Right, workflow_config=AgentWorkflowConfig(name="nothing"))
    await place.open(print)
    numbers = iter(range(rows))

    async def worker() -> None:
        for number in numbers:
            ended = await place.run(_work(number), lambda *_: None)
            assert ended.graded

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    seconds = time.perf_counter() - started
    await place.close()
    return seconds


def _work(number: int) -> Work:
    return Work(
        id=f"row-{number}",
        prompt=[{"role": "user", "content": "What is 2 + 2?"}],
        label="4",
        metadata=None,
        row=number,
        trial=1,
        seed=number,
        model=Access("http://127.0.0.1:9/v1", "key", "nothing"),
        judge=None,
        artifacts=Path("artifacts"),
        workflow_seconds=450.0,
        grader_seconds=150.0,
    )
