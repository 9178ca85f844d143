"""How much may be sent to a platform at once: what is read into memory is bounded, whoever sends it."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mesocosm.platform.bench.errors import error_document

MOST = 2 * 1024 * 1024
"""Bytes of a body. The largest that means something is a domain with its vow."""


class Bodies:
    """Middleware that answers 413 to a body of more than `MOST` bytes, told by its length or while it comes."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or len(length) > 20 or int(length) > MOST:
            await error_document(413, _WORDS)(scope, receive, send)
            return
        come = 0

        async def counted() -> Message:
            nonlocal come
            message = await receive()
            come += len(message.get("body", b""))
            if come > MOST:
                # Of all errors, only this one passes those who read bodies.
                raise HTTPException(413, _WORDS)
            return message

        await self.app(scope, counted, send)


_WORDS = f"the body has more than {MOST:,} bytes, which no request needs; send less"
