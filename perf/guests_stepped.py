"""What a step in a guest costs above the library's own loop: processor time of both processes, in alternating rounds.

Needs MESOCOSM_TEST_GUESTS, a folder with `step/bin/python` that has Gymnasium.
"""

import asyncio
import os
import statistics
import subprocess
import time
from pathlib import Path

from mesocosm.core.run import BenchmarkRef
from mesocosm.core.task import Task
from mesocosm.guests.benchmark import open_guest
from mesocosm.guests.kinds import KINDS
from mesocosm.guests.stepped import SteppedGuest
from perf.guest_cost import interpreter

ENVIRONMENT = "CartPole-v1"
STEPS = 10_000
ROUNDS = 3
BUDGET_MS = 1.0
BARE = """
import gymnasium, time, sys
steps, episode = 0, 0
began = time.process_time()
while steps < int(sys.argv[2]):
    env = gymnasium.make(sys.argv[1])
    env.reset(seed=episode)
    episode += 1
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(steps % 2)
        steps += 1
        over = terminated or truncated
    env.close()
print((time.process_time() - began) / steps * 1000)
"""


def _bare() -> float:
    """Return milliseconds of processor time a step of the library's own loop."""
    command = [interpreter("step"), "-c", BARE, ENVIRONMENT, str(STEPS)]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def _processor_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def _play(benchmark: SteppedGuest) -> int:
    steps = episode = 0
    while steps < STEPS:
        environment = await benchmark.environment_of(Task(f"seed-{episode}", seed=episode), f"e{episode}", 0)
        await environment.reset()
        episode += 1
        over = False
        while not over:
            step = await environment.step(str(steps % 2))
            steps += 1
            over = step.terminated or step.truncated
        await environment.close()
    return steps


def _ours() -> float:
    """Return milliseconds of processor time a step, of this process and of the guest."""
    benchmark = open_guest(KINDS["gym"], BenchmarkRef("gym", ENVIRONMENT, {"python": interpreter("step")}))
    assert isinstance(benchmark, SteppedGuest)
    assert benchmark.contract.action is not None
    process = benchmark._started()._talk._process  # noqa: SLF001 -- there is no other way to its id
    assert process is not None
    before, own = _processor_s(process.pid), time.process_time()
    steps = asyncio.run(_play(benchmark))
    spent = _processor_s(process.pid) - before + time.process_time() - own
    asyncio.run(benchmark.close())
    return spent / steps * 1000


def main() -> None:
    """Print the cost of a step. Raises SystemExit if it is over the budget."""
    rounds = [(_bare(), _ours()) for _ in range(ROUNDS)]
    bare = statistics.median(one for one, _ in rounds)
    above = statistics.median(ours - one for one, ours in rounds)
    print(f"{ENVIRONMENT}, {STEPS:,} steps: its own loop {bare:.3f} ms a step, ours {above:.3f} ms above that")
    if above > BUDGET_MS:
        raise SystemExit(f"over the budget of {BUDGET_MS} ms")


if __name__ == "__main__":
    main()
