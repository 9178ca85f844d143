"""Gzip compression of responses: JSON and text of at least `LEAST` bytes, never a stream."""

import gzip
import re

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEAST = 1024
LEVEL = 1
"""On loopback speed matters more than size: level 1 compresses 100 MB/s to 1/10, level 6 a third of that to 1/12."""

_INLINE = 256 * 1024
"""Size in bytes up to which compressing is cheaper than switching to another thread and back."""

_KINDS = re.compile(r"application/json|text/(?!event-stream)|image/svg|application/javascript")


class Compress:
    """Middleware that compresses complete responses with status 200; streams and ranges pass unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            await self.app(scope, receive, send)
            return
        held: Message | None = None

        async def pack(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _worth(message):
                held = message
                return
            if held is not None:
                start, held = held, None
                if not message.get("more_body"):
                    message = await _packed(start, message)
                await send(start)
            await send(message)

        await self.app(scope, receive, pack)


def _worth(message: Message) -> bool:
    headers = Headers(raw=message["headers"])
    length = headers.get("content-length", "")
    return (
        message["status"] == 200
        and length.isdigit()
        and int(length) >= LEAST
        and "content-encoding" not in headers
        and _KINDS.match(headers.get("content-type", "")) is not None
    )


async def _packed(start: Message, message: Message) -> Message:
    body = message.get("body", b"")
    if len(body) < LEAST:
        return message
    small = _gzip(body) if len(body) <= _INLINE else await to_thread.run_sync(_gzip, body)
    headers = MutableHeaders(raw=start["headers"])
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(small))
    if "accept-encoding" not in headers.get("vary", "").casefold():
        headers.add_vary_header("Accept-Encoding")
    return {**message, "body": small}


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, LEVEL, mtime=0)
