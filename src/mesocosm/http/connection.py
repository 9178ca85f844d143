"""One HTTP/1.1 connection, which carries one request at a time."""

import asyncio
import select
import socket
from collections.abc import Callable
from typing import cast

import httptools

from mesocosm.http.errors import BadResponse, ConnectionLost, HttpError, ResponseTooLarge, Timeout
from mesocosm.http.response import Headers, Response
from mesocosm.http.streamed import Streamed
from mesocosm.http.target import Target

MAX_HEAD = 128 * 1024
MAX_FIELDS = 500
"""Header fields of a response: each look for one goes through all of them."""
_JOIN = 64 * 1024
_KEEPALIVE_SECONDS = 60


class Connection(asyncio.Protocol):
    """One connection. `send` a request, await the future; then `reusable` says whether it can carry another.

    `lost` is called once, when the connection is over.
    """

    def __init__(self, max_response: int, lost: Callable[["Connection"], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._max_response = max_response
        self._lost = lost
        self._parser = httptools.HttpResponseParser(self)
        # Small servers write bare line feeds; nobody else's responses share this connection.
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Response] | None = None
        self._stream: Streamed | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._deadline = 0.0
        self._timeout = 0.0
        self._method = ""
        self._target: Target | None = None
        self._problem: HttpError | None = None
        self.idle_since = 0.0
        self.reusable = False
        self.over = False
        self._received = 0
        self._first = b""
        self._reset()

    def _reset(self) -> None:
        self._status = 0
        self._fields: list[tuple[bytes, bytes]] = []
        self._field_bytes = 0
        # One growing buffer: a list of a million chunks of one byte each would take hundreds of megabytes.
        self._body = bytearray()
        self._size = 0

    @property
    def usable(self) -> bool:
        """Whether a request can be sent now."""
        return self.reusable and self._transport is not None and not self._transport.is_closing()

    @property
    def served(self) -> str:
        """The path of the last request."""
        return self._target.path if self._target else ""

    @property
    def quiet(self) -> bool:
        """Whether it is usable, and nothing came on it since the last response: no byte, no end, no reset.

        Asks the socket, because what came in the last moment has not reached the event loop yet. An unread byte (a late
        408, more than was asked for) would be taken for the answer to the next request.
        """
        if not self.usable or self._transport is None:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    def send(
        self,
        method: str,
        target: Target,
        head: bytes,
        body: bytes,
        deadline: float,
        timeout: float,
        stream: Streamed | None = None,
    ) -> asyncio.Future[Response]:
        """Send a request and return its future response, its body as it came, content encodings and all.

        `deadline` is a time of the event loop, `timeout` the seconds that it stands for. When the future is given up,
        call `abort`. A `stream` gets head and body as they come, and every piece of it moves the deadline; the future
        then has a response without a body at the end.
        """
        self._waiter = waiter = self._loop.create_future()
        self._stream = stream
        self._method, self._target, self._timeout = method, target, timeout
        self._received = 0
        self._problem = None
        self._reset()
        if self._transport is None or not self.usable:
            cause = "the server closed the connection as soon as it was made"
            self._fail(ConnectionLost(*self._name, cause, processed=False, received=0))
            return waiter
        self.reusable = False
        self._watch(deadline)
        if len(body) <= _JOIN:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        return waiter

    def abort(self, cause: str = "") -> None:
        """Drop the connection at once; a request in progress fails with ConnectionLost."""
        self.reusable = False
        if self._waiter is not None:
            self._fail(ConnectionLost(*self._name, cause, processed=True, received=self._received))
        if self._transport is not None:
            self._transport.abort()

    @property
    def _name(self) -> tuple[str, str]:
        return self._method, self._target.shown if self._target else ""

    # A timer for every request would cost more than the parsing. One timer stays armed and looks at the deadline.
    def _watch(self, deadline: float) -> None:
        self._deadline = deadline
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() < self._deadline:
            self._watch(self._deadline)
        else:
            self._fail(Timeout(*self._name, "response", self._timeout))

    def _fail(self, error: HttpError) -> None:
        waiter, self._waiter = self._waiter, None
        self.reusable = False
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        if self._transport is not None:
            self._transport.abort()

    def _fail_unfinished(self, error: HttpError) -> None:
        if self._waiter is not None:
            self._fail(error)

    def _finish(self, *, keep: bool) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            return
        assert self._transport is not None
        method, url = self._name
        body, headers = bytes(self._body), Headers(self._fields)
        waiter.set_result(Response(self._status, headers, body, method=method, url=url))
        # Many servers close after an error without saying so, or leave the body of a refused request unread, where the
        # next request is expected. An answer that came before the whole request was written leaves the rest of it in
        # the way.
        self.reusable = keep and self._status < 400 and self._transport.get_write_buffer_size() == 0

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; calls that last minutes need TCP's own sign of life."""
        self._transport = cast(asyncio.Transport, transport)
        self.reusable = True
        raw = transport.get_extra_info("socket")
        if raw is not None and raw.family in {socket.AF_INET, socket.AF_INET6}:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if hasattr(socket, "TCP_KEEPIDLE"):
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Parse a piece of the response."""
        if self._waiter is None:
            # Nothing was asked: whatever this is, it must not become the answer to the next request.
            self.abort()
            return
        if not self._received:
            self._first = data
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(self._problem or BadResponse(*self._name, _garbage(error, self._first)))
            return
        if self._stream is not None:
            self._deadline = self._loop.time() + self._timeout
        if self._received > self._max_response + MAX_HEAD:
            self._fail_unfinished(ResponseTooLarge(*self._name, self._max_response))
        elif not self._status and self._received > MAX_HEAD:
            self._fail_unfinished(self._flood())

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end, which is also the end of a body without a length."""
        self.reusable = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiter is not None:
            if exc is None and self._status >= 200 and self._until_close():
                self._finish(keep=False)
            else:
                cause = self._end(exc)
                self._fail(ConnectionLost(*self._name, cause, processed=True, received=self._received))
        self.reusable = False
        self.over = True
        self._lost(self)

    def _until_close(self) -> bool:
        return not any(name in {b"content-length", b"transfer-encoding"} for name, _ in self._fields)

    def _end(self, exc: Exception | None) -> str:
        how = f"the connection broke ({exc})" if exc else "the server closed the connection"
        if not self._received:
            return f"{how} before answering"
        if not self._status:
            return f"{how} in the middle of the headers of the response"
        return f"{how} in the middle of the response (status {self._status}, {self._size:,} bytes of its body)"

    def _flood(self) -> BadResponse:
        most = f"{MAX_HEAD:,} bytes, or more than {MAX_FIELDS} lines"
        return BadResponse(*self._name, f"the headers of the response are longer than {most}")

    # Called by the parser

    def on_message_begin(self) -> None:
        """Notice a message that nobody asked for."""
        if self._waiter is None:
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; trailers are counted and dropped."""
        self._field_bytes += len(name) + len(value) + 4
        if self._field_bytes > MAX_HEAD or len(self._fields) >= MAX_FIELDS:
            self._problem = self._flood()
            raise self._problem
        if not self._status:
            self._fields.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Judge the head: too long a body is refused before it comes, and a response without one ends here."""
        self._status = self._parser.get_status_code()
        if self._waiter is None or self._status < 200:
            return
        if self._method == "HEAD" or (self._status in {204, 304} and not self._until_close()):
            if self._stream is not None:
                self._stream.begin(self._status, Headers(self._fields))
            # There is no body, but the parser waits for the one that the headers announce: the connection ends here.
            self._finish(keep=False)
            return
        for name, value in self._fields:
            if name == b"content-length" and int(value) > self._max_response:
                self._problem = ResponseTooLarge(*self._name, self._max_response)
                raise self._problem
        if self._stream is not None:
            self._stream.begin(self._status, Headers(self._fields))

    def on_body(self, data: bytes) -> None:
        """Keep a piece of the body, or hand it on."""
        if self._stream is not None:
            self._stream.add(data)
        else:
            self._body += data
        self._size += len(data)
        if self._size > self._max_response:
            self._problem = ResponseTooLarge(*self._name, self._max_response)
            raise self._problem

    def on_message_complete(self) -> None:
        """Hand over the response; interim ones (1xx) are skipped."""
        if self._waiter is None:
            return
        if self._status < 200:
            field_bytes = self._field_bytes
            self._reset()
            self._field_bytes = field_bytes
        else:
            self._finish(keep=self._parser.should_keep_alive())


def _garbage(error: Exception, first: bytes) -> str:
    if isinstance(error, httptools.HttpParserUpgrade):
        return "the server switched to another protocol"
    return f"this is not an HTTP response ({error}); it begins with {first[:60]!r}"
