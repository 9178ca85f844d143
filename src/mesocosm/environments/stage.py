"""The live episodes of one environment class: an instance each, run in threads, the calls of one episode in turn."""

import asyncio
import inspect
import logging
import time
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.environments.payload import PayloadError, describe, encode, is_wrapped, reward_payload, text_keys
from mesocosm.environments.requests import (
    CloseRequest,
    OracleRequest,
    RenderRequest,
    ResetRequest,
    StepRequest,
)
from mesocosm.environments.sdk import BaseEnv
from mesocosm.environments.threads import Threads

IDLE_SECONDS = 3600.0
"""An episode without a call for so long counts as forgotten."""

MAX_THREADS = 256
"""Calls of user code that run at the same time; further ones wait."""

_log = logging.getLogger(__name__)


class Refusal(Exception):
    """A request is answered by an HTTP `status` and a `detail` that says why."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(eq=False)
class _Seat:
    """The place of one episode; `env` is None before its reset and after its close."""

    env: BaseEnv | None = None
    last_call: float = 0.0
    callers: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True)
class _Raised:
    """An exception of user code as a value: SystemExit would stop the server, and no future holds StopIteration."""

    error: BaseException


class Stage:
    """Runs the episodes of `env_class`, and answers each request by the bytes of a JSON body.

    User code runs in threads, so that a slow call holds up nobody but its own episode. Every method raises `Refusal`:
    404 for an episode that is not live, 500 when user code fails or returns what cannot be sent, 501 for an oracle that
    is not offered. All methods belong to one event loop.
    """

    def __init__(self, env_class: type[BaseEnv], *, idle_seconds: float = IDLE_SECONDS) -> None:
        self.name: str = getattr(env_class, "__name__", type(env_class).__name__)
        self.offers_oracle = _offers_oracle(env_class)
        self._env_class = env_class
        self._idle_seconds = idle_seconds
        self._threads = Threads(MAX_THREADS)
        self._seats: OrderedDict[str, _Seat] = OrderedDict()  # the least recently called first

    async def health(self) -> dict[str, Any]:
        """Return the state of the server: class, number of live episodes, whether there is an oracle."""
        live = sum(seat.env is not None for seat in self._seats.values())
        return {"status": "ok", "env": self.name, "episodes": live, "oracle": self.offers_oracle}

    async def reset(self, body: ResetRequest) -> bytes:
        """Start an episode and return its first observation. An episode of the same id is closed first."""
        async with self._turn(body.episode_id) as seat:
            await self._close(seat)
            await self._close_idle()

            def start() -> Any:
                seat.env = self._env_class()
                return seat.env.reset(seed=body.seed, **body.scenario_params)

            try:
                return await self._run("reset", start, _reset_answer)
            except Refusal:
                await self._close(seat)
                raise

    async def step(self, body: StepRequest) -> bytes:
        """Act once: the action passes through the environment's `parse_action`, then its `step`."""
        async with self._live(body.episode_id) as env:
            return await self._run("step", lambda: env.step(env.parse_action(body.action)), _step_answer)

    async def close(self, body: CloseRequest) -> bytes:
        """End an episode. Ending one that is not live is no fault.

        An environment whose `close` fails ends it all the same; the answer tells as `error` how.
        """
        failed = ""
        if body.episode_id in self._seats:
            async with self._turn(body.episode_id) as seat:
                failed = await self._close(seat)
        return encode({"error": failed}) if failed else b"{}"

    async def render(self, body: RenderRequest) -> bytes:
        """Return a view of the episode for people."""
        async with self._live(body.episode_id) as env:
            return await self._run("render", lambda: env.render(mode=body.mode), _render_answer)

    async def oracle(self, body: OracleRequest) -> bytes:
        """Return the action that the environment itself considers best now. It does not act."""
        async with self._live(body.episode_id) as env:
            if not self.offers_oracle:
                raise Refusal(501, f"{self.name} offers no oracle: it does not override BaseEnv.oracle")
            return await self._run("oracle", env.oracle, _oracle_answer)

    async def close_all(self) -> None:
        """Close every episode that is in no call."""
        for episode_id, seat in list(self._seats.items()):
            if not seat.callers:
                del self._seats[episode_id]
                await self._close(seat)

    @asynccontextmanager
    async def _turn(self, episode_id: str) -> AsyncIterator[_Seat]:
        """Wait until earlier calls of this episode are done. A seat stays while it is used or holds an instance."""
        seat = self._seats.setdefault(episode_id, _Seat())
        self._seats.move_to_end(episode_id)
        seat.callers += 1
        try:
            async with seat.lock:
                yield seat
        finally:
            seat.callers -= 1
            seat.last_call = time.monotonic()
            if not seat.callers and seat.env is None:
                del self._seats[episode_id]

    @asynccontextmanager
    async def _live(self, episode_id: str) -> AsyncIterator[BaseEnv]:
        unknown = Refusal(404, f"no live episode {episode_id!r}: start it by POST /reset")
        if episode_id not in self._seats:
            raise unknown
        async with self._turn(episode_id) as seat:
            if seat.env is None:
                raise unknown
            yield seat.env

    async def _run(self, method: str, call: Callable[[], Any], answer: Callable[[Any], bytes]) -> bytes:
        """Return the answer to what `call` returns, or raise the Refusal that says what went wrong in it."""

        def work() -> Any:
            try:
                result = call()
                return result if inspect.isawaitable(result) else answer(result)
            except BaseException as error:  # noqa: BLE001 - see _Raised
                return _Raised(error)

        outcome = await self._threads.run(work)
        if inspect.isawaitable(outcome):
            try:
                outcome = answer(await outcome)
            except Exception as error:  # noqa: BLE001 - whatever user code raises is answered
                outcome = _Raised(error)
        if isinstance(outcome, _Raised):
            raise self._refusal(method, outcome.error) from outcome.error
        body: bytes = outcome
        return body

    def _refusal(self, method: str, error: BaseException) -> Refusal:
        if isinstance(error, NotImplementedError) and method == "oracle":
            return Refusal(501, str(error) or f"{self.name} offers no oracle in this state")
        if isinstance(error, PayloadError):
            return Refusal(500, f"{self.name}.{method}() returned a bad value: {error}")
        _log.error("%s.%s() failed", self.name, method, exc_info=error)
        *_, frame = traceback.extract_tb(error.__traceback__)
        place = f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}"
        return Refusal(500, f"{self.name}.{method}() failed: {type(error).__name__}: {error} ({place})")

    async def _close(self, seat: _Seat) -> str:
        """Take the instance from its seat and close it. Its failure is logged and returned: the episode is over."""
        env, seat.env = seat.env, None
        if env is None:
            return ""
        try:
            await self._run("close", env.close, lambda _: b"{}")
        except Refusal as refusal:
            return refusal.detail
        return ""

    async def _close_idle(self) -> None:
        forgotten = time.monotonic() - self._idle_seconds
        while self._seats:
            episode_id, seat = next(iter(self._seats.items()))
            if seat.callers or seat.last_call > forgotten:
                return
            del self._seats[episode_id]
            await self._close(seat)


def _offers_oracle(env_class: type) -> bool:
    oracle = getattr(env_class, "oracle", None)
    return callable(oracle) and oracle is not BaseEnv.oracle


def _reset_answer(returned: Any) -> bytes:
    if is_wrapped(returned):
        data, prompt = returned["data"], returned.get("system_prompt")
        content_type = returned.get("content_type") or "application/json"
    else:
        data, content_type, prompt = returned, "application/json", None
    answer = {**_observation(data, content_type), "system_prompt": _prompt(prompt)}
    if is_wrapped(returned) and returned.get("info"):
        answer["info"] = text_keys(returned["info"])
    return encode(answer)


def _step_answer(result: Any) -> bytes:
    for name in ("observation", "reward", "terminated", "truncated"):
        if not hasattr(result, name):
            raise PayloadError(
                f"{describe(result)}; it must be a StepResult(observation, reward, terminated, truncated, info)"
            )
    return encode(
        {
            "observation": _observation(result.observation, getattr(result, "content_type", "application/json")),
            "reward": reward_payload(result.reward),
            "terminated": bool(result.terminated),
            "truncated": bool(result.truncated),
            "info": text_keys(getattr(result, "info", None)),
            "system_prompt": _prompt(getattr(result, "system_prompt", None)),
        }
    )


def _render_answer(view: Any) -> bytes:
    return encode(_observation(view, "text/plain" if isinstance(view, str) else "application/json"))


def _oracle_answer(action: Any) -> bytes:
    return encode({"action": action})


def _observation(data: Any, content_type: Any) -> dict[str, Any]:
    if not isinstance(content_type, str):
        raise PayloadError(f"content_type must be text such as 'image/png', not {describe(content_type)}")
    return {"data": data, "content_type": content_type}


def _prompt(prompt: Any) -> str | None:
    if prompt is None or isinstance(prompt, str):
        return prompt
    raise PayloadError(f"system_prompt must be text or None, not {describe(prompt)}")
