"""Clients of the openai and anthropic packages, whose connections all rows of a process share.

A client costs a fiftieth of a new one, and closing it closes nothing. It works on any event loop: each loop has
connections of its own. A client's address, key and headers are its own, and cookies are not kept.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncIterator, Iterator
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from mesocosm.rollouts.sdk.delivery import LOOPBACK

PATIENCE_S = 600.0
"""Seconds without an answer after which a call fails, the packages' own limit."""

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from openai import AsyncOpenAI, OpenAI


def openai(base_url: str, api_key: str) -> "AsyncOpenAI":
    """Return a client to await. Raises ModuleNotFoundError without the openai package."""
    client: AsyncOpenAI = _client("AsyncOpenAI", base_url, api_key)
    return client


def sync_openai(base_url: str, api_key: str) -> "OpenAI":
    """Return a blocking client. Raises ModuleNotFoundError without the openai package."""
    client: OpenAI = _client("OpenAI", base_url, api_key)
    return client


def anthropic(base_url: str, api_key: str) -> "AsyncAnthropic":
    """Return a client to await. Raises ModuleNotFoundError without the anthropic package."""
    client: AsyncAnthropic = _client("AsyncAnthropic", base_url.removesuffix("/v1"), api_key)
    return client


def sync_anthropic(base_url: str, api_key: str) -> "Anthropic":
    """Return a blocking client. Raises ModuleNotFoundError without the anthropic package."""
    client: Anthropic = _client("Anthropic", base_url.removesuffix("/v1"), api_key)
    return client


async def close() -> None:
    """Close the idle connections of the running event loop."""
    for transport in _transports:
        await transport.leave(asyncio.get_running_loop())


def http_client(base_url: str, kind: str = "AsyncOpenAI") -> Any:
    """Return the HTTP client that clients of a kind share, None if a proxy of the environment is in between.

    The kinds are the names in the openai and anthropic packages. Raises ModuleNotFoundError without the package.
    """
    host = urlsplit(base_url).hostname or ""
    # None of the environment's proxies reaches loopback addresses of this machine. Others are the package's business.
    if host not in LOOPBACK and getproxies() and not proxy_bypass(host):
        return None
    with _lock:
        return _shared(kind)


def _client(kind: str, base_url: str, api_key: str) -> Any:
    client = getattr(_package_of(kind), kind)
    return client(base_url=base_url, api_key=api_key, http_client=http_client(base_url, kind))


def _package_of(kind: str) -> Any:
    package = "openai" if kind.endswith("OpenAI") else "anthropic"
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the {package} package is not installed in the environment of this rollout: add {package!r} to the "
            "dependencies in its pyproject.toml; complete() of mesocosm.rollouts needs no package",
            name=error.name,
        ) from error


@cache
def _shared(kind: str) -> Any:
    base = "AsyncClient" if kind.startswith("Async") else "Client"
    default = getattr(_package_of(kind), f"Default{base.replace('Client', 'HttpxClient')}")
    http = import_module(next(one.__module__ for one in default.__mro__ if one.__name__ == base).partition(".")[0])
    transport = _Transport(http)
    _transports.append(transport)
    atexit.register(transport.end)
    # Cookies of one row's responses would be sent with another row's requests.
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    # The packages allow 5 s for a connection, and a busy event loop may take longer to see that it has one.
    return _kept_open(default)(transport=transport, cookies=cookies, timeout=http.Timeout(PATIENCE_S))


def _kept_open(default: type) -> Any:
    """Return a class of HTTP clients that cannot be closed: many write `async with client` for each row."""

    class KeptOpen(default):  # type: ignore[misc]
        def close(self) -> None:
            """Do nothing."""

        async def aclose(self) -> None:
            """Do nothing."""

    return KeptOpen


class _Transport:
    """A transport of httpx, or of a package of the same form, that keeps connections.

    A pool of httpx looks at each of its connections for each request: 0.5 ms of processor time at one connection, 1.2
    ms at 16, 4 ms at 256. So each connection has a pool, and a request takes one that is idle.
    """

    def __init__(self, http: Any) -> None:
        self._http = http
        self._limits = http.Limits(max_connections=None, max_keepalive_connections=None)
        self._body: Any = type("Body", (_Body, http.AsyncByteStream, http.SyncByteStream), {})
        self._idle: dict[asyncio.AbstractEventLoop | None, list[Any]] = {}

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request over a connection of the running event loop."""
        idle = self._idle_of(asyncio.get_running_loop())
        pool = idle.pop() if idle else self._http.AsyncHTTPTransport(limits=self._limits)
        try:
            response = await pool.handle_async_request(request)
        except BaseException:
            idle.append(pool)
            raise
        response.stream = self._body(response.stream, idle, pool)
        return response

    def handle_request(self, request: Any) -> Any:
        """Send a request from any thread."""
        idle = self._idle_of(None)
        try:
            pool = idle.pop()
        except IndexError:
            pool = self._http.HTTPTransport(limits=self._limits)
        try:
            response = pool.handle_request(request)
        except BaseException:
            idle.append(pool)
            raise
        response.stream = self._body(response.stream, idle, pool)
        return response

    async def leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the idle connections of a loop, which is running."""
        for pool in self._idle.pop(loop, []):
            await pool.aclose()

    def end(self) -> None:
        """Close the idle connections of blocking clients."""
        for pool in self._idle.pop(None, []):
            pool.close()

    def _idle_of(self, loop: asyncio.AbstractEventLoop | None) -> list[Any]:
        idle = self._idle.get(loop)
        if idle is None:
            # Connections of a loop that has ended can no longer be closed, only dropped.
            for other in list(self._idle):
                if other is not None and other.is_closed():
                    self._idle.pop(other, None)
            idle = self._idle.setdefault(loop, [])
        return idle


class _Body:
    """The body of a response; its pool is idle again once it is closed."""

    def __init__(self, body: Any, idle: list[Any], pool: Any) -> None:
        self._body = body
        self._idle = idle
        self._pool = pool

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._body)

    def close(self) -> None:
        """Close the body."""
        self._body.close()
        self._release()

    async def aclose(self) -> None:
        """Close the body."""
        await self._body.aclose()
        self._release()

    def _release(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            self._idle.append(pool)


_transports: list[_Transport] = []
_lock = threading.RLock()


def _forked() -> None:
    """Forget all connections: a child must not send over those of its parent."""
    _transports.clear()
    _shared.cache_clear()
    _lock.release()


if hasattr(os, "register_at_fork"):
    # Holding the lock, so that no thread holds it in the child.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forked)
