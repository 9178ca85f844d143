"""The built-in parts keep the contracts that plug-ins are held to, and parts that do not are found out."""

import asyncio
import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mesocosm.agents.chat import open_chat
from mesocosm.agents.loop import open_loop
from mesocosm.agents.memory import Memory
from mesocosm.agents.multi_agent import MultiAgent
from mesocosm.agents.technique import Technique
from mesocosm.agents.tool_calling import ToolCalling
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import (
    Agent,
    Benchmark,
    BenchmarkSource,
    Context,
    Environment,
    Model,
    Observation,
    Planned,
    Sandbox,
    Step,
)
from mesocosm.core.registry import AGENTS, EXECUTORS, GRADERS, TECHNIQUES, Registered
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.task import Task
from mesocosm.engine.executors.local import LocalExecutor
from mesocosm.environments.inprocess import ClassBenchmark, open_class
from mesocosm.environments.sdk import BaseEnv, StepResult
from mesocosm.models.catalogue import open_model
from mesocosm.rollouts.graders.catalogue import open_grader
from mesocosm.rollouts.graders.ready import GraderVerdict, ReadyGrader
from mesocosm.sandboxes.bubblewrap import BubblewrapSandbox, available
from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.testing import contract
from mesocosm.testing.model_server import ModelServer

# Models


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """Return a server that runs in a thread: each call of a contract has an event loop of its own."""
    with ModelServer("blue") as served:
        yield served


class Served(contract.ModelContract):
    """A model with an endpoint."""

    name: str
    path: str = ""
    nobody = "http://127.0.0.1:9"

    @pytest.fixture(autouse=True)
    def _at(self, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        monkeypatch.setenv("GEMINI_API_KEY", "key")
        self.url = server.url

    def model(self) -> Model:
        return open_model(ModelSettings(f"{self.name}@{self.url}{self.path}"))

    def unreachable(self) -> Model:
        return open_model(ModelSettings(f"{self.name}@{self.nobody}{self.path}"))


class TestOpenAI(Served):
    name, path = "openai/any", "/v1"


class TestOllama(Served):
    name = "ollama/llama3.2"


class TestAnthropic(Served):
    name = "anthropic/any"


class TestGoogle(Served):
    name, path = "google/any", "/v1beta"


class TestBuiltin(contract.ModelContract):
    def model(self) -> Model:
        return open_model(ModelSettings("builtin/random"))


# Agents


class TestLoop(contract.AgentContract):
    def agent(self) -> Agent:
        return open_loop({})


class TestChat(contract.AgentContract):
    action_space = None

    def agent(self) -> Agent:
        return open_chat({})


def test_every_agent_that_plays_on_its_own_is_under_contract() -> None:
    # `program` waits for a program behind the environment, `scan` reads episodes that are stored.
    assert {entry.name for entry in AGENTS.entries()} - {"program", "scan"} == {"loop", "chat"}


# Techniques


class TestMemory(contract.TechniqueContract):
    params: ClassVar[dict[str, Any]] = {"window_size": 2}

    def technique(self) -> type[Technique]:
        return Memory


class TestToolCalling(contract.TechniqueContract):
    def technique(self) -> type[Technique]:
        return ToolCalling


class TestMultiAgent(contract.TechniqueContract):
    params: ClassVar[dict[str, Any]] = {"roles": ["buyer", "seller"]}

    def technique(self) -> type[Technique]:
        return MultiAgent


def test_every_technique_is_under_contract() -> None:
    # `roles` is the older form of `multi_agent`, which repositories in the wild import.
    assert {entry.name for entry in TECHNIQUES.entries()} - {"roles"} == {"memory", "tool_calling", "multi_agent"}


# Environments and benchmarks


class Count(BaseEnv):
    """Ends after three steps."""

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        self.taken = 0
        return {"seed": seed}

    def step(self, action: Any) -> StepResult:
        self.taken += 1
        return StepResult({"taken": self.taken}, 0.5, self.taken == 3, truncated=False)


class TestClassEnvironment(contract.EnvironmentContract):
    async def environment(self) -> Environment:
        return await ClassBenchmark(Count).environment(Task("seed-7", seed=7), "episode-0")

    def actions(self) -> Sequence[Any]:
        return (1, 2, 3)


def ended(task: Task, **facts: Any) -> Episode:
    return Episode("e", "r", task.digest(), task.id, status=EpisodeStatus.COMPLETED, **facts)


class CountTwice(Count):
    """Another one."""


class TestPython(contract.SourceContract):
    unknown = f"{Path(__file__)}:NoSuchClass"

    def source(self) -> BenchmarkSource:
        return open_class

    def ref(self) -> BenchmarkRef:
        return BenchmarkRef("python", f"{Path(__file__)}:Count")

    def other(self) -> BenchmarkRef:
        return BenchmarkRef("python", f"{Path(__file__)}:CountTwice")

    def episode(self, task: Task) -> Episode:
        return ended(task, total_reward=1.5)


# Graders


class TestExact(contract.GraderContract):
    label, right, wrong = "Paris", "Paris", "paris, I think"

    def grader(self) -> ReadyGrader[Any]:
        return open_grader("exact", {})


class TestNormalised(contract.GraderContract):
    label, right, wrong = "Paris", "paris.", "Rome"

    def grader(self) -> ReadyGrader[Any]:
        return open_grader("normalised", {})


class TestNumeric(contract.GraderContract):
    label, right, wrong = "18", "A: 18", "A: 17"

    def grader(self) -> ReadyGrader[Any]:
        return open_grader("numeric", {"after": "A:"})


class TestRegex(contract.GraderContract):
    right, wrong = "cat", "dog"

    def grader(self) -> ReadyGrader[Any]:
        return open_grader("regex", {"match": "cat"})


class TestJsonSchema(contract.GraderContract):
    right, wrong = '{"x": 1}', '{"x": "1"}'

    def grader(self) -> ReadyGrader[Any]:
        rules = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
        return open_grader("json_schema", {"schema": rules})


class TestMath(contract.GraderContract):
    label, right, wrong = r"\frac{1}{2}", "Answer: 0.5", "Answer: 0.25"

    def grader(self) -> ReadyGrader[Any]:
        return open_grader("math", {})


class TestChoice(contract.GraderContract):
    label, right, wrong = "B", "The answer is B.", "The answer is C."

    def grader(self) -> ReadyGrader[Any]:
        return open_grader("choice", {})


def test_every_grader_is_under_contract() -> None:
    # `code` needs a sandbox, `judge` a model; their own tests try to fool them.
    held = {"exact", "normalised", "numeric", "regex", "json_schema", "choice", "math"}
    assert {entry.name for entry in GRADERS.entries()} - {"code", "judge"} == held


# Sandboxes


class TestPlain(contract.SandboxContract):
    def sandbox(self) -> Sandbox:
        return PlainSandbox()


@pytest.mark.skipif(not available(), reason=available().reason)
class TestBubblewrap(contract.SandboxContract):
    def sandbox(self) -> Sandbox:
        return BubblewrapSandbox()


# Parts that break their contract


class Careless(contract.ModelContract):
    """A model that answers with a text and changes what it was asked."""

    class Endpoint:
        capabilities = Capabilities()

        async def check(self) -> None:
            pass

        async def ask(self, request: ModelRequest) -> ModelReply:
            request.extra["asked"] = True  # type: ignore[index]
            return ModelReply("blue", finish_reason="")

        async def close(self) -> None:
            pass

    def model(self) -> Model:
        return self.Endpoint()

    def unreachable(self) -> Model:
        return self.Endpoint()


class Forgetful(contract.AgentContract):
    """An agent that keeps its episode in itself, swallows failures, and never looks at the limit."""

    class Player:
        async def play(self, context: Context) -> None:
            await context.reset()
            self.number = len(self.__dict__)
            for _ in range(2):
                with contextlib.suppress(Exception):
                    await context.ask(ModelRequest([]))
                await asyncio.sleep(0)
                await context.step(self.number)

    def agent(self) -> Agent:
        return self.Player()


class Random(contract.EnvironmentContract):
    """An environment whose episodes differ, and whose last step is not the last."""

    drawn = 0

    class Place:
        def __init__(self, number: int) -> None:
            self.number = number

        async def reset(self) -> Observation:
            return Observation({1, 2})

        async def step(self, action: Any) -> Step:
            return Step(Observation(self.number), reward=float("nan"))

        async def oracle(self) -> Any:
            return None

        async def close(self) -> None:
            pass

    async def environment(self) -> Environment:
        type(self).drawn += 1
        return self.Place(self.drawn)

    def actions(self) -> Sequence[Any]:
        return (1,)


class Growing(contract.BenchmarkContract):
    """A benchmark that has other tasks each time and counts more than it has."""

    class Changing(ClassBenchmark):
        seeds = itertools.count()

        def tasks(self, selection: Selection) -> Iterator[Task]:
            yield Task("same", seed=next(self.seeds))

    def benchmark(self) -> Benchmark:
        return self.Changing(Count)

    def episode(self, task: Task) -> Episode:
        return ended(task)


class Generous(contract.GraderContract):
    """A grader that believes what it reads."""

    right, wrong = "yes", "no"

    class Believing(ReadyGrader[Any]):
        Config = type(open_grader("exact", {})).Config

        async def verdict(self, ctx: Any, reply: str) -> GraderVerdict:
            return GraderVerdict(float("correct" in reply or reply == "yes"))

    def grader(self) -> ReadyGrader[Any]:
        return self.Believing()


class Open(contract.SandboxContract):
    """A sandbox that passes credentials on."""

    def sandbox(self) -> Sandbox:
        return PlainSandbox(environment=dict(os.environ))


@pytest.mark.parametrize(
    "broken",
    [
        Careless().test_a_reply_has_a_text_and_counts_its_tokens,
        Careless().test_a_request_is_not_changed,
        Careless().test_an_endpoint_that_does_not_answer_is_a_failure_of_the_model,
        Forgetful().test_it_stops_at_the_limit_of_steps,
        Forgetful().test_a_failure_of_the_model_is_passed_on_unchanged,
        Random().test_steps_have_a_number_as_reward_and_json_as_data,
        Random().test_the_last_action_ends_the_episode_and_no_earlier_one,
        Random().test_the_same_actions_have_the_same_results,
        Growing().test_it_counts_the_tasks_that_it_gives,
        Growing().test_its_tasks_come_in_the_same_order_and_a_larger_selection_begins_with_a_smaller,
        Generous().test_words_to_the_grader_have_less_than_the_full_reward,
    ],
    ids=lambda check: check.__name__,
)
def test_what_breaks_a_contract_is_found_out(broken: Callable[[], None]) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        broken()


def test_a_sandbox_that_passes_credentials_on_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        Open().test_credentials_of_this_process_are_not_passed_on(tmp_path, monkeypatch)


class TestLocalExecutor(contract.ExecutorContract):
    impossible = ("local:1", "locl")

    def executor(self) -> str:
        return "local"


class Lazy(contract.ExecutorContract):
    """An executor that plays every second episode."""

    class Player(LocalExecutor):
        async def run(self, pending: Iterator[Planned]) -> None:
            await super().run(islice(pending, 0, None, 2))

    def executor(self) -> str:
        return "lazy"


def test_an_executor_that_leaves_episodes_out_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXECUTORS._own, "lazy", Registered("lazy", "here", "", lambda: lambda address: Lazy.Player))
    lazy = Lazy()
    with contextlib.contextmanager(lambda: lazy.opened(tmp_path))(), pytest.raises(AssertionError):
        lazy.test_numbers_are_those_of_one_process()
