"""Runs on every executor, and what they need."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.engine.conftest import Lab
from tests.fork_server import FORKED
from tests.ray_cluster import RayCluster, processes_of_actors, ray_cluster
from tests.store.conftest import empty_postgres, postgres_schema

from mesocosm.core.backoff import Backoff
from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store
from mesocosm.testing.model_server import ModelServer

__all__ = ["empty_postgres", "postgres_schema"]

WORLDS = Path(__file__).with_name("worlds.py")
WALKER = f"{Path(__file__).parent.with_name('games.py')}:walker"

ON_RAY = "MESOCOSM_TEST_RAY" in os.environ
"""`make test-ray` runs the suite with actors of a cluster; the others have their turn in `make test`."""

collect_ignore = [] if ON_RAY else ["on_ray"]

QUEUE = pytest.param("queue", marks=pytest.mark.postgres)

REMOTE: list[Any] = ["ray:auto,actors=2"] if ON_RAY else ["processes:2", QUEUE]
"""Executors whose episodes are played in other processes."""

EXECUTORS = REMOTE if ON_RAY else ["local", *REMOTE]


@pytest.fixture(scope="session", autouse=True)
def cluster() -> Iterator[RayCluster | None]:
    """Start the cluster that the suite needs, if it does."""
    if not ON_RAY:
        yield None
        return
    pytest.importorskip("ray", reason="the package Ray is not installed")
    with ray_cluster() as started:
        yield started


class Notices(Observer):
    """What the user is told; `finished` is called after every episode with their number."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.done = 0
        self.finished: Callable[[int], None] = lambda done: None

    def episode_finished(self, episode: Episode) -> None:
        self.done += 1
        self.finished(self.done)

    def notice(self, message: str) -> None:
        self.all.append(message)

    def with_words(self, words: str) -> list[str]:
        return [message for message in self.all if words in message]


class Plays:
    """Runs of environments of worlds.py on one executor."""

    def __init__(self, lab: Any, executor: str, place: str, helpers: "Helpers | None" = None) -> None:
        self.lab = lab
        self.place = place
        self.helpers = helpers
        self.store = lab.store
        self.executor = executor
        self.notices = Notices()
        killed = "its process crashed or was killed" if executor.startswith("ray") else "it was ended by SIGKILL"
        self.killed = [killed, "it gives no sign of life"] if executor == "queue" else [killed]
        self.control = session.Control()

    def spec(
        self,
        world: str = "Brief",
        *,
        model: str = "builtin/random",
        count: int = 20,
        parallel: int = 4,
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        words: bool = False,
    ) -> RunSpec:
        """Return what to run; with `words` the agent passes the replies of the model to the environment as they are."""
        agent = AgentSettings(WALKER) if words else AgentSettings()
        ref = BenchmarkRef("python", f"{WORLDS}:{world}")
        return RunSpec(ref, ModelSettings(model), agent, Selection(count=count), limits, parallel)

    def options(self, **changes: Any) -> session.SessionOptions:
        """Return options of a session whose retries do not wait."""
        return replace(session.SessionOptions(backoff=Backoff(base=0.0), executor=self.executor), **changes)

    async def run(self, spec: RunSpec, **changes: Any) -> Run:
        """Run on the executor."""
        if self.helpers is not None:
            self.helpers.start()
        options = self.options(**changes)
        return await session.run(spec, self.store, [self.notices], control=self.control, settings=options)

    async def resume(self, run_id: str, **changes: Any) -> Run:
        """Resume on the executor."""
        return await session.resume(run_id, self.store, [self.notices], settings=self.options(**changes))

    def in_another_process(self, world: str, count: int, run_id: str = "") -> "subprocess.Popen[bytes]":
        """Start a run in a process of its own, or resume one."""
        script = Path(__file__).with_name("session_process.py")
        resumed = [run_id] if run_id else []
        return subprocess.Popen([sys.executable, str(script), self.place, self.executor, world, str(count), *resumed])

    def workers(self, pid: int = 0) -> set[int]:
        """Return the processes that play the episodes of a process (this one by default), by their ids."""
        if self.executor.startswith("ray"):
            return processes_of_actors()
        pid = pid or os.getpid()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # The process of the tests has other children too.
        return {int(child) for child in children if _is_worker(int(child))}

    def episodes(self, run: Run) -> list[Episode]:
        """Return the episodes of a run in the order of the plan."""
        found: list[Episode] = self.lab.episodes(run)
        return found

    def trace(self, episode: Episode) -> list[tuple[Kind, int]]:
        """Return kind and step of all events of an episode."""
        return [(event.kind, event.step) for event in self.store.traces.events(episode.id)]


def _is_worker(pid: int) -> bool:
    place = Path("/proc", str(pid))
    try:
        return b"executors" in (place / "cmdline").read_bytes() or (place / "comm").read_text().strip() == FORKED
    except OSError:
        return False


class Helpers:
    """Processes that help all runs of a database; one that ends is replaced, until `close`."""

    def __init__(self, url: str, count: int) -> None:
        self._url = url
        self._count = count
        self._over = threading.Event()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._thread = threading.Thread(target=self._watch)

    @property
    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [process.pid for process in self._processes]

    def start(self) -> None:
        """Start them with the variables of now, unless that was done."""
        if self._processes:
            return
        self._processes = [self._started() for _ in range(self._count)]
        for process in self._processes:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        self._thread.start()

    def close(self) -> None:
        """End them."""
        self._over.set()
        if self._processes:
            self._thread.join()
        for process in self._processes:
            process.kill()
            process.communicate()

    def _started(self) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "-m", "tests.engine.executors.helping", self._url]
        return subprocess.Popen(words, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            for place, process in enumerate(self._processes):
                if process.poll() is not None:
                    process.communicate()
                    self._processes[place] = self._started()


@contextmanager
def helped(url: str, count: int = 2) -> Iterator[tuple[Lab, Helpers]]:
    """Make a laboratory over a PostgreSQL database, with processes that help its runs."""
    store = open_store(url)
    laboratory, helpers = Lab(store), Helpers(url, count)
    try:
        yield laboratory, helpers
    finally:
        helpers.close()
        laboratory.close()
        store.close()


@contextmanager
def _plays(request: pytest.FixtureRequest, lab: Any, database: Path) -> Iterator[Plays]:
    if request.param != "queue":
        yield Plays(lab, request.param, str(database))
        return
    url = request.getfixturevalue("empty_postgres")()
    with helped(url) as (laboratory, helpers):
        yield Plays(laboratory, request.param, url, helpers)


@pytest.fixture(params=EXECUTORS)
def plays(request: pytest.FixtureRequest, lab: Any, database: Path) -> Iterator[Plays]:
    """Return runs on each executor in turn."""
    with _plays(request, lab, database) as found:
        yield found


@pytest.fixture(params=REMOTE)
def away(request: pytest.FixtureRequest, lab: Any, database: Path) -> Iterator[Plays]:
    """Return runs on each executor in turn that plays in other processes."""
    with _plays(request, lab, database) as found:
        yield found


@pytest.fixture
def here(lab: Any, database: Path) -> Plays:
    """Return runs in this process, to compare with."""
    return Plays(lab, "local", str(database))


@pytest.fixture
async def served() -> Any:
    """Return a model server that is stopped at the end."""
    server = ModelServer("left", keep=100)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def soon() -> Callable[[Any], Any]:
    """Return a function that awaits something, but not for ever."""
    return lambda work: asyncio.wait_for(work, 120)
