"""Rows per second of a rollout that does nothing, without the engine: in processes, sandboxed ones, and this one."""

import asyncio
import resource
import statistics
import tempfile
import time
from pathlib import Path

from mesocosm.rollouts.executor import ModelAccess, RolloutExecutor, RowJob
from mesocosm.rollouts.local import InProcessExecutor
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.rollouts.processes.sandboxed import WorkerSandbox
from mesocosm.sandboxes.bubblewrap import available
from perf.machine import line

AT_ONCE = 64
ROUNDS, COMPARED = 7, 5_000
BUDGET = 2_000.0
MAIN = """
from mesocosm.rollouts import AgentWorkflow, AgentWorkflowConfig, Grader, LocalBackend


class Nothing(AgentWorkflow):
    async def run(self, ctx):
        return [*ctx.prompt, {"role": "assistant", "content": "4"}]


class Right(Grader):
    async def grade(self, ctx):
        ctx.set_reward(1.0)


backend = LocalBackend(workflow=Nothing, grader=Right, workflow_config=AgentWorkflowConfig(name="nothing"))
"""


def rollouts() -> None:
    """Print the rows per second of 1,000, 10,000 and 100,000 rows, 64 at once, and the processor time of a row."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "main.py").write_text(MAIN)
        for rows in (1_000, 10_000, 100_000):
            _show("worker processes", rows, ProcessExecutor(folder, "main.py", environment={}, installs=folder))
        _compare(folder)
        _show("this process", 10_000, InProcessExecutor(folder, "main.py"))


def _compare(folder: Path) -> None:
    """Print the rates in worker processes with and without a sandbox, and their ratio; rounds alternate."""
    works = available()
    if not works:
        print(f"    rows in a sandbox: not measured, {works.reason}")
        return
    found: dict[str, list[float]] = {"plain": [], "sandboxed": []}
    for _ in range(ROUNDS):
        for kind, rates in found.items():
            sandbox = WorkerSandbox() if kind == "sandboxed" else None
            executor = ProcessExecutor(folder, "main.py", environment={}, installs=folder, sandbox=sandbox)
            rates.append(COMPARED / asyncio.run(_rows(COMPARED, executor)))
    plain, sandboxed = (statistics.median(rates) for rates in found.values())
    print(
        f"    {COMPARED:,} rows: {plain:,.0f} rows/s plainly, {sandboxed:,.0f} in a sandbox, {sandboxed / plain:.2f}×"
    )


def _show(where: str, rows: int, executor: RolloutExecutor) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    seconds = asyncio.run(_rows(rows, executor))
    after = resource.getrusage(resource.RUSAGE_SELF)
    line(f"rows of a rollout in {where}, {rows:,}", rows / seconds, "rows/s", BUDGET)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"    of which our own process computes {used / rows * 1e6:.0f} µs a row")


async def _rows(rows: int, executor: RolloutExecutor) -> float:
    await executor.open(print)
    numbers = iter(range(rows))

    async def play() -> None:
        for number in numbers:
            outcome = await executor.run(_job(number), lambda *_: None)
            assert outcome.graded

    started = time.perf_counter()
    await asyncio.gather(*(play() for _ in range(AT_ONCE)))
    seconds = time.perf_counter() - started
    await executor.close()
    return seconds


def _job(number: int) -> RowJob:
    return RowJob(
        id=f"row-{number}",
        prompt=[{"role": "user", "content": "What is 2 + 2?"}],
        label="4",
        metadata=None,
        row=number,
        trial=1,
        seed=number,
        model=ModelAccess("http://127.0.0.1:9/v1", "key", "nothing"),
        judge=None,
        artifacts=Path("artifacts"),
        workflow_seconds=450.0,
        grader_seconds=150.0,
    )
