"""The proxy endpoint: gives a foreign program access to the model of its episode and records every call.

A program gets its own address with a private token. Its requests are forwarded to the run's model if both use the same
protocol, otherwise the engine makes the calls. In both cases the run's model and settings replace those of the request,
the call is recorded in the episode, and it counts against the budgets.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Message
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.core.usage import Usage

AGENT, JUDGE = "", "judge"
"""Roles of the caller at an address."""

GONE = 499
"""Status of a call if the program disconnected before its answer was complete."""

JUDGE_FAILED = "judge_failed"
"""Key in the info of the step that a program returned: the failure of the last model call of its graders."""

JUDGE_CALLS = "judge_calls"
"""Key in the terminal info of an episode: its number of model calls by graders; absent if there were none."""

TIME_LIMIT = "time_limit"
"""Value of `reason` in the info of the step of a program that its own time limit ended."""

Protocols = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Upstream:
    """Target of calls to a model: protocol, base URL, key (may be empty), and the model's name there."""

    protocol: Protocols
    base_url: str
    key: str = field(repr=False)
    model: str = ""


@runtime_checkable
class Reachable(Protocol):
    """A model with an HTTP address, so that calls in its protocol can be forwarded."""

    @property
    def upstream(self) -> Upstream:
        """Where to forward calls."""
        ...

    def priced(self, usage: Usage, written: tuple[int, int] = (0, 0)) -> Usage:
        """Return `usage` with its cost, which is None if no price is known; `written` as in ModelReply."""
        ...

    def adapt(self, settings: dict[str, Any]) -> None:
        """Remove or rename, in place, the settings of a request that the server is known not to support."""
        ...

    def concedes(self, status: int, answer: bytes, settings: dict[str, Any]) -> bool:
        """Return whether the server rejected one of `settings`, which `adapt` will remove or rename from now on."""
        ...

    def refusal(
        self, path: str, status: int, headers: Mapping[str, str], answer: bytes, max_tokens: int
    ) -> EpisodeError:
        """Return the failure for a response other than 200 to a request at `path` for `max_tokens`."""
        ...


@runtime_checkable
class Served(Protocol):
    """A model behind an address that reports what is served there."""

    @property
    def server(self) -> Mapping[str, str]:
        """`address` (without credentials) and, once checked, `models`: a digest of the models that the server has."""
        ...


@dataclass(frozen=True, slots=True)
class ProxyCall:
    """The request of a program: `path` of the API (`/chat/completions`), `model` as the program named it.

    `request` is the rest of the request (temperature, tools, …) without messages. `sent` is what replaced it: the
    run's model and settings. `role` is `judge` for graders, empty for the agent. `unread` is a digest of the messages
    if they could not be read, otherwise empty.
    """

    path: str
    model: str
    streamed: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    role: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
    unread: str = ""


@dataclass(frozen=True, slots=True)
class AskedCall:
    """What a program asked in one call, as far as it tells for which item: its `text`, and the item that it names."""

    text: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """One call of a program that was forwarded, or that could not be.

    If `error` is not empty, the call failed: `status` is the HTTP status (GONE if the program disconnected), and
    `reply` is the part received so far, or None. `cause` is derived from the server's error message, None if only the
    status is known.
    """

    call: ProxyCall
    messages: Sequence[Message]
    reply: ModelReply | None
    status: int
    error: str = ""
    latency_s: float = 0.0
    cause: Cause | None = None


class ModelRecorder(Protocol):
    """The episode that an address belongs to."""

    @property
    def role(self) -> str:
        """The role of the caller: empty for the agent, otherwise `judge`."""
        ...

    def admitted(self, tokens: int) -> AbstractAsyncContextManager[str]:
        """Admit a call of about `tokens` tokens; it is in progress until the block is left.

        Wait while calls in progress might use up the rest of a budget. The context value is the reason why the call is
        not allowed (a budget is used up, the episode is over), otherwise "".
        """
        ...

    async def turn(self) -> None:
        """Wait, before a forwarded call, for the limits per minute and for the end of an outage."""
        ...

    async def ask(self, request: ModelRequest, call: ProxyCall) -> ModelReply:
        """Answer a call through the engine: retried, limited, recorded. Raise EpisodeError."""
        ...

    async def again(self, status: int, error: str, retry_after: float | None, attempt: int) -> bool:
        """Return whether to retry a failed forwarded call, after waiting as long as necessary.

        `status` is the HTTP status, `retry_after` the seconds that the server requested, `attempt` the number of the
        failed attempt (1, 2, …). Call this only if no part of an answer has reached the program yet.
        """
        ...

    def forwarded(self, call: Forwarded) -> None:
        """Record a call that the endpoint forwarded, and charge its usage. Never raise."""
        ...


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """An open address of one episode: root URL (`http://127.0.0.1:PORT`), private token, environment variables.

    The variables direct the usual clients to it (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`, `<PROVIDER>_BASE_URL`, keys).
    `settings` are those of the run's model; `provider` and `model` are the parts of its name. `judge` is the address
    for graders, None if they may not call a model.
    """

    url: str
    token: str = field(repr=False)
    variables: Mapping[str, str] = field(repr=False)
    provider: str
    model: str
    settings: ModelSettings
    judge: "ProxyAddress | None" = None


class ProxyEndpoint(Protocol):
    """Opens addresses for the episodes of one run. Registered; the factory receives the model and its settings."""

    async def connect(self, recorder: ModelRecorder) -> ProxyAddress:
        """Open an address for an episode; the first one starts the server. Raise EpisodeError (proxy_failed)."""
        ...

    async def disconnect(self, address: ProxyAddress) -> None:
        """Close an address: end the calls in progress and invalidate its token."""
        ...

    async def close(self) -> None:
        """Stop the server."""
        ...


class ProgramTrace(Protocol):
    """The trace of the episode that a program plays."""

    def __call__(self, stream: str, line: str, /) -> None:
        """Record a line that the program wrote to `stream`."""
        ...

    def record(self, kind: Kind, payload: Any) -> None:
        """Record an event that did not pass the proxy: a call of a tool, a state."""
        ...


@runtime_checkable
class Program(Protocol):
    """An environment with a program that runs the whole episode."""

    async def play(self, address: ProxyAddress, log: ProgramTrace, seconds: float | None = None) -> Any:
        """Run the program for at most `seconds`; return its last Step. Raise EpisodeError.

        `log` receives its lines and events. A `truncated` Step means that a limit of the program ended it; if `reason`
        in its info is TIME_LIMIT, that of its time.
        """
        ...
