"""Programs that call their model through the proxy, played by the real engine, and what the store holds of it."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx
import pytest

from mesocosm.core.backoff import Backoff
from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ids import new_id
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Observation, Step
from mesocosm.core.proxy import ProxyAddress
from mesocosm.core.registry import MODELS, SOURCES
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage
from mesocosm.engine import execution, session
from mesocosm.store import Store, open_store

if TYPE_CHECKING:
    import anthropic
    import openai

Variables = Mapping[str, str]
Program = Callable[[Variables], Any]
"""A program: it gets its environment variables and runs in a thread of its own; what it returns is kept."""
_SETTINGS = ("_API_KEY", "_BASE_URL", "_API_BASE", "_AUTH_TOKEN", "_PROXY", "_proxy")


class World:
    """The world of one episode: a program plays it. Implements core.proxy.Program."""

    def __init__(self, program: Program | str, task: Task, lab: "Lab") -> None:
        self._program = program
        self._task = task
        self._lab = lab

    async def reset(self) -> Observation:
        return Observation(None)

    async def step(self, action: Any) -> Step:
        raise NotImplementedError

    async def oracle(self) -> Any:
        return "best"

    async def close(self) -> None:
        return None

    async def play(self, address: ProxyAddress, log: Callable[[str, str], None], seconds: float | None = None) -> Step:
        self._lab.addresses.append(address)
        variables = {**address.variables, "TASK": self._task.id}
        if isinstance(self._program, str):
            output = await _process(self._program, variables, log)
        else:
            output = await asyncio.to_thread(self._program, variables)
        return Step(Observation(None), 1.0, True, False, {"output": output})


async def _process(source: str, variables: Variables, log: Callable[[str, str], None]) -> str:
    """Run Python source as a process of its own and return what it printed. Raises EpisodeError."""
    environment = {"PATH": os.environ["PATH"], **variables}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", source, env=environment, stdout=-1, stderr=asyncio.subprocess.STDOUT
    )
    output = (await process.communicate())[0].decode()
    for line in output.splitlines():
        log("stdout", line)
    if process.returncode:
        raise EpisodeError(Cause.PROGRAM_FAILED, f"the program ended with {process.returncode}", stderr=output)
    return output


class Foreign:
    """A benchmark whose tasks are played by programs. Implements core.ports.Benchmark."""

    def __init__(self, program: Program | str, lab: "Lab") -> None:
        self.info = BenchmarkInfo(
            "foreign", "Foreign", "1", "d", "test", (Metric("mean_reward", "score", low=0.0, high=1.0, primary=True),)
        )
        self.action_space = None
        self.observation_space = None
        self._program = program
        self._lab = lab

    def count(self, selection: Selection) -> int:
        return selection.count or 1

    def tasks(self, selection: Selection) -> Iterator[Task]:
        return (Task(f"task-{n}", input=f"task-{n}") for n in range(self.count(selection)))

    async def open(self, notice: Callable[[str], None]) -> None:
        return None

    async def environment(self, task: Task, episode_id: str) -> World:
        return World(self._program, task, self._lab)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        return [Score("score", 1.0)]

    async def close(self) -> None:
        return None


class Said:
    """A model that always says the same and keeps what it was asked."""

    def __init__(self, said: str | ModelReply) -> None:
        self.capabilities = Capabilities()
        self.said = said if isinstance(said, ModelReply) else ModelReply(said, usage=Usage(7, 3, calls=1))
        self.requests: list[ModelRequest] = []

    async def check(self) -> None:
        return None

    async def ask(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        return self.said

    async def close(self) -> None:
        return None


def _post(variables: Any, path: str, body: bytes) -> tuple[int, str]:
    """Send a body as it is and return status and text."""
    headers = {"authorization": f"Bearer {variables['OPENAI_API_KEY']}", "content-type": "application/json"}
    try:
        with urlopen(Request(variables["OPENAI_BASE_URL"] + path, body, headers), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


class Lab:
    """Runs programs. What they returned, and every address that was opened, can be looked at afterwards."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.addresses: list[ProxyAddress] = []
        self.run: Run | None = None
        self._registered: list[tuple[Any, str]] = []

    def register(self, registry: Any, factory: Callable[[Any], Any]) -> str:
        name = f"fake-{new_id()[-12:]}"
        factory.__qualname__ = name
        registry.register(name)(factory)
        self._registered.append((registry, name))
        return name

    def model(self, model: Any) -> str:
        """Register a model object and return its name."""
        return f"{self.register(MODELS, lambda settings: model)}/m"

    async def play(
        self,
        program: Program | str,
        model: str,
        *,
        count: int = 1,
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        parallel: int = 1,
        secrets: Sequence[str] | None = None,
        **settings: Any,
    ) -> list[Episode]:
        """Play `count` episodes of a program and return them in the order of their tasks."""
        benchmark = self.register(SOURCES, lambda ref: Foreign(program, self))
        spec = RunSpec(
            BenchmarkRef(benchmark, ""),
            ModelSettings(model, **settings),
            AgentSettings("program"),
            Selection(count=count),
            limits,
            parallel,
        )
        how = session.SessionOptions(backoff=Backoff(base=0.0), secrets=secrets)
        self.run = await session.run(spec, self.store, settings=how)
        return list(self.store.episodes.list(self.run.id, limit=500).items)

    def events(self, episode: Episode, *kinds: Kind) -> list[Event]:
        """Return the events of an episode, of these kinds if any are given."""
        return [event for event in self.store.traces.events(episode.id) if not kinds or event.kind in kinds]

    def calls(self, episode: Episode) -> list[Any]:
        """Return what the trace says of the calls that were answered."""
        return [event.payload for event in self.events(episode, Kind.MODEL_CALL)]

    def failures(self, episode: Episode) -> list[Any]:
        """Return what the trace says of the calls that failed."""
        found = [event.payload for event in self.events(episode, Kind.ERROR)]
        return [payload for payload in found if "path" in payload]

    def said(self, episode: Episode) -> list[tuple[str, Any]]:
        """Return role and content of every message in the trace."""
        return [
            (event.payload["role"], event.payload.get("content", "")) for event in self.events(episode, Kind.MESSAGE)
        ]

    def close(self) -> None:
        """Forget what was registered."""
        for registry, name in self._registered:
            del registry._own[name]


@pytest.fixture(autouse=True)
def no_provider_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(_SETTINGS):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def one_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play every program once: what failed for reasons of infrastructure is looked at here, not repeated."""
    monkeypatch.setattr(execution, "ROUNDS", 1)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "empty.sqlite"
    open_store(path).close()
    return path


@pytest.fixture
def lab(tmp_path: Path, migrated_file: Path) -> Iterator[Lab]:
    """Return the laboratory with an empty store."""
    store = open_store(Path(shutil.copy(migrated_file, tmp_path / "results.sqlite")))
    built = Lab(store)
    yield built
    built.close()
    store.close()


@pytest.fixture
def openai_client() -> Callable[[Variables], "openai.OpenAI"]:
    """Return what makes an OpenAI client out of the variables of a program."""
    import openai

    return lambda variables: openai.OpenAI(
        base_url=variables["OPENAI_BASE_URL"],
        api_key=variables["OPENAI_API_KEY"],
        max_retries=0,
        http_client=httpx.Client(verify=False, timeout=60),  # reading the authorities takes longer than the calls
    )


@pytest.fixture
def anthropic_client() -> Callable[[Variables], "anthropic.Anthropic"]:
    """Return what makes an Anthropic client out of the variables of a program."""
    import anthropic

    return lambda variables: anthropic.Anthropic(
        base_url=variables["ANTHROPIC_BASE_URL"], api_key=variables["ANTHROPIC_API_KEY"], max_retries=0, timeout=20.0
    )


@pytest.fixture
def post() -> Callable[[Variables, str, bytes], tuple[int, str]]:
    """Return what sends a body as it is."""
    return _post


@pytest.fixture
def said() -> type[Said]:
    """Return the class of models that always say the same."""
    return Said
