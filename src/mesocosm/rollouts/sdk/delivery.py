"""JSON posted over HTTP/1.1 with the standard library alone, and callbacks that are tried again until they arrive.

A rollout server runs in its user's own virtual environment, so it cannot count on an HTTP client there. Connections
are kept and used again: on loopback a callback costs little more than its JSON.
"""

import asyncio
import json
import ssl
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

WAITS_S = (0.5, 1.0, 2.0, 4.0)
"""Between the five attempts of one delivery."""

ATTEMPT_S = 10.0
"""One attempt may take so long."""

RETRIED = frozenset({429, 500, 502, 503, 504})
"""Statuses after which the same body may yet be taken."""

_LARGEST_REPLY = 64 * 1024 * 1024


class DeliveryError(Exception):
    """A post that was not taken. `status` is that of the last reply, None when no reply came at all."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class CallbackReply:
    """What a server answered; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the decoded body. Raises ValueError."""
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a URL leads."""

    host: str
    port: int
    secure: bool
    path: str

    @classmethod
    def of(cls, url: str) -> Self:
        """Take a URL apart. Raises ValueError for anything but http and https with a host."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"not an http or https URL: {url!r}")
        secure = parts.scheme == "https"
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.hostname, parts.port or (443 if secure else 80), secure, path)

    @property
    def peer(self) -> tuple[str, int, bool]:
        """What a kept connection belongs to."""
        return self.host, self.port, self.secure


@cache
def _certificates() -> ssl.SSLContext:
    # Loading them takes longer than all the rest of a connection.
    return ssl.create_default_context()


class _Connection:
    """One connection that may carry several requests one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.reusable = True

    @classmethod
    async def open(cls, target: _Target) -> Self:
        secure = _certificates() if target.secure else None
        return cls(*await asyncio.open_connection(target.host, target.port, ssl=secure))

    @property
    def stale(self) -> bool:
        """Whether the other side has closed it meanwhile."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def send(self, request: bytes) -> CallbackReply:
        self._writer.write(request)
        await self._writer.drain()
        while True:
            head = await self._reader.readuntil(b"\r\n\r\n")
            status, headers = _head(head)
            if status >= 200:
                break
        body = await self._body(status, headers)
        self.reusable = self.reusable and headers.get("connection", "").lower() != "close"
        return CallbackReply(status, headers, body)

    async def _body(self, status: int, headers: Mapping[str, str]) -> bytes:
        if status in {204, 304}:
            return b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        length = headers.get("content-length")
        if length is None:
            self.reusable = False
            return await self._reader.read(_LARGEST_REPLY)
        if not 0 <= int(length) <= _LARGEST_REPLY:
            raise ValueError(f"a reply of {length} bytes is too large")
        return await self._reader.readexactly(int(length))

    async def _chunks(self) -> bytes:
        parts: list[bytes] = []
        total = 0
        while True:
            size = int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16)
            total += size
            if total > _LARGEST_REPLY:
                raise ValueError("a reply is too large")
            if size == 0:
                break
            parts.append((await self._reader.readexactly(size + 2))[:-2])
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return b"".join(parts)

    def close(self) -> None:
        self._writer.close()


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    parts = first.split(" ", 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/1."):
        raise ValueError(f"not an HTTP reply: {first[:80]!r}")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(parts[1]), headers


class CallbackClient:
    """Posts JSON and keeps connections; used from one event loop. An async context manager that closes them."""

    def __init__(self) -> None:
        self._idle: defaultdict[tuple[str, int, bool], list[_Connection]] = defaultdict(list)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str] | None = None, *, seconds: float = ATTEMPT_S
    ) -> CallbackReply:
        """Post a JSON body once. Raises DeliveryError when no reply came within the seconds."""
        return await self.request("POST", url, body, headers, seconds=seconds)

    async def request(
        self,
        method: str,
        url: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        seconds: float = ATTEMPT_S,
    ) -> CallbackReply:
        """Send one request and return its reply, regardless of status. Raises DeliveryError without a reply."""
        try:
            target = _Target.of(url)
            request = _request(method, target, body, headers or {})
            async with asyncio.timeout(seconds):
                return await self._exchange(target, request)
        except TimeoutError:
            raise DeliveryError(f"no reply from {url} within {seconds:g} s") from None
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise DeliveryError(f"no usable reply from {url}: {type(error).__name__}: {error}") from error

    async def _exchange(self, target: _Target, request: bytes) -> CallbackReply:
        idle = self._idle[target.peer]
        while idle:
            kept = idle.pop()
            if kept.stale:
                kept.close()
                continue
            try:
                return await self._carry(target, kept, request)
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                # The other side may close a kept connection just as it is used. Half a reply is another matter.
                if getattr(error, "partial", b""):
                    raise
        return await self._carry(target, await _Connection.open(target), request)

    async def _carry(self, target: _Target, connection: _Connection, request: bytes) -> CallbackReply:
        done = False
        try:
            reply = await connection.send(request)
            done = True
        finally:
            if done and connection.reusable:
                self._idle[target.peer].append(connection)
            else:
                connection.close()
        return reply

    def close(self) -> None:
        """Close the connections that are not in use."""
        for kept in self._idle.values():
            for connection in kept:
                connection.close()
        self._idle.clear()


def _request(method: str, target: _Target, body: bytes, headers: Mapping[str, str]) -> bytes:
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = [f"{method} {target.path} HTTP/1.1", f"host: {host}:{target.port}", "accept: application/json"]
    if body:
        lines.append("content-type: application/json")
    lines.append(f"content-length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header or path holds a line break")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


async def deliver(
    client: CallbackClient,
    url: str,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    *,
    waits: Sequence[float] = WAITS_S,
    seconds: float = ATTEMPT_S,
) -> CallbackReply:
    """Post until it is taken: network errors, 429 and 5xx of `RETRIED` are tried again after each of `waits`.

    Returns the first reply below 300. Raises DeliveryError with the last status after the last attempt, and at once
    for any other status, because the same body would be refused again.
    """
    try:
        _Target.of(url)
    except ValueError as error:
        raise DeliveryError(str(error)) from error
    for wait in (*waits, None):
        try:
            reply = await client.post(url, body, headers, seconds=seconds)
        except DeliveryError:
            if wait is None:
                raise
        else:
            if reply.status < 300:
                return reply
            if wait is None or reply.status not in RETRIED:
                said = reply.body[:200].decode("utf-8", "replace")
                raise DeliveryError(f"{url} answered {reply.status}: {said}", reply.status)
        await asyncio.sleep(wait)
    raise AssertionError("the last attempt returns or raises")
