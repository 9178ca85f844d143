"""The isolation of one program, for each kind of sandbox."""

import asyncio
import dataclasses
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes import cgroup
from mesocosm.sandboxes.bubblewrap import ACCOUNT, FilesystemView, available, confined, hand_over
from mesocosm.sandboxes.docker import PYTHON as PYTHON_OF_IMAGE
from mesocosm.sandboxes.docker import container
from mesocosm.sandboxes.log import Log
from mesocosm.sandboxes.plain import PYTHON
from mesocosm.sandboxes.process import ForeignProcess, start_process
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.scratch import ScratchFolder
from mesocosm.sandboxes.tree import parent
from mesocosm.sandboxes.watches import Watch, memory_and_processes

Kind = Literal["bubblewrap", "docker", "plain"]

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
ENVIRONMENT = {"PATH": PATH, "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1", **PYTHON}  # noqa: S108
"""Variables of every program in a sandbox, in addition to those declared for it."""
_SPARE = 1024 * MIB
_SIGNALS = {
    int(signal.SIGXCPU): "used more CPU time than its limit",
    int(signal.SIGXFSZ): "wrote a file larger than its limit",
}


class Isolation:
    """The isolation of one program: start it, watch it, and clean up at the end."""

    def __init__(self, kind: Kind, allowance: ProgramLimits, most_memory: int, image: str) -> None:
        self._kind = kind
        # Between two checks of the watch a process could request any amount of memory, so the kernel limits it here.
        data = allowance.data_bytes or 2 * most_memory + _SPARE
        self._allowance = dataclasses.replace(allowance, data_bytes=data)
        self._most_memory = most_memory
        self._own = ScratchFolder()
        self._group: cgroup.Cgroup | None = None
        self._container = container(image, allowance, most_memory, self._own.path) if kind == "docker" else None

    @property
    def python(self) -> str:
        """The interpreter inside the sandbox for our own programs, which need only the standard library."""
        return PYTHON_OF_IMAGE if self._container is not None else str(Path(sys.executable).resolve())

    async def start(
        self, command: Sequence[str], view: FilesystemView, env: Mapping[str, str], stdout: Log, stderr: Log
    ) -> ForeignProcess:
        """Start `command` in isolation. Raises EpisodeError with cause sandbox_failed."""
        cwd = view.cwd
        assert cwd is not None
        view = dataclasses.replace(view, readable=(*_interpreter(), *view.readable), placed=_identity(self._own.path))
        variables = {**ENVIRONMENT, **env}
        for folder in view.writable if self._kind != "plain" else ():
            # The folder may hold thousands of files.
            await asyncio.to_thread(hand_over, folder)
        if self._container is not None:
            command = self._container.words(command, view, variables)
            # The docker command needs our variables to find its engine; the program gets its own.
            variables = dict(os.environ)
        elif self._kind == "plain":
            # Linux counts all processes of an account, which here include ours.
            command = [*dataclasses.replace(self._allowance, processes=None).words(), *command]
        else:
            command = self._confined(command, view)
        if self._container is None:
            limits = cgroup.limits_of(self._allowance, self._most_memory)
            self._group = await asyncio.to_thread(cgroup.make, limits)
            command = [*(self._group.words() if self._group else ()), *command]
        return await start_process(command, cwd=cwd, env=variables, stdout=stdout, stderr=stderr)

    def watches(self, process: ForeignProcess) -> list[Watch]:
        """Return the watches of the program's resource use; a docker engine has its own limits."""
        if self._container is not None:
            return []
        return [memory_and_processes(self.root(process), self._most_memory, self._allowance)]

    def root(self, process: ForeignProcess) -> int:
        """Return the id of the process that all of the program's processes descend from."""
        # Orphans of a plain program are adopted by its supervisor.
        return parent(process.pid) if self._kind == "plain" else process.pid

    def ending(self, code: int) -> str:
        """Return which limit ended a program with this exit code, as a phrase for its author; empty if none did."""
        if code and self._group is not None and self._group.out_of_memory:
            return f"used more memory than its limit of {self._most_memory / MIB:,.0f} MB"
        signalled = _SIGNALS.get(code - 128 if code > 0 else -code, "")
        return signalled or (self._container.ending(code) if self._container is not None else "")

    async def remove(self) -> None:
        """Remove what is left of the isolation."""
        if self._container is not None:
            await self._container.remove()
        if self._group is not None:
            await asyncio.to_thread(self._group.remove)
        self._own.remove()

    def _confined(self, command: Sequence[str], view: FilesystemView) -> list[str]:
        works = available()
        if not works:
            raise EpisodeError(Cause.SANDBOX_FAILED, f"{command[0]} cannot be confined: {works.reason}")
        for shown in (*([view.cwd] if view.cwd else []), *view.readable):
            _check_shown(shown)
        # The watch reports the limit first, so that the author sees it; the kernel's limit is slightly higher.
        most = self._allowance.processes
        beyond = dataclasses.replace(self._allowance, processes=None if most is None else most + most // 4 + 8)
        # Termination signals must reach the program, not bubblewrap, which would kill it at once.
        heard = [*_first_to_go(), "env", "--default-signal=TERM,INT,HUP", *command]
        return ["env", "--ignore-signal=TERM,INT,HUP", *confined(heard, view, beyond)]


def _first_to_go() -> list[str]:
    """Return a command prefix that makes the kernel kill this program first if the machine runs out of memory."""
    return ["choom", "-n", "1000", "--"] if shutil.which("choom") else []


def _interpreter() -> tuple[Path, ...]:
    """Return the installation folders of our interpreter, without our packages."""
    installed = Path(sys.base_prefix)
    return tuple(dict.fromkeys((installed, installed.resolve())))


def _check_shown(place: Path) -> None:
    """Raise EpisodeError for a path that confined programs could not read; they would fail without explanation."""
    try:
        seen = place.stat()
    except OSError as error:
        raise EpisodeError(Cause.SANDBOX_FAILED, f"{place} cannot be shown in a sandbox: {error.strerror}") from error
    needed = 0o005 if place.is_dir() else 0o004
    if os.getuid() == 0 and seen.st_uid != ACCOUNT and seen.st_mode & needed != needed:
        raise EpisodeError(
            Cause.SANDBOX_FAILED, f"{place} cannot be read by confined programs; give others the right (chmod o+rX)"
        )


def _identity(folder: Path) -> dict[Path, Path]:
    """Write the files of /etc that define the user's name and localhost; return where to show them."""
    number = ACCOUNT if os.getuid() == 0 else os.getuid()
    texts = {
        "passwd": f"environment:x:{number}:{number}::/tmp:/bin/sh\n",
        "group": f"environment:x:{number}:\n",
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {Path("/etc", name): folder / name for name in texts}
