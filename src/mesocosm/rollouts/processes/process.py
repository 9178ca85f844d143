"""One process of a rollout: start it, wait until it is ready, watch it, and end it with its children."""

import asyncio
import contextlib
import os
import socket
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

import msgspec

import mesocosm
from mesocosm.core.content import Content
from mesocosm.core.failure import EpisodeError, RunAborted
from mesocosm.core.redact import Redactor
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.rollouts.executor import BlockedLoop, LineLog
from mesocosm.rollouts.processes.http_transport import Callbacks, HttpTransport, ServerFiles
from mesocosm.rollouts.processes.sandboxed import SandboxedWorkers, WorkerFolder
from mesocosm.rollouts.processes.transport import RowTransport, SocketTransport
from mesocosm.sandboxes.log import Log
from mesocosm.sandboxes.plain import PYTHON
from mesocosm.sandboxes.port import free_port
from mesocosm.sandboxes.process import ForeignProcess, start_process
from mesocosm.sandboxes.relay import INHERITED_AS
from mesocosm.sandboxes.sandboxed_process import SandboxedProcess

if TYPE_CHECKING:
    from mesocosm.rollouts.processes.executor import RowAttempt

RUN_ENTRY_FILE = Path(__file__).with_name("run_entry_file.py")
PACKAGE = Path(mesocosm.__file__).parent
SHIM = PACKAGE / "compat" / "osmosis"

TAKEN = ("address already in use", "eaddrinuse", "errno 98", "errno 48")
PORTS = 3
"""Maximum number of starts: another program can take the port before the rollout binds it; then try the next one."""

LINES = 20

ABANDONED = 3
"""Maximum number of abandoned rows in a process before it is replaced."""

CERTAIN_S = 0.2
"""A row that was seen on the event loop for less time may be innocent."""

FILE_BYTES = 16 * 1024 * 1024
_FULL = b"[the rest is not kept: the log has reached its size limit]\n"
_REPORT_BYTES = 4 * 1024 * 1024
_LOOK_S = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.1

IDLE_S = 3.0
"""Shorter than servers keep idle connections open (uvicorn: 5 s), so that they never close one during a request."""


@dataclass(frozen=True, slots=True)
class ProcessLoss:
    """Why a process can no longer be used: it `died`, or it does not answer.

    `culprit` is the row that blocks its event loop and `where` the line, if known. `alone`: it had only one row.
    """

    words: str
    died: bool
    alone: bool
    stderr: str = ""
    culprit: str = ""
    where: str = ""


class RowLost(Exception):
    """The process was lost while it ran the row."""

    def __init__(self, loss: ProcessLoss) -> None:
        super().__init__(loss.words)
        self.loss = loss


@dataclass(frozen=True, slots=True)
class ProcessSlot:
    """A process for one row; `alone`: only for this row."""

    process: "WorkerProcess"
    alone: bool


class LogFile:
    """A file for the lines of all processes, up to FILE_BYTES. After a write error no more lines are written."""

    def __init__(self, path: Path | None, redactor: Redactor) -> None:
        self.redactor = redactor
        self._path = path
        self._file: BinaryIO | None = None
        self._room = FILE_BYTES

    def open(self) -> None:
        """Open the file for appending; without success, lines are dropped."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)
        except OSError:
            self._file = None

    def write(self, line: str) -> None:
        """Write a line, if there is room."""
        if self._file is None:
            return
        data = f"{line}\n".encode("utf-8", "replace")
        try:
            self._file.write(data if len(data) <= self._room else _FULL)
        except OSError:
            self._room = 0
        self._room -= len(data)
        if self._room < 0:
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class WatchReport(msgspec.Struct, frozen=True):
    """The file of watch.LoopWatch: the row that holds the event loop now, and those that held it, by name."""

    now: BlockedLoop | None = None
    total: dict[str, BlockedLoop] = {}


class WorkerProcess:
    """A process that runs rows. `attempts` are the current ones, by name; `lost` is set once, when it ends.

    `retired`: it gets no more rows; `abandoned` counts abandoned rows that still run in it. `folder` and `client` are
    those of a process in a sandbox.
    """

    process: ForeignProcess | SandboxedProcess
    transport: RowTransport
    folder: WorkerFolder | None = None
    client: HttpClient | None = None

    def __init__(self, watch: Path, file: LogFile) -> None:
        self.attempts: dict[str, RowAttempt] = {}
        self.retired = False
        self.abandoned = 0
        self.lost: asyncio.Future[ProcessLoss] = asyncio.get_running_loop().create_future()
        self.logs = {name: Log(heard=partial(self._on_output, name)) for name in ("stdout", "stderr")}
        self._rest = dict.fromkeys(self.logs, b"")
        self._file = file
        self._watch = watch
        self._seen: tuple[int, WatchReport] = (0, WatchReport())
        self._ended: asyncio.Task[None] | None = None

    @property
    def usable(self) -> bool:
        """Whether it can take more rows."""
        return not self.retired and not self.lost.done()

    def follow(self) -> None:
        """Start watching for its end."""
        self._ended = asyncio.create_task(self._follow())

    def lose(self, words: str) -> None:
        """Give it up because it does not answer."""
        now = self.holder()
        if now.seconds < CERTAIN_S or now.name not in self.attempts:
            now = BlockedLoop()
        alone = len(self.attempts) < 2 and not self.abandoned
        self._lose(ProcessLoss(words, died=False, alone=alone, stderr=self.words(), culprit=now.name, where=now.where))

    def give_up(self, words: str) -> None:
        """Count it as ended, for the reason that `words` say."""
        self._lose(ProcessLoss(words, died=True, alone=len(self.attempts) < 2, stderr=self.words()))

    def holder(self) -> BlockedLoop:
        """Return the row that holds the event loop now, and for how long."""
        return self._read_watch().now or BlockedLoop()

    def held(self) -> dict[str, BlockedLoop]:
        """Return the rows that held the event loop for a noticeable time."""
        return {name: replace(seen, name=name) for name, seen in self._read_watch().total.items()}

    def words(self) -> str:
        """Return the end of its output, without secrets."""
        return self._file.redactor.text(self.logs["stderr"].text(LINES) or self.logs["stdout"].text(LINES))

    def wear(self) -> None:
        """Count an abandoned row that still runs in the process."""
        self.abandoned += 1
        self.retired = self.retired or self.abandoned > ABANDONED

    def on_line(self, name: str, stream: str, line: str) -> None:
        """Keep a line that a row printed."""
        attempt = self.attempts.get(name)
        shown = self._keep(stream, line, None if attempt is None else attempt.log)
        self.logs["stdout" if stream == "stdout" else "stderr"].remember(f"{shown}\n".encode("utf-8", "replace"))

    def _on_output(self, stream: str, data: bytes) -> None:
        """Keep what the process wrote. Of several rows, the one that wrote it is unknown."""
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        self._rest[stream] = rest[-65536:]
        log = next(iter(self.attempts.values())).log if len(self.attempts) == 1 else None
        for raw in lines:
            self._keep(stream, raw.decode("utf-8", "replace").rstrip("\r"), log)

    def _keep(self, stream: str, line: str, log: LineLog | None) -> str:
        """Write a line without secrets to the file and to `log`, and return it."""
        stream = "stdout" if stream == "stdout" else "stderr"
        shown = self._file.redactor.text(line)
        self._file.write(shown)
        if log is not None:
            log(stream, shown)
        return shown

    async def stop(self, grace: float = 0.0) -> None:
        """End the process with its children."""
        self.transport.close()
        if grace and isinstance(self.transport, SocketTransport):
            # A worker whose socket closes runs the shutdown of its entry file's lifespan. A signal would interrupt
            # that.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self.process.wait()
        await self.process.stop(grace)
        if self._ended is not None:
            await self._ended
        if self.client is not None:
            await self.client.close()
        if self.folder is not None:
            await asyncio.to_thread(self.folder.remove)

    async def _follow(self) -> None:
        await self.process.wait()
        self.give_up(ending(self.process))

    def _lose(self, loss: ProcessLoss) -> None:
        if not self.lost.done():
            self.lost.set_result(loss)
            for attempt in list(self.attempts.values()):
                attempt.fail(RowLost(loss))

    def _read_watch(self) -> "WatchReport":
        try:
            changed = self._watch.lstat().st_mtime_ns
            if changed != self._seen[0]:
                self._seen = changed, msgspec.json.decode(self._read_report(), type=WatchReport)
        except (OSError, ValueError, RecursionError):
            return WatchReport()
        return self._seen[1]

    def _read_report(self) -> bytes:
        # The process may put a link, a pipe or an endless file in its place.
        with os.fdopen(os.open(self._watch, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(_REPORT_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""


def ending(process: ForeignProcess | SandboxedProcess) -> str:
    """Return in words how a process ended."""
    code = process.returncode or 0
    if isinstance(process, SandboxedProcess):
        if process.reason:
            return process.reason
        code = 128 - code if code > 128 else code
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def quoted(words: str) -> str:
    """Return the last output of a process as an indented block to append to a message."""
    return "; its last words:\n" + "\n".join(f"  | {line}" for line in words.splitlines()) if words else ""


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a process of a rollout. `prefix` begins the names of its rows.

    A server that is not our own is talked to with `client`, answers to `callbacks` and may write `files`. If there is
    `content`, it must not change before the process has loaded it.
    """

    python: str
    folder: Path
    entrypoint: str
    environment: Mapping[str, str] = field(repr=False)
    prefix: str
    seconds: float
    client: HttpClient
    callbacks: Callbacks
    files: ServerFiles
    log: LogFile
    content: Content | None
    sandbox: SandboxedWorkers | None = None

    async def start(self) -> WorkerProcess:
        """Start a process and return it once it is ready. Raises RunAborted with the end of its output.

        Raises EpisodeError (cancelled) if the rollout's content changed.
        """
        for left in reversed(range(PORTS)):
            if self.content is not None:
                await self.content.check()
            starting = _Start(self)
            worker = await starting.started()
            try:
                await starting.answering()
                if self.content is not None:
                    await self.content.check()
            except RunAborted:
                words = worker.words()
                await worker.stop()
                if left and any(sign in words.lower() for sign in TAKEN):
                    continue
                raise
            except BaseException:
                await worker.stop()
                raise
            worker.follow()
            return worker
        raise AssertionError("the last try returns or raises")


class _Start:
    """One start of a process. It may answer on its socket (our own SDK) or over HTTP (any other server)."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._instance, self._key = uuid4().hex, token_urlsafe(24)
        self._port = free_port()
        self._folder = WorkerFolder() if launch.sandbox is not None else None
        self._watch = self._folder.watch if self._folder else launch.files.folder / f"{self._instance}.json"
        self._worker = WorkerProcess(self._watch, launch.log)
        self._worker.folder = self._folder
        self._socket = SocketTransport(self._worker.on_line, self._worker.wear, self._worker.give_up)
        self._client = launch.client
        self._answer = ""

    async def started(self) -> WorkerProcess:
        """Start the process. Raises RunAborted."""
        launch = self._launch
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._worker.process = await (self._plain(theirs) if self._folder is None else self._sandboxed(theirs))
        except BaseException as error:
            ours.close()
            if self._folder is not None:
                self._folder.remove()
            if isinstance(error, EpisodeError):
                raise RunAborted(f"rollout {launch.folder.name}: {error}") from error
            raise
        self._worker.transport = self._socket
        await self._socket.connect(ours)
        return self._worker

    async def _plain(self, connection: socket.socket) -> ForeignProcess:
        launch = self._launch
        return await start_process(
            self._command(connection.fileno()),
            cwd=launch.folder,
            env=self._variables(launch.files.folder),
            stdout=self._worker.logs["stdout"],
            stderr=self._worker.logs["stderr"],
            pass_fds=(connection.fileno(),),
        )

    async def _sandboxed(self, connection: socket.socket) -> SandboxedProcess:
        launch, folder = self._launch, self._folder
        assert launch.sandbox is not None
        assert folder is not None
        callbacks = await launch.callbacks.start()
        process = await launch.sandbox.start(
            self._command(INHERITED_AS),
            folder,
            cwd=launch.folder,
            variables=self._variables(folder.rows),
            connection=connection.dup(),
            port=self._port,
            reachable=(callbacks,),
            heard=lambda stream, data: self._worker.logs[stream].write(data),
        )
        self._worker.client = self._client = HttpClient(idle_timeout=IDLE_S, socket=process.socket)
        return process

    def _command(self, connection: int) -> list[str]:
        launch = self._launch
        words = (launch.folder, launch.entrypoint, SHIM, PACKAGE, launch.prefix, self._watch, connection)
        return [launch.python, str(RUN_ENTRY_FILE), *map(str, words)]

    def _variables(self, rows: Path) -> dict[str, str]:
        return {
            **PYTHON,
            **self._launch.environment,
            "_OSMOSIS_ROLLOUT_PORT": str(self._port),
            "ROLLOUT_PORT": str(self._port),
            "_OSMOSIS_ROLLOUT_ARTIFACT_ROOT": str(rows),
            "_OSMOSIS_ROLLOUT_INSTANCE_ID": self._instance,
            "MESOCOSM_ROLLOUT_KEY": self._key,
        }

    async def answering(self) -> None:
        """Wait until the process is ready. Raises RunAborted."""
        launch, worker, ready = self._launch, self._worker, self._socket.ready
        name = f"rollout {launch.folder.name}: {launch.entrypoint}"
        ended = asyncio.ensure_future(worker.process.wait())
        url = f"http://127.0.0.1:{self._port}"
        look = asyncio.create_task(self._look(url))
        began = time.monotonic()
        try:
            waits: set[asyncio.Future[Any]] = {ended, look, ready}
            await asyncio.wait(waits, timeout=launch.seconds, return_when=asyncio.FIRST_COMPLETED)
            if ready.done():
                return
            if ended.done():
                hint = (
                    "" if ended.result() else "\nAn entry file serves until it is stopped: does it call uvicorn.run(…)?"
                )
                raise RunAborted(f"{name} {ending(worker.process)} before it answered{quoted(worker.words())}{hint}")
            if not look.done():
                hint = "" if self._answer else "\nDoes it take its port from _OSMOSIS_ROLLOUT_PORT?"
                raise RunAborted(
                    f"{name} answered {self._answer or 'nothing'} at /health on its port within "
                    f"{time.monotonic() - began:.0f} s{quoted(worker.words())}{hint}"
                )
            await launch.callbacks.start()
            http = HttpTransport(
                url, self._key, self._client, launch.callbacks, launch.files if self._folder is None else None
            )
            http.capacity = _capacity(look.result())
            worker.transport.close()
            worker.transport = http
        finally:
            ended.cancel()
            look.cancel()
            await asyncio.gather(ended, look, return_exceptions=True)

    async def _look(self, url: str) -> dict[str, Any]:
        """Poll /health until it reports success, and return its body."""
        pause = _FIRST_PAUSE
        while True:
            try:
                response = await self._client.request("GET", f"{url}/health", timeout=_LOOK_S)
                shown = response.body[:80].decode("utf-8", "replace")
                self._answer = f"status {response.status} and {shown!r} instead of a healthy JSON object"
                health = response.json() if 200 <= response.status < 300 else None
                # Another server may have taken the port.
                if isinstance(health, dict) and health.get("instance_id") in {None, self._instance}:
                    return health
            except HttpError:
                pass
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)


def _capacity(health: Mapping[str, Any]) -> int | None:
    concurrency = health.get("concurrency")
    most = concurrency.get("max_concurrent") if isinstance(concurrency, dict) else None
    return most if isinstance(most, int) and most > 0 else None
