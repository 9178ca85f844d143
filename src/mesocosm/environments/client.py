"""One episode of an environment behind HTTP: POST /reset, /step, /oracle, /close."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.core.ports import Observation, Step
from mesocosm.environments.answers import (
    cut,
    decode,
    no_oracle,
    own_words,
    read_observation,
    read_oracle,
    read_reset,
    read_step,
)
from mesocosm.environments.call_time import CallTime
from mesocosm.environments.contract import Contract
from mesocosm.environments.payload import PayloadError, describe, encode
from mesocosm.http.client import HttpClient, OwnConnection
from mesocosm.http.errors import BadResponse, ConnectFailed, ConnectionLost, HttpError, ResponseTooLarge, Timeout
from mesocosm.http.response import Response
from mesocosm.http.target import visible

HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
CONNECT_WAITS = (0.1, 0.4, 1.0)
"""Seconds between attempts to connect. Nothing was sent yet, so a retry repeats nothing."""
ABSENT = frozenset({502, 503, 504})
"""Statuses by which a proxy, or the server itself, reports that the environment is unreachable."""
HUNG_CLOSE = 1.0
"""Seconds to close an episode after an unanswered call, because most servers let the close wait for that call."""

_encode = msgspec.json.Encoder().encode


class _Closed(msgspec.Struct):
    """The response of a server that reports a failure of the environment's `close`."""

    error: str = ""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Maximum seconds for one call."""

    reset: float = 60.0
    step: float = 60.0
    close: float = 10.0


class Host(Protocol):
    """The server of an episode, with what is known about its process."""

    @property
    def url(self) -> str:
        """Its base URL without a trailing slash."""
        ...

    def stderr(self) -> str:
        """Return the last lines of stderr of its process, "" if it was not started here."""
        ...

    async def exited(self) -> str:
        """Return how its process ended, "" while it runs or if it was not started here. May wait briefly."""
        ...


class HttpEnvironment:
    """Implements core.ports.Environment over the adapter protocol.

    Calls are never repeated, because neither reset nor step may happen twice; only connecting is retried. Each episode
    has its own connection, so that a server that closes it after a failure affects no other episode. Every failure is
    an EpisodeError: environment_unreachable (no connection, it was lost, or status 502 to 504), environment_timeout,
    environment_error (any other status than 2xx), environment_invalid (an unreadable response, or more than
    `most_bytes` in all responses of the episode). Its message contains the call, the server's own message and the time;
    its `stderr` the last lines of an adapter started here. `renewed` returns the server that replaced `host` if that
    exited before the episode began. With `literal`, responses are read as the original program did: `done` and, at
    reset, `observation` have no special meaning.
    """

    __slots__ = (
        "_begun",
        "_broken",
        "_client",
        "_contract",
        "_host",
        "_id",
        "_literal",
        "_most_bytes",
        "_own",
        "_patience",
        "_received",
        "_renewed",
        "_seed",
        "_timeouts",
    )

    def __init__(
        self,
        client: HttpClient,
        host: Host,
        episode_id: str,
        seed: int | None,
        *,
        renewed: Callable[[], Awaitable[Host]] | None = None,
        timeouts: Timeouts = Timeouts(),
        contract: Contract = Contract(),  # noqa: B008 - frozen
        literal: bool = False,
        most_bytes: int | None = None,
    ) -> None:
        self._literal = literal
        self._most_bytes = most_bytes
        self._received = 0
        self._client = client
        self._host = host
        self._renewed = renewed
        self._id = episode_id
        self._seed = seed
        self._timeouts = timeouts
        self._contract = contract
        self._patience = timeouts.close
        self._begun = False
        self._broken = False
        self._own = OwnConnection()

    async def reset(self) -> Observation:
        """Start the episode; send the seed unless the task has none."""
        body: dict[str, Any] = {"episode_id": self._id}
        if self._seed is not None:
            body["seed"] = self._seed
        self._begun = True
        call = _Call("/reset", self._timeouts.reset)
        response = await self._post(call, body)
        try:
            read = read_observation if self._literal else read_reset
            observation = read(decode(response.body))
        except EpisodeError as error:
            raise self._unreadable(call, response, error) from error
        return _noted(observation, self._contract.observed(observation.data))

    async def step(self, action: Any) -> Step:
        """Send one action, any JSON value."""
        call = _Call("/step", self._timeouts.step)
        response = await self._post(call, {"episode_id": self._id, "action": action})
        try:
            step = read_step(decode(response.body), literal=self._literal)
        except EpisodeError as error:
            raise self._unreadable(call, response, error) from error
        seen = self._contract.observed(step.observation.data)
        acted = self._contract.acted(action)
        if not seen and not acted:
            return step
        observation = _noted(step.observation, seen)
        return msgspec.structs.replace(step, observation=observation, notes=(*step.notes, *acted))

    async def oracle(self) -> Any:
        """Return the environment's best action. Raise EpisodeError if it has no oracle."""
        call = _Call("/oracle", self._timeouts.step)
        response = await self._request(call, _encode({"episode_id": self._id}))
        if response.status in {404, 405, 501}:
            raise no_oracle(f"at {visible(self._host.url)}", own_words(response.body))
        self._succeeded(call, response)
        try:
            return read_oracle(decode(response.body))
        except EpisodeError as error:
            raise self._unreadable(call, response, error) from error

    async def close(self) -> None:
        """Report the end of the episode once; ignore the response and connection errors."""
        try:
            if self._begun and not self._broken:
                self._begun = False
                await self._client.request(
                    "POST",
                    f"{self._host.url}/close",
                    headers=HEADERS,
                    body=_encode({"episode_id": self._id}),
                    timeout=self._patience,
                    own=self._own,
                )
        except HttpError:
            return
        finally:
            await self._own.drop()

    async def closed_with(self) -> str:
        """Report the end of the episode, even repeatedly, and return what is wrong with the response, or "".

        A server without this route is accepted.
        """
        self._begun = False
        try:
            call = _Call("/close", self._timeouts.close)
            response = await self._request(call, _encode({"episode_id": self._id}))
            if response.status not in {404, 405, 501}:
                self._succeeded(call, response)
                return _close_error(response.body)
        except EpisodeError as error:
            return str(error)
        return ""

    async def _post(self, call: "_Call", body: dict[str, Any]) -> Response:
        response = await self._request(call, self._body(body))
        self._received += len(response.body)
        if self._most_bytes is not None and self._received > self._most_bytes:
            raise EpisodeError(
                Cause.ENVIRONMENT_INVALID,
                f"{call.path}: the environment has answered with more than {self._most_bytes:,} bytes in one episode, "
                "which is what this server keeps; send smaller observations",
            )
        self._succeeded(call, response)
        return response

    def _body(self, body: dict[str, Any]) -> bytes:
        try:
            return _encode(body)
        except (TypeError, ValueError, OverflowError, RecursionError):
            pass
        try:
            return encode(body)
        except PayloadError as error:
            action = describe(body.get("action"))
            raise EpisodeError(Cause.AGENT_ERROR, f"action {action} cannot be sent: {error}") from error

    async def _request(self, call: "_Call", body: bytes) -> Response:
        for wait in (*CONNECT_WAITS, None):
            try:
                url = self._host.url + call.path
                return await self._client.request(
                    "POST", url, headers=HEADERS, body=body, timeout=call.timeout, resend=False, own=self._own
                )
            except ConnectFailed as error:
                if wait is None:
                    await self._lost(call, error)
                elif await self._host.exited():
                    await self._moved(call, error)
                else:
                    await asyncio.sleep(wait)
            except Timeout as error:
                if error.phase != "response":
                    await self._lost(call, error)
                self._patience = min(self._patience, HUNG_CLOSE)
                raise self._failure(Cause.ENVIRONMENT_TIMEOUT, call, "no complete answer in this time") from error
            except (ResponseTooLarge, BadResponse) as error:
                raise self._failure(Cause.ENVIRONMENT_INVALID, call, error.cause) from error
            except HttpError as error:
                await self._lost(call, error)
        raise AssertionError("the last try returns or raises")

    async def _moved(self, call: "_Call", error: HttpError) -> None:
        """Switch to the server that replaced one that exited; raise EpisodeError if the episode has already begun."""
        host = await self._renewed() if self._renewed is not None and call.path == "/reset" else self._host
        if host is self._host:
            await self._lost(call, error)
        self._host = host

    async def _lost(self, call: "_Call", error: HttpError) -> NoReturn:
        """Raise the failure of a broken connection, with how the server's process ended."""
        call.end()
        ended = await self._host.exited()
        self._broken = bool(ended) or not isinstance(error, ConnectionLost)
        self._patience = min(self._patience, HUNG_CLOSE)
        problem = f"{ended} ({error.cause})" if ended else error.cause
        raise self._failure(Cause.ENVIRONMENT_UNREACHABLE, call, problem) from error

    def _succeeded(self, call: "_Call", response: Response) -> None:
        if 200 <= response.status < 300:
            return
        words = own_words(response.body) or "no text"
        if response.status in {301, 302, 303, 307, 308}:
            words = (
                f"a redirect to {response.headers.get('location', 'nowhere')}, which is not followed; correct the URL"
            )
        elif response.status in {404, 405} and call.path == "/reset":
            words += "; an environment server has POST /reset, /step and /close, so correct the URL"
        cause = Cause.ENVIRONMENT_UNREACHABLE if response.status in ABSENT else Cause.ENVIRONMENT_ERROR
        raise self._failure(cause, call, f"status {response.status}: {words}")

    def _unreadable(self, call: "_Call", response: Response, error: EpisodeError) -> EpisodeError:
        failure = self._failure(error.cause, call, f"status {response.status}, but {error}")
        failure.detail = error.detail or cut(response.body.decode(errors="replace"))
        return failure

    def _failure(self, cause: Cause, call: "_Call", problem: str) -> EpisodeError:
        message = f"POST {visible(self._host.url + call.path)} after {call.elapsed:.2f} s: {problem}"
        return EpisodeError(cause, message, stderr=self._host.stderr())


class _Call(CallTime):
    """One call: its path, and the maximum of its seconds."""

    __slots__ = ("path", "timeout")

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__()
        self.path = path
        self.timeout = timeout


def _noted(observation: Observation, notes: tuple[str, ...]) -> Observation:
    return msgspec.structs.replace(observation, notes=(*observation.notes, *notes)) if notes else observation


def _close_error(body: bytes) -> str:
    """Return how the environment's `close` failed, "" if the server reports no failure."""
    try:
        return read_json(body, _Closed).error
    except msgspec.DecodeError:
        return ""
