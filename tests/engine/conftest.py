"""A laboratory: a store, fake models, agents and benchmarks by name, and runs of them by the public entry points."""

import asyncio
import inspect
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from mesocosm.core.backoff import Backoff
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Failure
from mesocosm.core.ids import new_id
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Benchmark, Context, Observer
from mesocosm.core.registry import AGENTS, MODELS, SOURCES, Registry, import_reference
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.core.usage import Usage
from mesocosm.engine import session
from mesocosm.store import Store, open_store

GAMES = Path(__file__).with_name("games.py")

Said = str | ModelReply
Saying = Callable[[ModelRequest], Said | Awaitable[Said]]


class FakeModel:
    """Says what it is told to: by step of the episode, the last for ever; exceptions are raised, functions asked."""

    def __init__(self, said: Sequence[Said | Exception | Saying], checked: Exception | None, content: str) -> None:
        self.capabilities = Capabilities(content=content)
        self.said = said
        self.checked = checked
        self.calls = 0
        self.closed = False

    async def check(self) -> None:
        if self.checked is not None:
            raise self.checked

    async def ask(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        assert request.view is not None
        said = self.said[min(request.view.step, len(self.said) - 1)]
        if isinstance(said, Exception):
            raise said
        answer = said(request) if callable(said) else said
        text = await answer if inspect.isawaitable(answer) else answer
        return ModelReply(text, usage=Usage(7, 3, calls=1), model="fake") if isinstance(text, str) else text

    async def close(self) -> None:
        self.closed = True


class FakeAgent:
    """Plays by one function."""

    def __init__(self, play: Callable[[Context], Awaitable[None]]) -> None:
        self._play = play

    async def play(self, context: Context) -> None:
        await self._play(context)


class Lab:
    """Puts runs together. Everything registered goes away at the end of the test."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.models: dict[str, FakeModel] = {}
        self._registered: list[tuple[Registry, str]] = []

    def model(self, *said: Said | Exception | Saying, checked: Exception | None = None, content: str = "") -> str:
        """Register a model and return its name; the object is in `models`."""
        name = self._register(MODELS, lambda settings: self.models[f"{name}/m"])
        self.models[f"{name}/m"] = FakeModel(said or ("end",), checked, content)
        return f"{name}/m"

    def name(self, provider: str, model: str) -> None:
        """Let a registered model answer for another provider as well."""
        MODELS.register(provider)(lambda settings: self.models[model])
        self._registered.append((MODELS, provider))

    def agent(self, play: Callable[[Context], Awaitable[None]]) -> str:
        """Register an agent that plays by `play` and return its name."""
        return self._register(AGENTS, lambda options: FakeAgent(play))

    def benchmark(self, benchmark: Benchmark) -> BenchmarkRef:
        """Register a benchmark and return where to find it."""
        return BenchmarkRef(self._register(SOURCES, lambda ref: benchmark), "")

    def world(self, name: str) -> Any:
        """Return an environment class of games.py."""
        return import_reference(f"{GAMES}:{name}")

    def spec(
        self,
        model: str,
        *,
        world: str | BenchmarkRef = "Walk",
        agent: str = f"{GAMES}:walker",
        count: int | None = 3,
        seeds: tuple[int, ...] | None = None,
        trials: int = 1,
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        parallel: int = 1,
        **settings: Any,
    ) -> RunSpec:
        """Return what to run."""
        ref = BenchmarkRef("python", f"{GAMES}:{world}") if isinstance(world, str) else world
        return RunSpec(
            ref,
            ModelSettings(model, **settings),
            AgentSettings(agent),
            Selection(seeds, None if seeds is not None else count, trials),
            limits,
            parallel,
        )

    async def run(self, spec: RunSpec, *observers: Observer, control: session.Control | None = None) -> Run:
        """Run; retries do not wait."""
        settings = session.SessionOptions(backoff=Backoff(base=0.0))
        return await session.run(spec, self.store, observers, control=control, settings=settings)

    async def resume(
        self,
        run_id: str,
        *observers: Observer,
        retry_failed: bool = False,
        limits: Limits | None = None,
        parallel: int | None = None,
    ) -> Run:
        """Resume; retries do not wait."""
        settings = session.SessionOptions(retry_failed, parallel, limits, Backoff(base=0.0))
        return await session.resume(run_id, self.store, observers, settings=settings)

    def episodes(self, run: Run | str) -> list[Episode]:
        """Return all stored episodes of a run, in the order of the plan."""
        found: list[Episode] = []
        cursor: str | None = None
        while True:
            page = self.store.episodes.list(run if isinstance(run, str) else run.id, cursor=cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found

    def events(self, episode: Episode, *kinds: Kind) -> list[Event]:
        """Return the events of an episode, of these kinds if any are given."""
        return [event for event in self.store.traces.events(episode.id) if not kinds or event.kind in kinds]

    def failure(self, episode: Episode) -> Failure:
        """Return why an episode failed."""
        assert episode.status in {EpisodeStatus.FAILED, EpisodeStatus.CANCELLED}, episode.status
        assert episode.failure is not None
        return episode.failure

    def only_run(self) -> Run:
        """Return the one run that the store holds."""
        (run,) = self.store.runs.list().items
        return cast(Run, run)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what another thread or process brings about."""
        async with asyncio.timeout(120):
            while not condition():  # noqa: ASYNC110  (nobody here can tell)
                await asyncio.sleep(0.005)

    def _register(self, registry: Registry, factory: Callable[[Any], Any]) -> str:
        name = f"fake-{new_id()[-12:]}"
        factory.__qualname__ = name
        registry.register(name)(factory)
        self._registered.append((registry, name))
        return name

    def close(self) -> None:
        """Forget what was registered."""
        for registry, name in self._registered:
            del registry._own[name]


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty store to copy: migrating costs more than most tests."""
    path = tmp_path_factory.mktemp("store") / "empty.sqlite"
    open_store(path).close()
    return path


@pytest.fixture
def database(tmp_path: Path, migrated_file: Path) -> Path:
    """Return the file of an empty store."""
    return Path(shutil.copy(migrated_file, tmp_path / "results.sqlite"))


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    """Return an empty store."""
    opened = open_store(database)
    yield opened
    opened.close()


@pytest.fixture
def lab(store: Store) -> Iterator[Lab]:
    """Return the laboratory."""
    built = Lab(store)
    yield built
    built.close()
