"""The endpoint: where a foreign program finds the model of its episode, so that every call of it is seen.

A program gets an address of its own with a private token. What it sends there is passed on to the run's model where
both speak one protocol, else asked through the engine. Both ways the run's model and settings take the place of those
in the request, the call is recorded in the episode, and it counts against the budgets.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Message
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.core.usage import Usage

AGENT, JUDGE = "", "judge"
"""Who asks at an address."""

GONE = 499
"""The status of a call whose program went away before its answer was complete."""

JUDGE_FAILED = "judge_failed"
"""In the info of the step that a program returned: the failure of the last call that its graders made."""

JUDGE_CALLS = "judge_calls"
"""In the terminal info of an episode: how many of its calls were those of graders; absent where none was."""

Protocols = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where calls for a model go: the protocol spoken there, base URL, key (may be empty), the model's name there."""

    protocol: Protocols
    base_url: str
    key: str = field(repr=False)
    model: str = ""


@runtime_checkable
class Reachable(Protocol):
    """A model behind an HTTP address, so that calls of its protocol can be passed on to it."""

    @property
    def upstream(self) -> Upstream:
        """Where it lies."""
        ...

    def priced(self, usage: Usage) -> Usage:
        """Return `usage` with its cost; None there when no price is known."""
        ...

    def adapt(self, settings: dict[str, Any]) -> None:
        """Remove or rename the settings of a request that the server is known not to take."""
        ...

    def concedes(self, status: int, answer: bytes, settings: dict[str, Any]) -> bool:
        """Return whether the server refused one of `settings`, which `adapt` will remove or rename from now on."""
        ...

    def refusal(
        self, path: str, status: int, headers: Mapping[str, str], answer: bytes, max_tokens: int
    ) -> EpisodeError:
        """Return the failure that an answer other than 200 to a request at `path` for `max_tokens` stands for."""
        ...


@runtime_checkable
class Served(Protocol):
    """A model behind an address, which says what answers there."""

    @property
    def server(self) -> Mapping[str, str]:
        """Return `address` (without credentials) and, once checked, `models`: a digest of what the server has."""
        ...


@dataclass(frozen=True, slots=True)
class ProxyCall:
    """What a program asked for: `path` is that of the API (`/chat/completions`), `model` the name that it gave.

    `request` is the rest of what it sent (temperature, tools, …), messages left out. `sent` is what was put in its
    place: the run's model and settings. `role` says who asks where that is not the agent: `judge`. `unread` is a digest
    of the messages where they could not be read, else empty.
    """

    path: str
    model: str
    streamed: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    role: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """One call of a program that was passed on as it was, or that could not be.

    With an `error` the call failed, and `status` says how (that of HTTP; GONE when the program went away); `reply` is
    then what had come of it, if anything had. `cause` is what the server's own words say of the failure, None where the
    status is all there is.
    """

    call: ProxyCall
    messages: Sequence[Message]
    reply: ModelReply | None
    status: int
    error: str = ""
    latency_s: float = 0.0
    cause: Cause | None = None


class ModelRecorder(Protocol):
    """The episode behind an address."""

    @property
    def role(self) -> str:
        """Who asks: empty for the agent, else `judge`."""
        ...

    def admitted(self, tokens: int) -> AbstractAsyncContextManager[str]:
        """Enter a call of about `tokens` tokens; it is under way until the block is left.

        Waits while the calls under way may use up what is left of a budget. Gives why the call may not be made (a
        budget is used up, the episode is over), else nothing.
        """
        ...

    async def turn(self) -> None:
        """Before a call that is passed on: wait for the rates per minute and for the end of an outage."""
        ...

    async def ask(self, request: ModelRequest, call: ProxyCall) -> ModelReply:
        """Answer a call through the engine: retried, limited, recorded. Raises EpisodeError."""
        ...

    async def again(self, status: int, error: str, retry_after: float | None, attempt: int) -> bool:
        """Return whether a call that was passed on and failed is to be made once more, after the wait that is due.

        `status` is that of HTTP, `retry_after` the seconds that the server asks for, `attempt` which try failed (1, 2,
        …). Nothing of an answer may have reached the program yet.
        """
        ...

    def forwarded(self, call: Forwarded) -> None:
        """Record a call that the endpoint passed on, and charge what it used. Raises nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """An open address of one episode: its root URL (`http://127.0.0.1:PORT`), private token, and the variables that
    lead the usual clients there (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`, `<PROVIDER>_BASE_URL` and their keys).

    `settings` are those of the run's model; `provider` and `model` are its name taken apart. Where graders may ask a
    model, `judge` is the address for them.
    """

    url: str
    token: str = field(repr=False)
    variables: Mapping[str, str] = field(repr=False)
    provider: str
    model: str
    settings: ModelSettings
    judge: "ProxyAddress | None" = None


class ProxyEndpoint(Protocol):
    """Opens addresses for the episodes of one run. Registered; the factory gets the model and its settings."""

    async def connect(self, recorder: ModelRecorder) -> ProxyAddress:
        """Open an address for an episode; the first one starts the server. Raises EpisodeError (proxy_failed)."""
        ...

    async def disconnect(self, address: ProxyAddress) -> None:
        """Close an address: calls that still run are ended, and its token is worth nothing any more."""
        ...

    async def close(self) -> None:
        """Stop the server."""
        ...


@runtime_checkable
class Program(Protocol):
    """An environment whose own program plays the whole episode."""

    async def play(self, address: ProxyAddress, log: Callable[[str, str], None], seconds: float | None = None) -> Any:
        """Run the program for at most `seconds`; return its last Step. `log` takes its lines. Raises EpisodeError."""
        ...
