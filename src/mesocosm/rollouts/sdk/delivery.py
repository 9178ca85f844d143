"""Send JSON with the standard library only, and retry callbacks until they are accepted.

A rollout server runs in its user's own virtual environment, which may have no HTTP client.
"""

import asyncio
import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

WAITS_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds between the five attempts of one delivery."""

ATTEMPT_S = 10.0
"""Time limit of one attempt in seconds."""

RETRIED = frozenset({429, 500, 502, 503, 504})
"""Statuses after which a retry may succeed."""

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

_LARGEST_REPLY = 64 * 1024 * 1024


class DeliveryError(Exception):
    """A request without a usable reply. `status` is the status of the last reply, or None if there was no reply."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class CallbackReply:
    """The reply of a server; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the decoded body. Raises ValueError."""
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Returns a redirect as the reply: following it would send the key to another address, without the body."""

    def redirect_request(self, *_: Any) -> None:
        return None


@cache
def _opener(*, direct: bool, secure: bool) -> urllib.request.OpenerDirector:
    # A proxy cannot reach loopback addresses of this machine.
    proxies = urllib.request.ProxyHandler({} if direct else None)
    # Loading the certificates takes longer than the rest of a connection.
    https = [urllib.request.HTTPSHandler(context=ssl.create_default_context())] if secure else []
    return urllib.request.build_opener(_NoRedirects, proxies, *https)


async def send(
    url: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    seconds: float = ATTEMPT_S,
) -> CallbackReply:
    """Send one request and return its reply, regardless of status. Raises DeliveryError without a reply in time."""
    host = _host(url)
    if any("\r" in text or "\n" in text for text in (headers or {}).values()):
        raise DeliveryError("a header holds a line break")
    named = {"Accept": "application/json", **({"Content-Type": "application/json"} if body else {}), **(headers or {})}
    request = urllib.request.Request(url, body or None, named, method=method)  # noqa: S310 -- http only, see above
    opener = _opener(direct=host in LOOPBACK, secure=request.type == "https")
    try:
        async with asyncio.timeout(seconds):
            return await _in_thread(lambda: _reply(opener, request, seconds))
    except TimeoutError:
        raise DeliveryError(f"no reply from {url} within {seconds:g} s") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, TimeoutError):
            raise DeliveryError(f"no reply from {url} within {seconds:g} s") from error
        raise DeliveryError(f"no usable reply from {url}: {type(reason).__name__}: {reason}") from error


def _host(url: str) -> str:
    """Return the host of a URL. Raises DeliveryError unless it is http or https with a host."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise DeliveryError(f"not an http or https URL: {url!r}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise DeliveryError(f"not an http or https URL: {url!r}")
    return parts.hostname


def _reply(opener: urllib.request.OpenerDirector, request: urllib.request.Request, seconds: float) -> CallbackReply:
    try:
        response = opener.open(request, timeout=seconds)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        body = response.read(_LARGEST_REPLY + 1)
        if len(body) > _LARGEST_REPLY:
            raise ValueError("the reply is too large")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return CallbackReply(response.status, headers, body)


async def _in_thread(work: Callable[[], CallbackReply]) -> CallbackReply:
    """Run `work` on a new thread: the loop's pool is small, and would limit the number of rollouts."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[CallbackReply] = loop.create_future()

    def settle(reply: CallbackReply | None, error: Exception | None) -> None:
        if future.done():
            return
        if reply is not None:
            future.set_result(reply)
        elif error is not None:
            future.set_exception(error)

    def run() -> None:
        reply, failure = None, None
        try:
            reply = work()
        except Exception as error:  # noqa: BLE001 - re-raised in the awaiting task
            failure = error
        # If the loop has been closed meanwhile, the reply has no reader.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, reply, failure)

    threading.Thread(target=run, name="delivery", daemon=True).start()
    return await future


async def deliver(
    url: str,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    *,
    waits: Sequence[float] = WAITS_S,
    seconds: float = ATTEMPT_S,
) -> CallbackReply:
    """Post until the body is accepted: network errors and statuses in `RETRIED` are retried after each of `waits`.

    Return the first reply below 300. Raises DeliveryError with the last status after the last attempt, and at once for
    any other status or an invalid URL, because a retry would not help.
    """
    _host(url)
    for wait in (*waits, None):
        try:
            reply = await send(url, body, headers, seconds=seconds)
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
