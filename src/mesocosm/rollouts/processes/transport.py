"""The connection to a rollout's process: its interface, and frames over a socket, which our own SDK speaks."""

import asyncio
import itertools
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from mesocosm.core.foreign import read_json
from mesocosm.rollouts.executor import RowJob
from mesocosm.rollouts.processes.wire import NO_REPLIES, CompletionReport, GradingReport, Replies, encode_job
from mesocosm.rollouts.sdk.frames import (
    CANCEL,
    COMPLETION,
    GRADING,
    HELLO,
    LINE,
    LONGEST,
    PING,
    PLAY,
    PONG,
    WORN,
    FrameReader,
    FrameTooLong,
    frame,
)


class Displaced(Exception):
    """The row lost its process, or its time there, through no fault of its own; it can run again in another process.

    `harmed`: another row was the cause.
    """

    def __init__(self, words: str, *, harmed: bool = True) -> None:
        super().__init__(words)
        self.harmed = harmed


class PendingResults:
    """The results of one row. The first of each kind counts. `replies`: where the row reports them, over HTTP."""

    def __init__(self, replies: Replies = NO_REPLIES) -> None:
        loop = asyncio.get_running_loop()
        self.replies = replies
        self.completion: asyncio.Future[CompletionReport] = loop.create_future()
        self.grading: asyncio.Future[GradingReport] = loop.create_future()

    def take(self, report: CompletionReport | GradingReport) -> bool:
        """Set a result. Return False if it contradicts the one that is there."""
        future: asyncio.Future[Any] = self.completion if isinstance(report, CompletionReport) else self.grading
        if not future.done():
            future.set_result(report)
        return future.cancelled() or future.exception() is not None or future.result() == report

    def fail(self, error: Exception) -> None:
        """Raise an error where a missing result is awaited."""
        for future in (self.completion, self.grading):
            if not future.done():
                future.set_exception(error)
                # Only one of them is awaited, or none if the row is over; this marks the exception as retrieved.
                future.exception()


class RowTransport(Protocol):
    """Carries rows to one process and their results back."""

    capacity: int | None
    """Maximum number of concurrent rows; None is unlimited."""

    punctual: bool
    """Whether the process ends each row in time, unless code blocks its event loop."""

    shareable: bool
    """Whether several processes may serve the same rollout from the start."""

    def expect(self, job: RowJob, name: str) -> PendingResults:
        """Return the pending results of a row that will be sent as `name`."""
        ...

    async def send(self, job: RowJob, name: str, results: PendingResults) -> float:
        """Send a row until it is accepted; return the seconds without room for it. Raises Displaced, EpisodeError."""
        ...

    async def cancel(self, name: str) -> bool:
        """Cancel a row; return False if the process continues with it."""
        ...

    async def probe(self, seconds: float) -> bool:
        """Return whether the process answers within `seconds`."""
        ...

    def forget(self, name: str) -> None:
        """Remove a row that has ended."""
        ...

    def close(self) -> None:
        """Release the connection to the process."""
        ...


class SocketTransport(asyncio.Protocol):
    """The parent's end of a worker's socket. Implements RowTransport.

    `ready` is set when the worker is ready. `on_line` is called with the row's name, the stream and the text of each
    printed line, `on_worn` when the code of a cancelled row continues, `on_misuse` with words if what the worker sends
    cannot be read further.
    """

    punctual = True
    shareable = True

    def __init__(
        self,
        on_line: Callable[[str, str, str], None],
        on_worn: Callable[[], None],
        on_misuse: Callable[[str], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.capacity: int | None = None
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self._on_line = on_line
        self._on_worn = on_worn
        self._on_misuse = on_misuse
        self._frames = FrameReader()
        self._rows: dict[str, PendingResults] = {}
        self._pings: dict[bytes, asyncio.Future[None]] = {}
        self._numbers = itertools.count()
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None

    async def connect(self, connection: socket.socket) -> None:
        """Connect our end of a socket pair."""
        await self._loop.create_unix_connection(lambda: self, sock=connection)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Process the received frames."""
        try:
            for kind, body in self._frames.feed(data):
                # The worker's code can write anything to the socket.
                with suppress(msgspec.DecodeError, ValueError, TypeError, LookupError, RecursionError):
                    self._take(kind, body)
        except FrameTooLong:
            self.close()
            self._on_misuse(f"sent a message of more than {LONGEST >> 20} MB")

    def _take(self, kind: bytes, body: bytes) -> None:
        if kind in {COMPLETION, GRADING}:
            report = read_json(body, CompletionReport) if kind == COMPLETION else read_json(body, GradingReport)
            if report.rollout_id in self._rows:
                self._rows[report.rollout_id].take(report)
        elif kind == LINE:
            name, stream, line = msgspec.json.decode(body, type=tuple[str, str, str])
            self._on_line(name, stream, line)
        elif kind == PONG:
            ping = self._pings.pop(body, None)
            if ping is not None and not ping.done():
                ping.set_result(None)
        elif kind == WORN:
            self._on_worn()
        elif kind == HELLO and not self.ready.done():
            self.capacity = msgspec.json.decode(body, type=dict[str, int])["capacity"] or None
            self.ready.set_result(None)

    def expect(self, job: RowJob, name: str) -> PendingResults:
        """Return the pending results of a row that will be sent as `name`."""
        del job
        results = self._rows[name] = PendingResults()
        return results

    async def send(self, job: RowJob, name: str, results: PendingResults) -> float:
        """Queue a row, to be sent with all others of this turn of the loop."""
        self._send(PLAY, encode_job(job, name, results.replies))
        return 0.0

    async def cancel(self, name: str) -> bool:
        """Cancel a row; the worker reports it if the row's code continues."""
        self._send(CANCEL, msgspec.json.encode([name]))
        return True

    async def probe(self, seconds: float) -> bool:
        """Return whether the worker's event loop answers within `seconds`."""
        key = str(next(self._numbers)).encode()
        ping = self._pings[key] = self._loop.create_future()
        self._send(PING, key)
        try:
            async with asyncio.timeout(seconds):
                await ping
        except TimeoutError:
            return False
        finally:
            self._pings.pop(key, None)
        return True

    def forget(self, name: str) -> None:
        """Remove a row that has ended."""
        self._rows.pop(name, None)

    def close(self) -> None:
        """Close the socket, which makes the worker end."""
        if self._transport is not None:
            self._transport.close()

    def _send(self, kind: bytes, body: bytes) -> None:
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(frame(kind, body))

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(unsent))
