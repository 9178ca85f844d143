"""An episode in memory for testing agents: scripted replies and observations, and a record of what the agent did."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from mesocosm.core.event import Kind
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Environment, Observation, Step
from mesocosm.core.proxy import ProxyAddress
from mesocosm.core.space import Space, parse_space
from mesocosm.core.task import Task

T = TypeVar("T")

Said = str | ModelReply | Exception
"""A scripted reply; an exception is raised."""


class ScriptEnded(AssertionError):
    """The agent continued after the end of the script."""


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """One action of the agent."""

    action: Any
    reasoning: str
    role: str


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event that the agent recorded, and its step."""

    step: int
    kind: Kind
    payload: Any


class ScriptedEnvironment:
    """Returns scripted observations, regardless of the actions. Implements core.ports.Environment.

    The first of `shown` is returned by reset: an Observation or its data. Each further entry is the response to one
    action: a Step, an Observation or its data. The last entry ends the episode, unless it is a Step.
    """

    def __init__(self, *shown: Any) -> None:
        self._shown = shown or (None,)
        self._at = 0
        self.actions: list[Any] = []
        self.closed: bool = False

    async def reset(self) -> Observation:
        """Return the first entry."""
        self._at = 0
        return _observation(self._shown[0])

    async def step(self, action: Any) -> Step:
        """Return the next entry. Raises ScriptEnded."""
        self.actions.append(action)
        self._at += 1
        if self._at >= len(self._shown):
            raise ScriptEnded(f"the environment's script answers {len(self._shown) - 1} actions, not one more")
        shown = self._shown[self._at]
        if isinstance(shown, Step):
            return shown
        return Step(_observation(shown), terminated=self._at == len(self._shown) - 1)

    async def oracle(self) -> Any:
        """Raise ScriptEnded: there is no oracle."""
        raise ScriptEnded("a scripted environment knows no best action")

    async def close(self) -> None:
        """Set `closed`."""
        self.closed = True


def _observation(shown: Any) -> Observation:
    return shown if isinstance(shown, Observation) else Observation(shown)


class MemoryContext:
    """Implements core.ports.Context in memory.

    `replies` are the model's replies in order, or a function of the request. Spaces may be given as JSON, and `vow`
    sets the vow of a default info. Afterwards `requests`, `actions`, `events` and `warnings` contain what happened.
    """

    def __init__(
        self,
        environment: Environment,
        replies: Sequence[Said] | Callable[[ModelRequest], Said] = (),
        *,
        action_space: Space | Mapping[str, Any] | None = None,
        observation_space: Space | Mapping[str, Any] | None = None,
        capabilities: Capabilities = Capabilities(),  # noqa: B008  (frozen)
        settings: ModelSettings | None = None,
        vow: Mapping[str, Any] | None = None,
        info: BenchmarkInfo | None = None,
        max_steps: int | None = None,
        task: Task | None = None,
    ) -> None:
        self.task: Task = task or Task("task-0", seed=0)
        self.episode_id = "episode-0"
        self.trial = 0
        self.info: BenchmarkInfo = info or BenchmarkInfo(
            "memory", "Memory", "1", "0", "memory", (), vow=dict(vow or {})
        )
        self.action_space: Space | None = _space(action_space)
        self.observation_space: Space | None = _space(observation_space)
        self.capabilities = capabilities
        self.settings: ModelSettings = settings or ModelSettings("scripted/memory")
        self.malformed = 0
        self.over: bool = False
        self.program = False
        self.steps: int = 0
        self.environment = environment
        self.requests: list[ModelRequest] = []
        self.actions: list[RecordedAction] = []
        self.events: list[RecordedEvent] = []
        self.warnings: list[str] = []
        self.reward: float = 0.0
        self._replies = replies
        self._max_steps = max_steps

    @property
    def steps_left(self) -> int | None:
        """Number of actions left before `max_steps`, or None if it is not set."""
        return None if self._max_steps is None else max(self._max_steps - self.steps, 0)

    async def reset(self) -> Observation:
        """Reset the environment."""
        return await self.environment.reset()

    async def step(self, action: Any, *, reasoning: str = "", role: str = "") -> Step:
        """Act. Raises ScriptEnded after the end of the episode."""
        if self.over:
            raise ScriptEnded("the episode is over, and the agent acted once more")
        self.actions.append(RecordedAction(action, reasoning, role))
        step = await self.environment.step(action)
        self.steps += 1
        self.reward += step.reward
        self.over = step.terminated or step.truncated or self.steps_left == 0
        return step

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the next scripted reply. Raises ScriptEnded after the last one."""
        self.requests.append(request)
        if callable(self._replies):
            said = self._replies(request)
        elif len(self.requests) > len(self._replies):
            raise ScriptEnded(f"the model's script holds {len(self._replies)} replies, and the agent asked once more")
        else:
            said = self._replies[len(self.requests) - 1]
        if isinstance(said, Exception):
            raise said
        return ModelReply(said) if isinstance(said, str) else said

    def address(self) -> AbstractAsyncContextManager[ProxyAddress]:
        """Raise NotImplementedError: the scripted replies are not served at an address."""
        raise NotImplementedError("this context serves no model at an address; test with mesocosm.testing.model_server")

    async def reach(self, service: str, asked: Callable[[], Awaitable[T]]) -> T:
        """Return what a service gives; nothing is waited for."""
        del service
        return await asked()

    async def hand_over(self) -> Step:
        """Raise NotImplementedError: there is no program here."""
        raise NotImplementedError("this context has no program that plays by itself")

    def record(self, kind: Kind, payload: Any) -> None:
        """Store an event."""
        self.events.append(RecordedEvent(self.steps + (not self.over), kind, payload))

    def warn(self, message: str) -> None:
        """Store a warning."""
        self.warnings.append(message)


def _space(given: Space | Mapping[str, Any] | None) -> Space | None:
    return parse_space(given, "space", []) if isinstance(given, Mapping) else given
