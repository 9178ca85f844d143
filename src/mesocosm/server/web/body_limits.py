"""Limit the size of request bodies, which are read into memory."""

import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mesocosm.core.foreign import too_much_work
from mesocosm.server.problems import early_response

MOST_WORK = 200_000
"""Maximum work of parsing a body, in units of `core.foreign`. Each takes about 100 ns of the server's event loop."""
MOST = 2 * 1024 * 1024
"""Maximum size of a body in bytes. The largest legitimate one is a domain with its vow."""
PARTS = re.compile(
    r".*/api/(?:workspaces/[^/]+/(?:datasets/[^/]+/versions/\d+/parts/\d+|snapshots/[^/]+/contents)"
    r"|run-imports/[^/]+/parts/\d+)"
)
"""Paths of parts of datasets and runs, and of contents of snapshots. Their routes count the bytes of their bodies
themselves, after they know the caller."""


class Bodies:
    """Middleware that answers 413 to a body of more than `MOST` bytes or too much parsing work.

    The size is checked by the declared length and while the body is read.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or (scope["method"] == "PUT" and PARTS.fullmatch(scope["path"])):
            await self.app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or len(length) > 20 or int(length) > MOST:
            await early_response(scope, 413, _WORDS)(scope, receive, send)
            return
        come = bytearray()

        async def counted() -> Message:
            message = await receive()
            come.extend(message.get("body", b""))
            # HTTPException, because FastAPI turns any other error while reading a body into 400.
            if len(come) > MOST:
                raise HTTPException(413, _WORDS)
            if not message.get("more_body") and len(come) > _SMALL and too_much_work(bytes(come), MOST_WORK):
                raise HTTPException(413, _TOO_MANY)
            return message

        await self.app(scope, counted, send)


_SMALL = 64 * 1024
_TOO_MANY = "the body has more values than any request needs; send less"
_WORDS = f"the body has more than {MOST:,} bytes, which no request needs; send less"
