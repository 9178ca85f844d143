"""Runs on every executor, and what they need."""

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.ray_cluster import RayCluster, processes_of_actors, ray_cluster

from mesocosm.core.backoff import Backoff
from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine import session

WORLDS = Path(__file__).with_name("worlds.py")
WALKER = f"{Path(__file__).parent.with_name('games.py')}:walker"

ON_RAY = "MESOCOSM_TEST_RAY" in os.environ
"""`make test-ray` runs the suite with actors of a cluster; the others have their turn in `make test`."""

collect_ignore = [] if ON_RAY else ["on_ray"]

REMOTE = ["ray:auto,actors=2"] if ON_RAY else ["processes:2"]
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

    def __init__(self, lab: Any, executor: str) -> None:
        self.lab = lab
        self.store = lab.store
        self.executor = executor
        self.notices = Notices()
        self.killed = "its process crashed or was killed" if executor.startswith("ray") else "it was ended by SIGKILL"
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
        options = self.options(**changes)
        return await session.run(spec, self.store, [self.notices], control=self.control, settings=options)

    async def resume(self, run_id: str, **changes: Any) -> Run:
        """Resume on the executor."""
        return await session.resume(run_id, self.store, [self.notices], settings=self.options(**changes))

    def workers(self, pid: int = 0) -> set[int]:
        """Return the processes that play the episodes of a process (this one by default), by their ids."""
        if self.executor.startswith("ray"):
            return processes_of_actors()
        pid = pid or os.getpid()
        return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}

    def episodes(self, run: Run) -> list[Episode]:
        """Return the episodes of a run in the order of the plan."""
        found: list[Episode] = self.lab.episodes(run)
        return found

    def trace(self, episode: Episode) -> list[tuple[Kind, int]]:
        """Return kind and step of all events of an episode."""
        return [(event.kind, event.step) for event in self.store.traces.events(episode.id)]


@pytest.fixture(params=EXECUTORS)
def plays(request: pytest.FixtureRequest, lab: Any) -> Plays:
    """Return runs on each executor in turn."""
    return Plays(lab, request.param)


@pytest.fixture(params=REMOTE)
def away(request: pytest.FixtureRequest, lab: Any) -> Plays:
    """Return runs on each executor in turn that plays in other processes."""
    return Plays(lab, request.param)


@pytest.fixture
def here(lab: Any) -> Plays:
    """Return runs in this process, to compare with."""
    return Plays(lab, "local")


@pytest.fixture
def soon() -> Callable[[Any], Any]:
    """Return a function that awaits something, but not for ever."""
    return lambda work: asyncio.wait_for(work, 120)
