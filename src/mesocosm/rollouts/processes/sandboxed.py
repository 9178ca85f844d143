"""Worker processes of a rollout in a sandbox: what they may use and reach, and the files that come out of it."""

import asyncio
import errno
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import mesocosm
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.rollouts.executor import ModelAccess, RowJob
from mesocosm.sandboxes.disk import remove
from mesocosm.sandboxes.egress_proxy import EgressProxy
from mesocosm.sandboxes.isolation import PATH, Kind
from mesocosm.sandboxes.port import free_port
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.relay import Relay, Taker, carry
from mesocosm.sandboxes.sandbox import ProgramSandbox
from mesocosm.sandboxes.sandboxed_process import SandboxedProcess
from mesocosm.sandboxes.scratch import ScratchFolder

DOORS = 4
"""Number of model addresses of a rollout, those of judges included, on different ports of this machine."""

CONNECTIONS = 4096
"""Maximum number of connections of one process; it may play a thousand rows at once."""

DEEPEST, MOST_FILES, MOST_BYTES = 32, 1_000, 64 * MIB
"""Maximum depth, number and total size of the artifacts of one row; others are not kept."""

_REMOVE_S = 0.3
"""Seconds to wait for the removal of a row's files. It ends later if foreign code has made very many."""

_ROOTS = (("rows",), ("home", ".osmosis"))
"""Where the rows of a process have their folders; servers that do not know the variable for it take the second."""

_SHOWN = 20
_LOOPBACK = frozenset({"127.0.0.1", "localhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSandbox:
    """What the worker processes of a rollout may use, each by itself, and the `hosts` of the internet that they reach.

    `allowance` and `most_memory` are those of sandboxes.sandbox.ProgramSandbox, `most_disk` is the number of bytes that
    a process may keep in files. `readable` are more files and folders that they see. `interpreter` are the folders of
    their interpreter, which must be given if foreign code could write to its virtual environment: what that says of
    itself would be believed otherwise.
    """

    kind: Kind = "bubblewrap"
    allowance: ProgramLimits = field(
        default_factory=lambda: ProgramLimits(processes=512, file_bytes=256 * MIB, open_files=8192)
    )
    most_memory: int = 2048 * MIB
    most_disk: int = 512 * MIB
    hosts: Sequence[str] = ()
    readable: Sequence[Path] = ()
    interpreter: Sequence[Path] = ()


class ModelDoors:
    """Ports of the sandboxes of one rollout, each of which leads to a port of this machine where a model is served.

    Processes start before the address of a model is known, so a door is assigned when a row first needs it.
    """

    def __init__(self) -> None:
        self._destinations: dict[int, int | None] = {free_port(): None for _ in range(DOORS)}

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports inside of the sandboxes."""
        return tuple(self._destinations)

    def inside(self, access: ModelAccess) -> ModelAccess:
        """Return a model with its address inside of the sandboxes. Raises EpisodeError (sandbox_failed)."""
        where = urlsplit(access.base_url)
        if where.scheme != "http" or where.hostname not in _LOOPBACK or not where.port:
            words = "a rollout in a sandbox reaches a model only through the proxy of its run, at http://127.0.0.1:PORT"
            raise EpisodeError(Cause.SANDBOX_FAILED, f"{words}; this one is at {where.scheme}://{where.hostname}")
        for door, destination in self._destinations.items():
            if destination in {None, where.port}:
                self._destinations[door] = where.port
                return replace(access, base_url=where._replace(netloc=f"127.0.0.1:{door}").geturl())
        raise EpisodeError(Cause.SANDBOX_FAILED, f"a rollout in a sandbox reaches models at no more than {DOORS} ports")

    async def carry(self, door: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection to a door. Raises OSError."""
        destination = self._destinations[door]
        if destination is not None:
            await carry(destination, reader, writer)


class WorkerFolder:
    """The folder that one sandboxed process may write to: its home and the artifacts of its rows.

    Whatever is in it was written by foreign code, which may change it while we look.
    """

    def __init__(self) -> None:
        self._scratch = ScratchFolder()
        self.path = self._scratch.path / "worker"
        self.home = self.path / "home"
        self.rows = self.path / "rows"
        self.watch = self.path / "watch.json"
        self._places = [str(self.path.joinpath(*root)) for root in _ROOTS]
        self._removing: set[asyncio.Future[None]] = set()
        for folder in (self.path, self.home, self.rows):
            folder.mkdir()

    def artifacts(self, name: str) -> Path:
        """Return the folder for the artifacts of row `name`."""
        return self.rows / name / "artifacts"

    async def keep(self, name: str, artifacts: Path) -> list[str]:
        """Copy the artifacts of a finished row to our own folder and remove them here; return what was left out."""
        if not self._has(name):
            return []
        left_out = await asyncio.to_thread(self._copy, name, artifacts)
        removing = asyncio.ensure_future(asyncio.to_thread(self._drop, name))
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)
        await asyncio.wait({removing}, timeout=_REMOVE_S)
        return left_out

    def remove(self) -> None:
        """Remove all files. The process must have ended."""
        remove(self.path)
        self._scratch.remove()

    def _has(self, name: str) -> bool:
        """Return whether a row has a folder; most have none, and need no thread."""
        return any(os.path.lexists(f"{root}/{name}") for root in self._places)

    def _copy(self, name: str, artifacts: Path) -> list[str]:
        copying = ArtifactCopy()
        for root in _ROOTS:
            with suppress(OSError), _folder(self.path, (*root, name, "artifacts")) as source:
                copying.copy(source, artifacts)
        return copying.left_out

    def _drop(self, name: str) -> None:
        # rmtree follows no links, not even such that appear meanwhile. What it leaves is removed with the process.
        for root in _ROOTS:
            with suppress(OSError, RecursionError), _folder(self.path, root) as found:
                shutil.rmtree(name, ignore_errors=True, dir_fd=found)


class ArtifactCopy:
    """Copies folders that foreign code can change: only plain files and folders, never through a link.

    Files are copied rather than moved, because a program that still holds a moved folder could go on writing there.
    `left_out` says what was not copied.
    """

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self._room = MOST_BYTES
        self._files = MOST_FILES

    def copy(self, folder: int, target: Path, above: str = "", depth: int = DEEPEST) -> None:
        """Copy the content of an open folder, which lies at `above` among the artifacts."""
        for name in os.listdir(folder):
            shown = f"{above}{name}"
            if not self._files:
                self._leave_out(shown, f"more than {MOST_FILES:,} files and folders")
                return
            self._files -= 1
            try:
                opened = _opened(name, folder)
            except OSError as error:
                self._leave_out(shown, "a link" if error.errno == errno.ELOOP else error.strerror or "unreadable")
                continue
            try:
                found = os.fstat(opened)
                if stat.S_ISDIR(found.st_mode) and depth:
                    self.copy(opened, target / name, f"{shown}/", depth - 1)
                elif not stat.S_ISREG(found.st_mode):
                    self._leave_out(shown, "in too many folders" if stat.S_ISDIR(found.st_mode) else "not a plain file")
                elif found.st_size > self._room:
                    self._leave_out(shown, f"more than {MOST_BYTES // MIB} MB in all")
                else:
                    self._copy_file(opened, target / name)
            except OSError as error:
                self._leave_out(shown, error.strerror or "unreadable")
            finally:
                os.close(opened)

    def _copy_file(self, opened: int, target: Path) -> None:
        # The folder is ours, so nothing in it is a link that foreign code made.
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            while self._room and (piece := os.read(opened, min(MIB, self._room))):
                file.write(piece)
                self._room -= len(piece)

    def _leave_out(self, shown: str, why: str) -> None:
        if len(self.left_out) < _SHOWN:
            self.left_out.append(f"the artifact {shown!r} is not kept: {why}")


def _opened(name: str | Path, folder: int | None, kind: int = 0) -> int:
    """Open a file of an open folder, but not if it is a link; a pipe does not block. Raises OSError."""
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | kind, dir_fd=folder)


@contextmanager
def _folder(root: Path, below: Sequence[str]) -> Iterator[int]:
    """Open a folder inside of another, step by step, without following links. Raises OSError."""
    folder = _opened(root, None, os.O_DIRECTORY)
    try:
        for step in below:
            inner = _opened(step, folder, os.O_DIRECTORY)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


class SandboxedWorkers:
    """Starts the sandboxed processes of one rollout by a WorkerSandbox."""

    def __init__(self, sandbox: WorkerSandbox) -> None:
        self.doors = ModelDoors()
        self._sandbox = sandbox
        self._egress = EgressProxy(sandbox.hosts) if sandbox.hosts else None
        self._egress_port = free_port() if sandbox.hosts else 0

    async def start(
        self,
        command: Sequence[str],
        folder: WorkerFolder,
        *,
        cwd: Path,
        variables: Mapping[str, str],
        connection: socket.socket,
        port: int,
        reachable: Sequence[int],
        heard: Callable[[str, bytes], None],
    ) -> SandboxedProcess:
        """Start the interpreter `command[0]`, which inherits `connection` and may listen on `port`.

        It reaches the `reachable` ports of this machine, and the doors. Raises EpisodeError (sandbox_failed).
        """
        takers: dict[int, Taker] = {port: partial(self.doors.carry, port) for port in self.doors.ports}
        egress: dict[str, str] = {}
        if self._egress is not None:
            takers[self._egress_port] = self._egress.serve
            egress = self._egress.variables(self._egress_port)
        programs = str(Path(command[0]).parent)
        relay = Relay(
            (*takers, *reachable),
            takers=takers,
            variables={
                **egress,
                **variables,
                "PATH": os.pathsep.join((programs, variables.get("PATH") or PATH)),
                "HOME": str(folder.home),
            },
            sockets=[connection],
            most=CONNECTIONS,
        )
        interpreter = self._sandbox.interpreter or interpreter_folders(Path(command[0]))
        program = ProgramSandbox(
            kind=self._sandbox.kind,
            allowance=self._sandbox.allowance,
            most_memory=self._sandbox.most_memory,
            readable=(*interpreter, Path(mesocosm.__file__).parent, *self._sandbox.readable),
        )
        return await program.serve(
            command,
            cwd=cwd,
            port=port,
            relay=relay,
            writable=[folder.path],
            most_bytes=self._sandbox.most_disk,
            heard=heard,
        )


def interpreter_folders(python: Path) -> tuple[Path, ...]:
    """Return the folders that an interpreter needs: its virtual environment, and the installation that this is of."""
    environment, installed = python.absolute().parents[1], python.resolve().parents[1]
    found = [environment] if (environment / "pyvenv.cfg").is_file() else []
    with suppress(OSError, ValueError):
        # What the environment names may itself lead through links to the installation.
        lines = (environment / "pyvenv.cfg").read_text(encoding="utf-8").splitlines() if found else []
        homes = [line.partition("=")[2].strip() for line in lines if line.partition("=")[0].strip() == "home"]
        found += [Path(home).parent for home in homes]
    return tuple(dict.fromkeys(folder for folder in (*found, installed) if len(folder.parts) > 1))


def inside(job: RowJob, name: str, doors: ModelDoors, folder: WorkerFolder) -> RowJob:
    """Return a row as a sandboxed process gets it. Raises EpisodeError (sandbox_failed)."""
    return replace(
        job,
        model=doors.inside(job.model),
        judge=None if job.judge is None else doors.inside(job.judge),
        artifacts=folder.artifacts(name),
    )
