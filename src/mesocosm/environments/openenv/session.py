"""One episode of an OpenEnv environment: a session on the server's WebSocket."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NoReturn

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ports import Observation, Step
from mesocosm.environments.answers import no_oracle
from mesocosm.environments.call_time import CallTime
from mesocosm.environments.client import Host, Timeouts
from mesocosm.environments.openenv.actions import ActionForm
from mesocosm.environments.openenv.frames import (
    CAPACITY_REACHED,
    ServerError,
    SessionAnswer,
    of_the_action,
    problems_of,
    read_answer,
)
from mesocosm.environments.openenv.session_limit import SessionLimit
from mesocosm.environments.payload import PayloadError, describe, encode
from mesocosm.http.errors import BadResponse, HttpError, ResponseTooLarge, Timeout
from mesocosm.http.target import visible
from mesocosm.http.websocket import WebSocketClient, WebSocketConnection

FULL_WAITS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between tries to get a session while others have all of them."""
HUNG_CLOSE_S = 1.0
CLOSE_S = 5.0
"""Seconds to wait until the server has ended a session; its place is free after that."""
UNREWARDED = "unrewarded"
"""Key in the info of a step: the server has given no reward in this episode so far."""
TOOL_RESULT = "call_tool"
"""Key in the info of a step with all that a tool returned; its text alone is the observation."""
_GAP = "a step has no reward although an earlier one had; it counts as 0 (OpenEnv sends NaN as null, too)"
_EARLY = "the environment gives a reward at reset, before any action; it does not count"
_CLOSE = '{"type":"close"}'
_OF_CALLS = frozenset({"tool_name", "result", "error"})

_encode = msgspec.json.Encoder().encode


class OpenEnvSession:
    """Implements core.ports.Environment over the server's `/ws`: one environment for each connection.

    No message is sent twice, except a reset that a full server refused. Causes: malformed_action for an action that the
    server does not accept, environment_unreachable for a lost connection and for a server that stays full,
    environment_timeout, environment_invalid for an answer that cannot be read, environment_error for all other errors.
    `reset_with` are the parameters of the reset.
    """

    def __init__(
        self,
        client: WebSocketClient,
        host: Host,
        limit: SessionLimit,
        form: ActionForm,
        reset_with: Mapping[str, Any],
        *,
        timeouts: Timeouts,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._host = host
        self._limit = limit
        self._form = form
        self._reset_with = dict(reset_with)
        self._timeouts = timeouts
        self._pause = pause
        self._connection: WebSocketConnection | None = None
        self._rewarded = self._stepped = False

    async def connect(self) -> None:
        """Wait for a place among the sessions and open one. Raises EpisodeError (environment_unreachable)."""
        await self._limit.enter()
        try:
            self._connection = await self._client.connect(f"{self._host.url}/ws")
        except BaseException as error:
            self._limit.leave()
            if isinstance(error, HttpError):
                await self._lost(_Call("connect"), error)
            raise

    async def reset(self) -> Observation:
        """Start the episode; wait for a session if the server has none."""
        call = _Call("reset")
        message = self._message("reset", self._reset_with)
        waits = iter(FULL_WAITS)
        while True:
            answer = await self._ask(call, message, self._timeouts.reset)
            if not isinstance(answer, ServerError):
                return self._first(call, answer)
            if answer.code != CAPACITY_REACHED:
                raise self._failure(Cause.ENVIRONMENT_ERROR, call, str(answer))
            await self._give_back(answer)
            if not self._limit.open:
                # Others have all sessions, and nothing tells when one of theirs ends.
                wait = next(waits, None)
                if wait is None:
                    raise self._failure(
                        Cause.ENVIRONMENT_UNREACHABLE,
                        call,
                        f"the server is full, and not with sessions of this run ({answer.message}); let others end, or "
                        "start it with a larger max_concurrent_envs",
                    )
                await self._pause(wait)
            await self.connect()

    async def step(self, action: Any) -> Step:
        """Send one action."""
        call = _Call("step")
        sent = self._form.sent(action)
        answer = await self._ask(call, self._message("step", sent), self._timeouts.step)
        if isinstance(answer, ServerError):
            if of_the_action(answer, sent):
                words = f"the environment does not accept the action: {problems_of(answer)}"
                raise EpisodeError(Cause.MALFORMED_ACTION, words, detail=describe(sent, 2000))
            advice = self._form.advice
            raise self._failure(Cause.ENVIRONMENT_ERROR, call, f"{answer}{advice}", detail=describe(sent, 2000))
        info = dict(answer.metadata)
        notes = (_GAP,) if answer.reward is None and self._stepped else ()
        self._stepped = self._stepped or answer.reward is not None
        if not self._rewarded and not self._stepped:
            info[UNREWARDED] = True
        shown: Any = answer.data
        if self._form.tools and (text := _tool_text(answer.data)) is not None:
            info[TOOL_RESULT], shown = answer.data, text
        return Step(Observation(shown), answer.reward or 0.0, terminated=answer.done, info=info, notes=notes)

    async def oracle(self) -> Any:
        """Raise EpisodeError: the protocol has no way to ask for the best action."""
        raise no_oracle(f"at {visible(self._host.url).rstrip('/')}", "OpenEnv has no such call")

    async def close(self) -> None:
        """End the session and wait until the server has its place free."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close(_CLOSE, CLOSE_S if connection.usable else HUNG_CLOSE_S)
        finally:
            self._limit.leave()

    def _first(self, call: "_Call", answer: SessionAnswer) -> Observation:
        if answer.done:
            raise self._failure(
                Cause.ENVIRONMENT_INVALID, call, "the environment is done before the first action, so nothing is played"
            )
        self._rewarded = answer.reward is not None
        return Observation(answer.data, notes=(_EARLY,) if answer.reward else (), info=answer.metadata)

    async def _give_back(self, refusal: ServerError) -> None:
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                await connection.close()
        finally:
            self._limit.refused(refusal.most)

    async def _ask(self, call: "_Call", message: str, seconds: float) -> SessionAnswer | ServerError:
        connection = self._connection
        if connection is None:
            raise self._failure(Cause.ENVIRONMENT_ERROR, call, "there is no session")
        try:
            return read_answer(await connection.ask(message, seconds))
        except Timeout as error:
            raise self._failure(Cause.ENVIRONMENT_TIMEOUT, call, "no answer in this time") from error
        except (ResponseTooLarge, BadResponse) as error:
            raise self._failure(Cause.ENVIRONMENT_INVALID, call, error.cause) from error
        except HttpError as error:
            await self._lost(call, error)
        except EpisodeError as error:
            raise self._failure(error.cause, call, str(error), detail=error.detail) from error

    async def _lost(self, call: "_Call", error: HttpError) -> NoReturn:
        call.end()
        ended = await self._host.exited()
        problem = f"{ended} ({error.cause})" if ended else error.cause
        raise self._failure(Cause.ENVIRONMENT_UNREACHABLE, call, problem) from error

    def _message(self, kind: str, data: Mapping[str, Any]) -> str:
        message = {"type": kind, "data": data}
        try:
            return _encode(message).decode()
        except (TypeError, ValueError, OverflowError, RecursionError):
            pass
        try:
            return encode(message).decode()
        except PayloadError as error:
            raise EpisodeError(Cause.AGENT_ERROR, f"action {describe(data)} cannot be sent: {error}") from error

    def _failure(self, cause: Cause, call: "_Call", problem: str, *, detail: str = "") -> EpisodeError:
        message = f"{call.name} at {visible(self._host.url).rstrip('/')} after {call.elapsed:.2f} s: {problem}"
        return EpisodeError(cause, message, detail=detail, stderr=self._host.stderr())


class _Call(CallTime):
    """One message, by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def _tool_text(data: Mapping[str, Any]) -> str | None:
    """Return what a tool returned as text; None if the observation says more than that, so that it is shown whole."""
    if not data.keys() >= _OF_CALLS - {"error"} or data.keys() - _OF_CALLS:
        return None
    error, result = data.get("error"), data.get("result")
    if isinstance(error, dict):
        return f"error: {error.get('message', '')} ({error.get('error_type', 'unknown')})"
    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(content, list) or not all(
        isinstance(part, dict) and part.get("type") == "text" for part in content
    ):
        return None
    return "\n".join(str(part.get("text", "")) for part in content)
