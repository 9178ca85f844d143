"""Executors side by side: the same episodes in one process, in two processes, and by two actors of Ray.

python -m perf executors
python -m perf.executors EXECUTOR WORLD COUNT PARALLEL    one of them, as one JSON line
"""

import asyncio
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import perf.noop
from mesocosm.core.episode import Episode
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.environments.sdk import StepResult
from mesocosm.store import open_store
from perf.machine import unpinned

ROUNDS = 3
NAMES = ("local", "processes:2", "ray:local,actors=2")
WAIT_S = float(os.environ.get("MESOCOSM_PERF_WAIT", "60"))


class Waiting(perf.noop.OneStep):
    """An episode that waits as for a model."""

    async def step(self, action: Any) -> StepResult:
        """Wait."""
        await asyncio.sleep(WAIT_S)
        return super().step(action)


class Clock(Observer):
    """Time, processor time and memory of this process from the first finished episode to the last one."""

    def __init__(self) -> None:
        self.done = 0
        self.progress: Progress | None = None
        self.running = 0
        self.first = self.last = (0.0, 0.0)
        self.memory: list[tuple[int, int]] = []

    def run_started(self, progress: Progress) -> None:
        """Keep what says how many episodes are in progress."""
        self.progress = progress

    def episode_finished(self, episode: Episode) -> None:
        """Note when."""
        self.done += 1
        if self.done == 1 or self.done % 1000 == 0:
            self.memory.append((self.done, _resident_mib()))
            self.running = max(self.running, self.progress.running if self.progress is not None else 0)
        self.last = (time.perf_counter(), time.process_time())
        if self.done == 1:
            self.first = self.last


def _resident_mib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def play(executor: str, world: str, count: int, parallel: int) -> dict[str, Any]:
    """Run and return the figures of this process, which writes the store."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as place:
        store = open_store(Path(place) / "orchestrator.sqlite")
        ref = BenchmarkRef("python", f"{'perf.executors' if world == 'Waiting' else 'perf.noop'}:{world}")
        spec = RunSpec(ref, ModelSettings("noop/noop"), selection=Selection(count=count), parallel=parallel)
        run = asyncio.run(session.run(spec, store, [clock], settings=session.SessionOptions(executor=executor)))
        size = sum(path.stat().st_size for path in Path(place).iterdir())
        store.close()
    assert run.counts.completed == count, run
    seconds, cpu = (last - first for first, last in zip(clock.first, clock.last, strict=True))
    return {
        "rate": (count - 1) / seconds,
        "driver_ms": 1000 * cpu / count,
        "bytes": size / count,
        "running": clock.running,
        "memory": [clock.memory[0], clock.memory[len(clock.memory) // 4], clock.memory[-1]],
        "workers_cpu": sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]),
    }


def executors() -> None:
    """Rates and the session's processor time for each episode, alternating; the last column compares with `local`."""
    for world, count, parallel in (("Busy", 2000, 8), ("OneStep", 20_000, 400)):
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
        for _ in range(ROUNDS):
            for name in NAMES:
                found[name].append(unpinned("perf.executors", name, world, str(count), str(parallel)))
        base = statistics.median(one["rate"] for one in found["local"])
        for name, figures in found.items():
            rate = statistics.median(one["rate"] for one in figures)
            cost = statistics.median(one["driver_ms"] for one in figures)
            print(
                f"  {world:<8} {name:<20} {rate:>9,.0f} episodes/s  session {cost:6.3f} ms each  {rate / base:5.2f} x"
            )


def waiting() -> None:
    """50,000 episodes at once that wait, over four actors."""
    figures = unpinned("perf.executors", "ray:local,actors=4", "Waiting", "50000", "50000")
    print(f"  waiting episodes in progress at most: {figures['running']:,}, session {figures['driver_ms']:.3f} ms each")


def memory() -> None:
    """Memory of the session over 1,000,000 episodes that do nothing."""
    figures = unpinned("perf.executors", "ray:local,actors=2", "OneStep", "1000000", "400")
    print("  memory of the session: " + ", ".join(f"{mib} MiB at {done:,}" for done, mib in figures["memory"]))


if __name__ == "__main__":
    print(json.dumps(play(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
