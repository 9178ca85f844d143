"""A response whose body is read while it comes."""

import asyncio
from collections.abc import AsyncIterator

from mesocosm.http.content import Decoder, encodings
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
        self._size = self._unfolded = 0
        # One buffer: a million chunks of one byte each would take hundreds of megabytes as a list.
        self._pending = bytearray()
        self._decoder: Decoder | None = None
        self._problem: HttpError | None = None
        self._ended = False
        self._news = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes, never an empty piece. Raises HttpError when it breaks off."""
        while True:
            while self._pending:
                data, self._pending = bytes(self._pending), bytearray()
                async for piece in self._decoded(data):
                    yield piece
            if self._problem is not None:
                raise self._problem
            if self._ended:
                self._check_end()
                return
            self._news.clear()
            await self._news.wait()

    async def _decoded(self, data: bytes) -> AsyncIterator[bytes]:
        """Yield what a piece unfolds to, in steps between which the event loop has its turn. Raises HttpError."""
        if self._decoder is None:
            yield data
            return
        try:
            for number, piece in enumerate(self._decoder.steps(data)):
                self._unfolded += len(piece)
                if self._unfolded > self._limit:
                    raise ResponseTooLarge(self.method, self.url, self._limit)
                if number:
                    await asyncio.sleep(0)
                if piece:
                    yield piece
        except ValueError as error:
            raise BadResponse(self.method, self.url, str(error)) from error

    def _check_end(self) -> None:
        try:
            if self._decoder is not None:
                self._decoder.end()
        except ValueError as error:
            raise BadResponse(self.method, self.url, str(error)) from error

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
        try:
            names = encodings(headers.get("content-encoding", ""), most=1)
        except ValueError as error:
            self._problem = BadResponse(self.method, self.url, str(error))
        else:
            self._decoder = Decoder(names[0]) if names else None
        self._news.set()

    def add(self, data: bytes) -> None:
        """Take a piece of the body."""
        if self._problem is not None:
            return
        self._size += len(data)
        if self._size > self._limit:
            self._problem = ResponseTooLarge(self.method, self.url, self._limit)
        else:
            self._pending += data
        self._news.set()

    def end(self, done: asyncio.Future[Response]) -> None:
        """Take the end, good or bad."""
        if done.cancelled():
            return
        error = done.exception()
        if isinstance(error, HttpError):
            self._problem = self._problem or error
        self._ended = True
        self._news.set()
