"""The two connections to a rollout's process: frames over a socket (our own SDK), the published protocol over HTTP."""

import asyncio
import itertools
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import BadResponse, ConnectFailed, ConnectionLost, HttpError, Timeout
from mesocosm.http.response import Response
from mesocosm.http.retry_after import retry_after
from mesocosm.rollouts.executor import RowJob
from mesocosm.rollouts.processes.callbacks import Callbacks, PendingResults
from mesocosm.rollouts.processes.polling import lease_of, poll
from mesocosm.rollouts.processes.wire import CompletionReport, GradingReport, Replies, encode_job
from mesocosm.rollouts.sdk.frames import (
    CANCEL,
    COMPLETION,
    GRADING,
    HELLO,
    LINE,
    PING,
    PLAY,
    PONG,
    WORN,
    FrameReader,
    frame,
)

POST_S = 10.0
"""A server that takes longer to accept a row is blocked by other rows; this row has not begun."""

_ENDING_S = 0.5
_CANCEL_S = 1.0
_FIRST_WAIT, _SHORTEST_WAIT, _LONGEST_WAIT = 1.0, 0.05, 60.0


class Displaced(Exception):
    """The row lost its process, or its time there, through no fault of its own; it can run again in another process.

    `harmed`: another row was the cause.
    """

    def __init__(self, words: str, *, harmed: bool = True) -> None:
        super().__init__(words)
        self.harmed = harmed


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
    printed line, `on_worn` when the code of a cancelled row continues.
    """

    punctual = True
    shareable = True

    def __init__(self, on_line: Callable[[str, str, str], None], on_worn: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self.capacity: int | None = None
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self._on_line = on_line
        self._on_worn = on_worn
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
        for kind, body in self._frames.feed(data):
            # The worker's code can write anything to the socket.
            with suppress(msgspec.DecodeError, UnicodeDecodeError, ValueError, TypeError):
                self._take(kind, body)

    def _take(self, kind: bytes, body: bytes) -> None:
        if kind in {COMPLETION, GRADING}:
            self._settle(kind, body)
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

    def _settle(self, kind: bytes, body: bytes) -> None:
        if kind == COMPLETION:
            completion = read_json(body, CompletionReport)
            results = self._rows.get(completion.rollout_id or "")
            if results is not None and not results.completion.done():
                results.completion.set_result(completion)
            return
        grading = read_json(body, GradingReport)
        results = self._rows.get(grading.rollout_id or "")
        if results is not None and not results.grading.done():
            results.grading.set_result(grading)

    def expect(self, job: RowJob, name: str) -> PendingResults:
        """Return the pending results of a row that will be sent as `name`."""
        del job
        results = self._rows[name] = PendingResults(Replies("", "", ""))
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


class HttpTransport:
    """A process that serves the published protocol on a port. Implements RowTransport."""

    punctual = False
    shareable = False

    def __init__(self, port: int, key: str, client: HttpClient, callbacks: Callbacks) -> None:
        self.capacity: int | None = None
        self.url = f"http://127.0.0.1:{port}"
        self._key = key
        self._client = client
        self._callbacks = callbacks
        self._polls: dict[str, asyncio.Task[None]] = {}

    def expect(self, job: RowJob, name: str) -> PendingResults:
        """Return the pending results of a row that will be sent as `name`."""
        # Releases of the package up to 0.3.1 use one key for the controller and the model.
        return self._callbacks.expect(name, job.model.api_key)

    async def send(self, job: RowJob, name: str, results: PendingResults) -> float:
        """Send a row until the server has room for it. Raises Displaced, EpisodeError."""
        body = encode_job(job, name, results.replies)
        loop = asyncio.get_running_loop()
        began, refused = loop.time(), 0.0
        while True:
            response = await self._posted(body)
            if response.status != 429:
                break
            seconds = retry_after(response.headers.get)
            await asyncio.sleep(_FIRST_WAIT if seconds is None else min(max(seconds, _SHORTEST_WAIT), _LONGEST_WAIT))
            refused = loop.time() - began
            if refused > (job.workflow_seconds or float("inf")):
                raise _broken(f"the server had no room for this row within {refused:.0f} s (429)")
        if not 200 <= response.status < 300:
            words = response.body[:500].decode("utf-8", "replace")
            raise _broken(f"the server refused this row with status {response.status}: {words}")
        lease = lease_of(response)
        if lease is not None:
            self._polls[name] = asyncio.create_task(poll(self._get, name, lease, results))
        return refused

    async def cancel(self, name: str) -> bool:
        """Request that the server cancel a row; return False if the row continues."""
        with suppress(HttpError, AttributeError):
            response = await self._post("/rollout/cancel", msgspec.json.encode({"ids": [name]}), _CANCEL_S)
            dispositions = response.json().get("dispositions") or {}
            return str(dispositions.get(name)).startswith("cancelled")
        return False

    async def probe(self, seconds: float) -> bool:
        """Return whether the server answers at all within `seconds`."""
        try:
            await self._client.request("GET", f"{self.url}/health", timeout=seconds)
        except BadResponse:
            return True
        except HttpError:
            return False
        return True

    async def _get(self, path: str, headers: Mapping[str, str], seconds: float) -> Response:
        headers = {"Authorization": f"Bearer {self._key}", **headers}
        return await self._client.request("GET", self.url + path, headers=headers, timeout=seconds)

    def forget(self, name: str) -> None:
        """Remove a row that has ended."""
        task = self._polls.pop(name, None)
        if task is not None:
            task.cancel()
        self._callbacks.forget(name)

    def close(self) -> None:
        """Stop polling for results."""
        for task in self._polls.values():
            task.cancel()

    async def _post(self, path: str, body: bytes, seconds: float) -> Response:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        return await self._client.request(
            "POST", self.url + path, headers=headers, body=body, timeout=seconds, resend=False
        )

    async def _posted(self, body: bytes) -> Response:
        """Send a row once. Raises Displaced, EpisodeError."""
        try:
            return await self._post("/rollout", body, POST_S)
        except (ConnectFailed, ConnectionLost) as error:
            # A process that ends closes its connections; its exit is noticed a moment later, and takes precedence.
            await asyncio.sleep(_ENDING_S)
            raise Displaced(str(error), harmed=False) from error
        except Timeout as error:
            raise Displaced(f"a server did not take a row within {POST_S:g} s") from error
        except HttpError as error:
            raise _broken(f"the server answered POST /rollout with something else than HTTP: {error}") from error


def _broken(message: str) -> EpisodeError:
    return EpisodeError(Cause.ROLLOUT_FAILED, message)
