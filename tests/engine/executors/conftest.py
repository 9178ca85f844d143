"""Runs on every executor, and what they need."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.backoff import Backoff
from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine import session

WORLDS = Path(__file__).with_name("worlds.py")
WALKER = f"{Path(__file__).parent.with_name('games.py')}:walker"

REMOTE = ["processes:2"]
"""Executors whose episodes are played in other processes."""

EXECUTORS = ["local", *REMOTE]


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
