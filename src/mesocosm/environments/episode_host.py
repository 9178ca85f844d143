"""Run the episodes of one environment class: one instance each, in threads, with the calls of an episode in order."""

import asyncio
import inspect
import logging
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
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

IDLE_SECONDS = 3600.0
"""An episode without a call for this long counts as abandoned."""

MAX_THREADS = 256
"""Maximum concurrent calls of user code; further calls wait."""

_log = logging.getLogger(__name__)


class DaemonThreads:
    """Runs calls in at most `most` threads. A thread is started if all others are busy; further calls wait.

    The pool of the standard library waits for its threads when the process exits, so one stuck call would keep a server
    alive after Ctrl-C. These threads are daemons and end with the process.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._started = 0
        self._busy = 0
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.AbstractEventLoop, asyncio.Future[Any]]] = (
            SimpleQueue()
        )

    async def run(self, call: Callable[[], Any]) -> Any:
        """Return what `call` returns, without blocking the running loop. `call` must not raise."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._busy += 1
        if self._busy > self._started < self._most:
            self._started += 1
            threading.Thread(target=self._work, name=f"episode-{self._started}", daemon=True).start()
        self._jobs.put((call, loop, future))
        return await future

    def _work(self) -> None:
        while True:
            call, loop, future = self._jobs.get()
            result = call()
            with suppress(RuntimeError):  # the loop is closed, so nothing awaits the result
                loop.call_soon_threadsafe(self._finish, future, result)
            del call, loop, future, result  # a waiting thread must not keep an episode alive

    def _finish(self, future: asyncio.Future[Any], result: Any) -> None:
        self._busy -= 1
        if not future.cancelled():
            future.set_result(result)


class RequestRefused(Exception):
    """The request is answered with HTTP `status` and `detail`, which gives the reason."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(eq=False)
class _HostedEpisode:
    """One episode; `env` is None before its reset and after its close."""

    env: BaseEnv | None = None
    last_call: float = 0.0
    callers: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True)
class _Raised:
    """An exception of user code as a value: SystemExit would stop the server, and futures reject StopIteration."""

    error: BaseException


class EpisodeHost:
    """Runs the episodes of `env_class`, and answers each request with the bytes of a JSON body.

    User code runs in threads, so that a slow call delays only its own episode. Methods raise `RequestRefused`: 404 for
    an episode that is not live, 500 if user code fails or returns something that cannot be sent, 501 if there is no
    oracle. All methods must be called on one event loop.
    """

    def __init__(self, env_class: type[BaseEnv], *, idle_seconds: float = IDLE_SECONDS) -> None:
        self.name: str = getattr(env_class, "__name__", type(env_class).__name__)
        self.offers_oracle = _offers_oracle(env_class)
        self._env_class = env_class
        self._idle_seconds = idle_seconds
        self._threads = DaemonThreads(MAX_THREADS)
        self._episodes: OrderedDict[str, _HostedEpisode] = OrderedDict()  # least recently called first

    async def health(self) -> dict[str, Any]:
        """Return the state of the server: class, number of live episodes, whether it has an oracle."""
        live = sum(episode.env is not None for episode in self._episodes.values())
        return {"status": "ok", "env": self.name, "episodes": live, "oracle": self.offers_oracle}

    async def reset(self, body: ResetRequest) -> bytes:
        """Start an episode and return its first observation. An episode with the same id is closed first."""
        async with self._turn(body.episode_id) as episode:
            await self._close(episode)
            await self._close_idle()

            def start() -> Any:
                episode.env = self._env_class()
                return episode.env.reset(seed=body.seed, **body.scenario_params)

            try:
                return await self._run("reset", start, _reset_answer)
            except RequestRefused:
                await self._close(episode)
                raise

    async def step(self, body: StepRequest) -> bytes:
        """Pass the action through the environment's `parse_action`, then its `step`."""
        async with self._live(body.episode_id) as env:
            return await self._run("step", lambda: env.step(env.parse_action(body.action)), _step_answer)

    async def close(self, body: CloseRequest) -> bytes:
        """End an episode. Ending an episode that is not live is not an error.

        If the environment's `close` fails, the episode still ends; the response has the reason as `error`.
        """
        failed = ""
        if body.episode_id in self._episodes:
            async with self._turn(body.episode_id) as episode:
                failed = await self._close(episode)
        return encode({"error": failed}) if failed else b"{}"

    async def render(self, body: RenderRequest) -> bytes:
        """Return a human-readable view of the episode."""
        async with self._live(body.episode_id) as env:
            return await self._run("render", lambda: env.render(mode=body.mode), _render_answer)

    async def oracle(self, body: OracleRequest) -> bytes:
        """Return the best next action according to the environment, without applying it."""
        async with self._live(body.episode_id) as env:
            if not self.offers_oracle:
                raise RequestRefused(501, f"{self.name} offers no oracle: it does not override BaseEnv.oracle")
            return await self._run("oracle", env.oracle, _oracle_answer)

    async def close_all(self) -> None:
        """Close every episode without a call in progress."""
        for episode_id, episode in list(self._episodes.items()):
            if not episode.callers:
                del self._episodes[episode_id]
                await self._close(episode)

    @asynccontextmanager
    async def _turn(self, episode_id: str) -> AsyncIterator[_HostedEpisode]:
        """Wait for earlier calls of this episode. An episode is kept while it is in use or has an instance."""
        episode = self._episodes.setdefault(episode_id, _HostedEpisode())
        self._episodes.move_to_end(episode_id)
        episode.callers += 1
        try:
            async with episode.lock:
                yield episode
        finally:
            episode.callers -= 1
            episode.last_call = time.monotonic()
            if not episode.callers and episode.env is None:
                del self._episodes[episode_id]

    @asynccontextmanager
    async def _live(self, episode_id: str) -> AsyncIterator[BaseEnv]:
        unknown = RequestRefused(404, f"no live episode {episode_id!r}: start it by POST /reset")
        if episode_id not in self._episodes:
            raise unknown
        async with self._turn(episode_id) as episode:
            if episode.env is None:
                raise unknown
            yield episode.env

    async def _run(self, method: str, call: Callable[[], Any], answer: Callable[[Any], bytes]) -> bytes:
        """Return `answer(call())`; await the result of `call` if necessary. Raise RequestRefused if either fails."""

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
            except Exception as error:  # noqa: BLE001 - every exception of user code is answered
                outcome = _Raised(error)
        if isinstance(outcome, _Raised):
            raise self._refused(method, outcome.error) from outcome.error
        body: bytes = outcome
        return body

    def _refused(self, method: str, error: BaseException) -> RequestRefused:
        if isinstance(error, NotImplementedError) and method == "oracle":
            return RequestRefused(501, str(error) or f"{self.name} offers no oracle in this state")
        if isinstance(error, PayloadError):
            return RequestRefused(500, f"{self.name}.{method}() returned a bad value: {error}")
        _log.error("%s.%s() failed", self.name, method, exc_info=error)
        *_, frame = traceback.extract_tb(error.__traceback__)
        place = f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}"
        return RequestRefused(500, f"{self.name}.{method}() failed: {type(error).__name__}: {error} ({place})")

    async def _close(self, episode: _HostedEpisode) -> str:
        """Remove the instance from its episode and close it. Log and return a failure: the episode has ended anyway."""
        env, episode.env = episode.env, None
        if env is None:
            return ""
        try:
            await self._run("close", env.close, lambda _: b"{}")
        except RequestRefused as refused:
            return refused.detail
        return ""

    async def _close_idle(self) -> None:
        forgotten = time.monotonic() - self._idle_seconds
        while self._episodes:
            episode_id, episode = next(iter(self._episodes.items()))
            if episode.callers or episode.last_call > forgotten:
                return
            del self._episodes[episode_id]
            await self._close(episode)


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
