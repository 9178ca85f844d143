"""Everything that takes part in a run is killed at random moments, and the run is what it is in one process.

MESOCOSM_TEST_KILLS says how many kills: a few in the suite, a hundred in `make test-kills`.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from tests.engine.executors.conftest import ON_RAY, REMOTE, Plays, helped
from tests.ray_cluster import RayCluster
from tests.store.conftest import own_schema
from tests.store.test_store_faults import Server

from mesocosm.core.episode import FINISHED
from mesocosm.core.run import Run, RunStatus

KILLS = int(os.environ.get("MESOCOSM_TEST_KILLS", "6"))
COUNT = (1000 if ON_RAY else 400) * KILLS
"""Episodes: so many that a run is not over before its last kill. A node takes seconds to end."""
MOST_BETWEEN = 300
START_S = 120.0


class Killer:
    """Kills what takes part in a run: its session, workers, nodes and the server of its database."""

    def __init__(self, plays: Plays, server: Server, cluster: RayCluster | None, seed: int) -> None:
        self.kinds = Counter[str]()
        self._plays = plays
        self._server = server
        self._cluster = cluster
        self._random = random.Random(seed)
        self._session = plays.in_another_process("Paced", COUNT)

    async def kill_all(self) -> Run:
        """Kill KILLS times, each after a random number of episodes; let the run end, and return it."""
        target = 0
        for kind in self._kinds():
            target = max(target, self._done()) + self._random.randint(20, MOST_BETWEEN)
            await self._until(lambda: self._done() >= target)  # noqa: B023
            await self._kill(kind)
        async with asyncio.timeout(START_S + COUNT / 100):
            assert await asyncio.to_thread(self._session.wait) == 0
        run: Run = self._plays.lab.only_run()
        return run

    def close(self) -> None:
        """End the session."""
        self._session.kill()
        self._session.wait()

    def _kinds(self) -> list[str]:
        """Return what to kill, in no order: of each kind some."""
        on_nodes = [] if self._cluster is None else ["node"]
        found = list(islice(cycle(["session", "worker", "database", *on_nodes, "worker"]), KILLS))
        self._random.shuffle(found)
        return found

    def _done(self) -> int:
        return sum(run.counts.done for run in self._plays.store.runs.list().items)

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(START_S):
            while not await asyncio.to_thread(condition):
                assert self._session.poll() is None, "the session has ended early"

    async def _kill(self, kind: str) -> None:
        self.kinds[kind] += 1
        if kind == "session":
            self._session.kill()
            self._session.wait()
            self._session = self._plays.in_another_process("Paced", COUNT, self._plays.lab.only_run().id)
        elif kind == "worker":
            await self._until(self._kill_worker)
        elif kind == "node":
            assert self._cluster is not None
            self._cluster.add()
            self._cluster.remove(self._cluster.nodes[self._random.randrange(2)])
        else:
            await asyncio.to_thread(self._server.call, "restart")

    def _kill_worker(self) -> bool:
        """Kill a worker; return whether there was one."""
        try:
            os.kill(self._random.choice(self._workers()), signal.SIGKILL)
        except (IndexError, ProcessLookupError):
            return False
        return True

    def _workers(self) -> list[int]:
        if self._plays.helpers is not None:
            return self._plays.helpers.pids
        return sorted(self._plays.workers(self._session.pid))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A PostgreSQL server of our own."""
    with own_schema():  # skips where there is none
        directory = Path(os.environ.get("TMPDIR", "/tmp")) / f"mesocosm-kills-{os.getpid()}"
        started = Server(directory)
        yield started
        started.call("stop")


@pytest.mark.postgres
@pytest.mark.parametrize("executor", REMOTE)
async def test_after_kills_of_everything_nothing_is_lost_nothing_is_twice_and_the_numbers_are_the_same(
    executor: str, server: Server, here: Any, cluster: RayCluster | None
) -> None:
    with ExitStack() as stack:
        lab, helpers = stack.enter_context(helped(server.url))
        plays = Plays(lab, executor, server.url, helpers if executor == "queue" else None)
        if plays.helpers is not None:
            plays.helpers.start()
        killer = Killer(plays, server, cluster, seed=KILLS)
        stack.callback(killer.close)
        run = await killer.kill_all()
        print(f"{executor}: killed {dict(killer.kinds)}")

        assert (run.status, run.counts.done) == (RunStatus.FINISHED, COUNT)
        keys = Counter(one.key for one in plays.episodes(run) if one.status in FINISHED)
        assert (len(keys), set(keys.values())) == (COUNT, {1})
        assert plays.store.verification.check_run(run.id).damages == ()
    local = await here.run(here.spec("Paced", count=COUNT, parallel=100))
    assert run.metrics == local.metrics
