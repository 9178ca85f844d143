"""One run that is played alone, in two processes, and with a helper, alternating.

tests/with-postgres.sh python -m perf seats
python -m perf.seats PLACE EXECUTOR WORLD COUNT PARALLEL    one of them, as one JSON line
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import psycopg

from mesocosm.core.episode import Episode
from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.engine.executors.queue import help_run
from mesocosm.store import open_store
from perf.machine import ROOT

ROUNDS = 3
NAMES = ("local", "processes:2", "queue:1")


class Clock(Observer):
    """Time and processor time of this process from the first half of the episodes to the last one."""

    def __init__(self, count: int) -> None:
        self._from = count // 4
        self._done = 0
        self.first = self.last = (0.0, 0.0)

    def episode_finished(self, episode: Episode) -> None:
        """Note when."""
        self._done += 1
        self.last = (time.perf_counter(), time.process_time())
        if self._done == self._from:
            self.first = self.last


def play(place: str, executor: str, world: str, count: int, parallel: int) -> dict[str, Any]:
    """Run and return the figures of this process; the first quarter, in which helpers arrive, does not count."""
    clock, store = Clock(count), open_store(place)
    ref = BenchmarkRef("python", f"perf.noop:{world}")
    spec = RunSpec(ref, ModelSettings("noop/noop"), selection=Selection(count=count), parallel=parallel)
    run = asyncio.run(session.run(spec, store, [clock], settings=session.SessionOptions(executor=executor)))
    store.close()
    assert run.counts.completed == count, run
    seconds, cpu = (last - first for first, last in zip(clock.first, clock.last, strict=True))
    counted = count - count // 4
    return {"rate": counted / seconds, "driver_ms": 1000 * cpu / counted, "ran_on": run.ran_on}


async def _help(place: str) -> None:
    store = open_store(place, create=False)
    bell = store.seats.bell()
    while True:
        if (seat := await asyncio.to_thread(store.seats.take, "helper", 30.0)) is not None:
            await help_run(store.seats, seat)
        else:
            await asyncio.to_thread(bell.wait, 1.0)


@contextmanager
def _schema() -> Iterator[str]:
    url, name = os.environ["MESOCOSM_TEST_POSTGRES"], f"perf_{new_id().replace('-', '')}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        yield f"{url}?options={quote(f'-csearch_path={name}')}"
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def _figures(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "perf.seats", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert isinstance(found, dict)
    return found


def seats() -> None:
    """Print rates, and the processor time of the process of the run for each episode; the last column is to `local`."""
    if "MESOCOSM_TEST_POSTGRES" not in os.environ:
        print("  skipped: it needs PostgreSQL (tests/with-postgres.sh python -m perf seats)")
        return
    with _schema() as place:
        open_store(place).close()
        helper = subprocess.Popen([sys.executable, "-m", "perf.seats", place])
        try:
            for world, count, parallel in (("Busy", 2000, 8), ("OneStep", 10_000, 400)):
                found: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
                for _ in range(ROUNDS):
                    for name in NAMES:
                        figures = _figures(place, name, world, str(count), str(parallel))
                        found[name].append(figures)
                base = statistics.median(one["rate"] for one in found["local"])
                for name, listed in found.items():
                    rate = statistics.median(one["rate"] for one in listed)
                    cost = statistics.median(one["driver_ms"] for one in listed)
                    print(
                        f"  {world:<8} {name:<12} {rate:>9,.0f} episodes/s  session {cost:6.3f} ms each"
                        f"  {rate / base:5.2f} x"
                    )
        finally:
            helper.kill()
            helper.wait()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        asyncio.run(_help(sys.argv[1]))
    else:
        print(json.dumps(play(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))))
