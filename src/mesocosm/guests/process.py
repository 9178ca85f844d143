"""The process of a guest: started, talked to from any thread or event loop, and ended with everything it started."""

import asyncio
import contextlib
import socket
import tempfile
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.guests.messages import LONGEST_LINE, GuestFailure
from mesocosm.sandboxes.log import Log
from mesocosm.sandboxes.plain import PYTHON
from mesocosm.sandboxes.process import ForeignProcess, start_process

T = TypeVar("T")
INSIDE = Path(__file__).with_name("inside")
BOOT = (
    "import importlib.util as u, sys\n"
    "s = u.spec_from_file_location('mesocosm_guest', sys.argv[1] + '/__init__.py',"
    " submodule_search_locations=[sys.argv[1]])\n"
    "m = sys.modules['mesocosm_guest'] = u.module_from_spec(s); s.loader.exec_module(m)\n"
    "m.main(sys.argv[2], int(sys.argv[3]))\n"
)
"""Loads `inside/` by its path: on the module path it would lend its names to what the framework imports."""
GRACE_S = 5.0
TAIL_LINES = 20
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

Heard = Callable[[dict[str, Any]], None]
"""Is called with each event of a request, in the thread of the guests."""


class _Loop:
    """The event loop of all guests of this process, in a thread of its own.

    A guest is described before the loop of a run exists, and played from it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="mesocosm-guests", daemon=True).start()
            return self._loop

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Do `work` in the thread, and wait for it in this one."""
        future = asyncio.run_coroutine_threadsafe(work, self.running())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do `work` in the thread, and wait for it in this event loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.running()))


LOOP = _Loop()


@dataclass(frozen=True, slots=True)
class GuestCommand:
    """How a guest is started: the interpreter, the module of `inside/` (or a path to one), its variables and folder."""

    python: str
    module: str
    environment: Mapping[str, str]
    folder: Path
    title: str


class GuestProcess:
    """A running guest. Every method may be called from any thread or event loop."""

    def __init__(self, command: GuestCommand) -> None:
        self.command = command
        self._talk = _Talk(command)
        weakref.finalize(self, _end, self._talk)

    @property
    def alive(self) -> bool:
        """Whether it can be asked; False before the first request and after its end."""
        return self._talk.alive

    def tell(self, do: str, heard: Heard | None = None, **fields: Any) -> Any:
        """Ask as `ask` does, and block until the answer is there."""
        return LOOP.wait(self._talk.ask(do, fields, heard))

    async def ask(self, do: str, heard: Heard | None = None, **fields: Any) -> Any:
        """Ask and return what was `done`; the first request starts the process.

        A cancelled call is cancelled in the guest too. Raises EpisodeError: the guest's own failure, or sandbox_failed
        if its process ended.
        """
        if heard is None and self._talk.alive:
            return await self._talk.ask_directly(do, fields)
        return await LOOP.do(self._talk.ask(do, fields, heard))

    async def close(self) -> None:
        """End the process and everything it started."""
        await LOOP.do(self._talk.close())

    def end(self) -> None:
        """End the process as `close` does, and block until it is gone."""
        LOOP.wait(self._talk.close())


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request without an answer, and the event loop in which somebody waits for it."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    heard: Heard | None

    def succeed(self, result: Any) -> None:
        self._there(_succeed, result)

    def fail(self, error: Exception) -> None:
        self._there(_fail, error)

    def _there(self, call: Callable[[asyncio.Future[Any], Any], None], value: Any) -> None:
        # A loop that has been closed waits for nothing.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(call, self.future, value)


def _succeed(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


class _Talk(asyncio.Protocol):
    """Our end of the socket. All of it runs in the thread of the guests, but `ask_directly` and `_send`."""

    def __init__(self, command: GuestCommand) -> None:
        self._command = command
        self._numbers = count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._writing = threading.Lock()
        self._socket: socket.socket | None = None
        self._queued = 0
        self._lost = False
        self._rest = bytearray()
        self._process: ForeignProcess | None = None
        self._transport: asyncio.Transport | None = None
        self._starting = asyncio.Lock()
        self._closed = False
        self._log = Log()

    @property
    def alive(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, do: str, fields: Mapping[str, Any], heard: Heard | None) -> Any:
        async with self._starting:
            if self._closed:
                raise EpisodeError(Cause.CANCELLED, f"the guest {self._command.title} has been closed")
            if self._process is None:
                await self._start()
        if not self.alive:
            raise self._gone()
        return await self._answered(do, fields, heard)

    async def ask_directly(self, do: str, fields: Mapping[str, Any]) -> Any:
        """Ask from any event loop, without a detour through the thread of the guests: this is what a step costs."""
        return await self._answered(do, fields, None)

    async def _answered(self, do: str, fields: Mapping[str, Any], heard: Heard | None) -> Any:
        number = next(self._numbers)
        loop = asyncio.get_running_loop()
        waiting = self._waiting[number] = _Waiting(loop, loop.create_future(), heard)
        # Whoever comes after the last words were heard would wait for ever.
        if self._lost:
            del self._waiting[number]
            raise self._gone()
        self._send({"id": number, "do": do, **fields})
        try:
            return await waiting.future
        except asyncio.CancelledError:
            if self.alive and do != "cancel":
                self._send({"id": 0, "do": "cancel", "of": number})
            raise
        finally:
            self._waiting.pop(number, None)

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        command = self._command
        with theirs:
            try:
                self._process = await start_process(
                    [command.python, "-c", BOOT, str(INSIDE), command.module, str(theirs.fileno())],
                    cwd=command.folder,
                    env={**PYTHON, **command.environment},
                    stdout=self._log,
                    stderr=self._log,
                    pass_fds=[theirs.fileno()],
                )
            except BaseException:
                ours.close()
                raise
        ours.settimeout(0)
        self._socket = ours
        self._transport, _ = await asyncio.get_running_loop().create_connection(lambda: self, sock=ours)

    async def close(self) -> None:
        self._closed = True
        async with self._starting:
            if self._transport is not None:
                self._transport.close()
            if self._process is not None:
                await self._process.stop(GRACE_S)

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._transport is not None
        line = _encode(message)
        if len(line) > LONGEST_LINE:
            with tempfile.NamedTemporaryFile(prefix="mesocosm-", suffix=".json", delete=False) as written:
                written.write(line)
            line = _encode({"file": written.name})
        data = line + b"\n"
        with self._writing:
            if not self._queued and not self._transport.get_write_buffer_size():
                assert self._socket is not None
                try:
                    data = data[self._socket.send(data) :]
                except BlockingIOError:
                    pass
                except OSError:
                    # The connection is lost; whoever waits is told so.
                    return
                if not data:
                    return
            self._queued += 1
        LOOP.running().call_soon_threadsafe(self._queue, data)

    def _queue(self, data: bytes) -> None:
        with self._writing:
            self._queued -= 1
            if self._transport is not None:
                self._transport.write(data)

    # asyncio.Protocol

    def data_received(self, data: bytes) -> None:
        self._rest += data
        if b"\n" not in data:
            return
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            self._take(line)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        asyncio.ensure_future(self._explain())  # noqa: RUF006 -- the loop lives as long as this process

    async def _explain(self) -> None:
        """Fail whoever waits, once the last words of the process are there."""
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._process.wait()
        self._lost = True
        for waiting in list(self._waiting.values()):
            waiting.fail(self._gone())

    def _gone(self) -> EpisodeError:
        code = None if self._process is None else self._process.returncode
        ending = "closed its connection" if code is None else _ending(code)
        return EpisodeError(
            Cause.SANDBOX_FAILED,
            f"the guest {self._command.title} ({self._command.python}) {ending}",
            stderr=self._log.text(TAIL_LINES),
        )

    def _take(self, line: bytes) -> None:
        try:
            message = _decode(line)
            if "file" in message:
                path = Path(message["file"])
                message = _decode(path.read_bytes())
                path.unlink(missing_ok=True)
            waiting = self._waiting.get(message["id"])
        except (OSError, TypeError, KeyError, msgspec.DecodeError) as error:
            self._log.remember(f"\nwhat the guest sent cannot be read ({error}): {line[:200]!r}\n".encode())
            if self._transport is not None:
                self._transport.close()
            return
        if waiting is None:
            return
        if "event" in message:
            if waiting.heard is not None and not waiting.future.done():
                try:
                    waiting.heard(message["event"])
                except Exception as error:  # noqa: BLE001 -- goes to whoever asked
                    waiting.fail(error)
        elif "failed" in message:
            waiting.fail(self._failure(message["failed"]))
        else:
            waiting.succeed(message.get("done"))

    def _failure(self, told: Any) -> Exception:
        try:
            failed = msgspec.convert(told, GuestFailure)
        except msgspec.ValidationError as error:
            return EpisodeError(
                Cause.ENVIRONMENT_INVALID, f"the guest {self._command.title} failed unreadably: {error}"
            )
        cause = Cause(failed.cause) if failed.cause in set(Cause) else Cause.ENVIRONMENT_ERROR
        return EpisodeError(cause, failed.message, detail=failed.detail)


def _end(talk: _Talk) -> None:
    """End the process of a guest that nobody closed."""
    if talk.alive:
        asyncio.run_coroutine_threadsafe(talk.close(), LOOP.running())


def _ending(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
