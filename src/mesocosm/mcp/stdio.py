"""An MCP server as a process of its own: one JSON message a line on standard input and output."""

import asyncio
import ctypes
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Self

from mesocosm.core.inherited import inherited
from mesocosm.core.redact import Redactor
from mesocosm.mcp import message
from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.connection import MessageReader, named, reply_to
from mesocosm.mcp.errors import McpError, ProtocolBroken, ServerEnded, ServerSilent, ServerUnreachable
from mesocosm.mcp.message import MOST_BYTES, RpcMessage

PACKAGES = ("VIRTUAL_ENV", "NODE_PATH")
"""Variables that a server gets besides those of every program; all others must be named.

So no key of a model reaches a tool.
"""
LINES = 20
"""Last lines of a server's standard error that are kept."""
GRACE_S = 2.0
"""Seconds for a server to end after its input was closed, and again after SIGTERM."""
_PIECE = 64 * 1024


_PR_SET_PDEATHSIG = 1


def _ends_with_parent() -> Callable[[], None] | None:
    """Return what a new process calls so that it is killed when this one dies, even if it does not read its input."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class StdioConnection:
    """A connection to a process. Implements mesocosm.mcp.connection.McpConnection.

    The process has a session of its own, so that it ends with all of its children. It also ends when this process is
    killed.
    """

    def __init__(self, process: asyncio.subprocess.Process, reader: MessageReader) -> None:
        self.version = ""
        self._process = process
        self._reader = reader
        self._numbers = count(1)
        self._pending: dict[int, asyncio.Future[RpcMessage]] = {}
        self._stderr: deque[str] = deque(maxlen=LINES)
        self._strayed = ""
        self._failed: McpError | None = None
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._drain())]

    @classmethod
    async def open(cls, address: ServerAddress, environment: Mapping[str, str]) -> Self:
        """Start the command of an address. Raises ServerUnreachable, UsageError."""
        words = address.words(environment)
        chosen = {name: environment[name] for name in (*PACKAGES, *address.env) if name in environment}
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=inherited(environment) | chosen,
                start_new_session=True,
                preexec_fn=_ends_with_parent(),
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ServerUnreachable(address.shown, f"cannot be started: {words[0]}: {why}") from error
        return cls(process, MessageReader(address.shown, Redactor(address.secrets(environment))))

    async def request(self, method: str, params: Mapping[str, Any] | None, seconds: float) -> Any:
        """Send a request and return its result. Raises McpError."""
        number = next(self._numbers)
        future: asyncio.Future[RpcMessage] = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        try:
            async with asyncio.timeout(seconds):
                await self._send(message.request(number, method, params))
                answer = await future
        except TimeoutError as error:
            if method != "initialize":
                with suppress(McpError):
                    await self.notify("notifications/cancelled", {"requestId": number, "reason": "timeout"})
            hint = f"; it wrote {self._strayed!r}, which is no message" if self._strayed else ""
            said = f"did not answer {named(method, params)} within {seconds:g} s{hint}"
            raise ServerSilent(self._reader.shown, said, stderr=self._words()) from error
        finally:
            self._pending.pop(number, None)
            if future.done() and not future.cancelled():
                future.exception()  # the process may have ended while the request was being written
        return self._reader.result(answer, method)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification. Raises McpError."""
        try:
            async with asyncio.timeout(GRACE_S):
                await self._send(message.notification(method, params))
        except TimeoutError as error:
            raise ServerSilent(self._reader.shown, f"does not read {method}", stderr=self._words()) from error

    async def close(self) -> None:
        """Close its input, wait for its end, and then end it with all its children; never raise."""
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
            for step in (None, signal.SIGTERM):
                if step is not None:
                    self._signal(step)
                with suppress(TimeoutError):
                    async with asyncio.timeout(GRACE_S):
                        await self._process.wait()
                        break
        finally:
            # Also what it left behind in its session.
            self._signal(signal.SIGKILL)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _send(self, line: bytes) -> None:
        if self._failed is not None:
            raise self._failed
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            await self._process.stdin.drain()
        except (ConnectionError, OSError, RuntimeError) as error:
            raise await self._ended() from error

    async def _listen(self) -> None:
        """Read lines until the server closes its output; then fail what is awaited."""
        assert self._process.stdout is not None
        line, dropped = bytearray(), False
        while piece := await self._process.stdout.read(_PIECE):
            *ends, rest = piece.split(b"\n")
            for end in ends:
                line += end
                if not dropped:
                    self._take(bytes(line).strip())
                line.clear()
                dropped = False
            if not dropped:
                line += rest
            if len(line) > MOST_BYTES:
                line.clear()
                dropped = True
                self._fail(ProtocolBroken(self._reader.shown, f"sent a message of more than {MOST_BYTES:,} bytes"))
        self._failed = await self._ended()
        self._fail(self._failed)

    def _take(self, line: bytes) -> None:
        if not line:
            return
        if not line.startswith((b"{", b"[")):
            # Many servers greet on standard output, although the protocol forbids it.
            self._strayed = self._reader.text(line[:200].decode(errors="replace"))
            return
        try:
            messages = self._reader.messages(line)
        except ProtocolBroken as error:
            self._fail(error)
            return
        for one in messages:
            if one.method is None:
                future = self._pending.get(one.id) if isinstance(one.id, int) else None
                if future is not None and not future.done():
                    future.set_result(one)
            elif one.id is not None and self._process.stdin is not None and not self._process.stdin.is_closing():
                self._process.stdin.write(reply_to(one) + b"\n")

    def _fail(self, error: McpError) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(error)

    async def _drain(self) -> None:
        assert self._process.stderr is not None
        rest = b""
        while piece := await self._process.stderr.read(_PIECE):
            *lines, rest = (rest + piece).split(b"\n")
            rest = rest[-_PIECE:]
            self._stderr.extend(line[:1000].decode(errors="replace") for line in lines)
        if rest:
            self._stderr.append(rest[:1000].decode(errors="replace"))

    def _words(self) -> str:
        return self._reader.text("\n".join(self._stderr))

    async def _ended(self) -> McpError:
        """Return the error for a process that has closed its output or input."""
        code = None
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                code = await self._process.wait()
                await asyncio.wait([self._tasks[1]])
        if code is None:
            how = "closed its output"
        else:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        last = next((line for line in reversed(self._stderr) if line.strip()), "")
        if not last and self._strayed:
            how += f"; it wrote {self._strayed!r}, which is no message"
        said = f"{how}: {self._reader.text(last.strip())}" if last else how
        return ServerEnded(self._reader.shown, said, stderr=self._words())
