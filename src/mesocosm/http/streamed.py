"""A response whose body is read while it comes."""

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncIterator

from mesocosm.http.content import ACCEPTED
from mesocosm.http.errors import BadResponse, HttpError, ResponseTooLarge
from mesocosm.http.response import Headers, Response


class Streamed:
    """A response on its way: status and headers are known, the body comes in pieces, its content encoding undone.

    What came and was not taken yet stays in memory, at most `limit` bytes of it.
    """

    def __init__(self, method: str, url: str, limit: int) -> None:
        self.method = method
        self.url = url
        self.status = 0
        self.headers = Headers()
        self._limit = limit
        self._size = 0
        self._pieces: deque[bytes] = deque()
        self._decoder: _Inflater | None = None
        self._problem: HttpError | None = None
        self._ended = False
        self._news = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes, never an empty piece. Raises HttpError when it breaks off."""
        while True:
            while self._pieces:
                yield self._pieces.popleft()
            if self._problem is not None:
                raise self._problem
            if self._ended:
                return
            self._news.clear()
            await self._news.wait()

    async def read(self) -> Response:
        """Return the whole response. Raises HttpError."""
        body = b"".join([piece async for piece in self.pieces()])
        return Response(self.status, self.headers, body, method=self.method, url=self.url)

    async def begun(self) -> None:
        """Wait for the head. Raises HttpError."""
        while not self.status:
            if self._problem is not None:
                raise self._problem
            self._news.clear()
            await self._news.wait()

    # Called by the connection

    def begin(self, status: int, headers: Headers) -> None:
        """Take the head."""
        self.status, self.headers = status, headers
        names = [name for part in headers.get("content-encoding", "").split(",") if (name := part.strip().lower())]
        names = [name for name in names if name != "identity"]
        if len(names) > 1 or not ACCEPTED.issuperset(names):
            self._problem = BadResponse(
                self.method, self.url, f"the content encoding {', '.join(names)!r} is not known"
            )
        elif names:
            self._decoder = _Inflater(bare_allowed=names[0] == "deflate")
        self._news.set()

    def add(self, data: bytes) -> None:
        """Take a piece of the body."""
        if self._problem is not None:
            return
        try:
            piece = data if self._decoder is None else self._decoder.feed(data, self._limit - self._size + 1)
        except zlib.error as error:
            self._problem = BadResponse(self.method, self.url, f"the compressed content is broken ({error})")
            piece = b""
        self._size += len(piece)
        if self._size > self._limit:
            self._problem = ResponseTooLarge(self.method, self.url, self._limit)
        elif piece:
            self._pieces.append(piece)
        self._news.set()

    def end(self, done: asyncio.Future[Response]) -> None:
        """Take the end, good or bad."""
        if done.cancelled():
            return
        error = done.exception()
        if isinstance(error, HttpError):
            self._problem = self._problem or error
        elif self._problem is None and self._decoder is not None and not self._decoder.complete:
            self._problem = BadResponse(self.method, self.url, "the compressed content ends too early")
        self._ended = True
        self._news.set()


class _Inflater:
    """Undoes gzip or deflate piece by piece."""

    def __init__(self, *, bare_allowed: bool) -> None:
        self._bare_allowed = bare_allowed
        self._decoder: zlib._Decompress | None = None
        self.complete = True

    def feed(self, data: bytes, most: int) -> bytes:
        """Return what `data` unfolds to, at most `most` bytes. Raises zlib.error."""
        out: list[bytes] = []
        while data and most > 0:
            if self._decoder is None:
                # Bare deflate has no header; the low bits of the first byte tell it from the one with zlib's wrapper.
                bare = self._bare_allowed and data[0] & 0x0F != 8
                self._decoder = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
            piece = self._decoder.decompress(data, most)
            out.append(piece)
            most -= len(piece)
            self.complete = self._decoder.eof
            if not self.complete:
                break
            data = self._decoder.unused_data.lstrip(b"\0")
            self._decoder = None
        return b"".join(out)
