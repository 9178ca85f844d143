"""Run external programs with bubblewrap: no network, only the given files, only their own processes.

The program gets its own network, process, IPC, host name and user namespace. How the number of processes is limited
depends on our own user, because Linux never counts the processes of the real root (setrlimit(2), RLIMIT_NPROC; the
check uses the user outside of all namespaces). As root, bubblewrap runs without a user namespace, the program becomes
an unused account, and only then gets its user namespace, in which its processes are counted (since Linux 5.14, for each
namespace separately). As any other user, the user namespace is enough.
"""

import asyncio
import atexit
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import count
from pathlib import Path

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.log import FILE_BYTES, Log
from mesocosm.sandboxes.plain import PYTHON
from mesocosm.sandboxes.process import ForeignProcess, start_process
from mesocosm.sandboxes.program_limits import ProgramLimits
from mesocosm.sandboxes.relay import Relay
from mesocosm.sandboxes.scratch import ScratchFolder
from mesocosm.sandboxes.syscalls import syscall_filter

ACCOUNT = 691_533
"""The user id of confined programs if we are root. It has no name, no home and no files."""
PROGRAMS = ("bwrap", "prlimit", "setpriv", "env")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/ssl/certs", "/nix/store")
_NAMESPACES = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")

_FILTER = "9"
"""Number of the descriptor that passes the filter to bubblewrap; shells only support one digit."""


@dataclass(frozen=True, slots=True)
class Available:
    """Whether programs can be confined on this machine; if not, `reason` says why."""

    reason: str = ""

    def __bool__(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class FilesystemView:
    """The files that a confined program sees beside the system: `readable` and `writable` paths, at their own
    locations.

    It starts in `cwd`, by default a new private folder. Do not share a `writable` folder with other uses: as root, all
    of it is given to the program's account. `hidden` folders look empty. Each key of `placed` shows the content of the
    file that it maps to.
    """

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    cwd: Path | None = None
    hidden: tuple[Path, ...] = ()
    placed: Mapping[Path, Path] = field(default_factory=dict)


def python_folders() -> tuple[Path, ...]:
    """Return the folders that our own interpreter needs: its installation and its virtual environment."""
    return tuple(dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix))))


@cache
def available() -> Available:
    """Return whether bubblewrap works here; it is tried once."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return Available(f"{', '.join(lacking)} not found; install bubblewrap and util-linux")
    try:
        done = subprocess.run(  # noqa: S603 -- our own words
            confined(["true"], FilesystemView(), ProgramLimits()),
            env={"PATH": _path()},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Available(f"bubblewrap cannot be started: {error}")
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        return Available(f"bubblewrap does not work here: {said}; are user namespaces forbidden?")
    return Available()


def confined(command: Sequence[str], view: FilesystemView, allowance: ProgramLimits) -> list[str]:
    """Return the command that runs `command` confined; variables are inherited from the process that starts it.

    The filter of system calls is applied if there is one for this architecture (`syscalls.py`).
    """
    root, syscalls = os.getuid() == 0, filter_file()
    filtered = ["--seccomp", _FILTER] if syscalls is not None else []
    opened = ["sh", "-c", f'exec {_FILTER}<"$0" && exec "$@"', str(syscalls)] if syscalls is not None else []
    become = [
        "setpriv",
        f"--reuid={ACCOUNT}",
        f"--regid={ACCOUNT}",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
        "--no-new-privs",
        *("bwrap", "--unshare-user", "--disable-userns", "--die-with-parent", "--dev-bind", "/", "/"),
        *filtered,
        "--",
    ]
    rights = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
    privilege = ["--cap-drop", "ALL", *(word for right in rights for word in ("--cap-add", right))]
    return [
        *opened,
        "bwrap",
        *_NAMESPACES,
        # As root the inner bubblewrap sets the filter, because bubblewrap itself needs calls that it refuses.
        *(privilege if root else ["--unshare-user", "--disable-userns", *filtered]),
        *("--die-with-parent", "--new-session"),
        *_mounts(view, allowance),
        "--",
        *(become if root else []),
        *allowance.words(),
        *command,
    ]


def filter_file() -> Path | None:
    """Return the file with the seccomp(2) filter, or None; one file serves all programs of this process."""
    scratch = _filter_folder()
    if scratch is None:
        return None
    place = scratch.path / "syscalls"
    if not place.exists():
        # Other programs may have cleaned up temporary files.
        scratch.path.mkdir(exist_ok=True)
        place.write_bytes(syscall_filter() or b"")
    return place


@cache
def _filter_folder() -> ScratchFolder | None:
    if syscall_filter() is None:
        return None
    scratch = ScratchFolder()
    atexit.register(scratch.remove)
    return scratch


def _mounts(view: FilesystemView, allowance: ProgramLimits) -> Iterator[str]:
    scratch = ("--size", str(allowance.scratch_bytes), "--perms", "1777", "--tmpfs")
    for system in map(Path, _SYSTEM):
        if system.is_symlink():
            yield from ("--symlink", str(system.readlink()), str(system))
        elif system.is_dir():
            yield from ("--ro-bind", str(system), str(system))
    # By default bubblewrap creates parent folders that only our own account can enter.
    yield from ("--perms", "0755", "--dir", "/etc")
    for setting in (Path(name) for name in _SETTINGS if Path(name).exists()):
        yield from (
            word for parent in reversed(setting.parents[:-1]) for word in ("--perms", "0755", "--dir", str(parent))
        )
        yield from ("--ro-bind-try", str(setting), str(setting))
    for place, file in view.placed.items():
        yield from ("--ro-bind", str(file), str(place))
    yield from ("--proc", "/proc", "--dev", "/dev", *scratch, "/dev/shm", *scratch, "/tmp")  # noqa: S108
    readable = {path.absolute() for path in view.readable if not _inside(path.absolute(), map(Path, _SYSTEM))}
    writable = {path.absolute() for path in view.writable}
    cwd = view.cwd.absolute() if view.cwd is not None else None
    if cwd is not None and not _inside(cwd, (*readable, *writable, *map(Path, _SYSTEM))):
        readable.add(cwd)
    # A folder inside of a private one (such as /root) is only reachable if its parents can be entered.
    above = {parent for path in readable | writable for parent in path.parents if len(parent.parts) > 1}
    for parent in sorted(above - {Path("/tmp")}):  # noqa: S108
        yield from ("--perms", "0755", "--dir", str(parent))
    for path in sorted(readable | writable):
        yield from ("--bind" if path in writable else "--ro-bind", str(path), str(path))
    for path in sorted(folder.absolute() for folder in view.hidden):
        if _inside(path, (*readable, *writable, *map(Path, _SYSTEM))):
            yield from ("--perms", "0555", "--tmpfs", str(path), "--remount-ro", str(path))
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(cwd or "/tmp"))  # noqa: S108


def _inside(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _path() -> str:
    return os.pathsep.join(dict.fromkeys((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")))


def hand_over(folder: Path) -> None:
    """Give a folder and all its content to the account of confined programs. Do nothing unless we are root."""
    if os.getuid() != 0:
        return
    os.chown(folder, ACCOUNT, ACCOUNT, follow_symlinks=False)
    waiting = [folder]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            os.chown(entry.path, ACCOUNT, ACCOUNT, follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))


@dataclass(slots=True)
class BubblewrapSandbox:
    """Start confined processes. Implements core.ports.Sandbox.

    Programs see the system's programs, our interpreter, `readable` and `writable` paths, their working directory
    (read-only unless it is in `writable`), and the variables of `environment` and of each start. With `logs`, a
    directory, their output is written there in numbered files, the first `log_bytes` of each stream. `heard` is called
    with the stream (`stdout`, `stderr`) and each piece of output. The only reachable network addresses are the
    `reachable` ports of 127.0.0.1 (for example a proxy for model calls). `hidden` folders look empty.
    """

    allowance: ProgramLimits = field(default_factory=ProgramLimits)
    readable: tuple[Path, ...] = field(default_factory=python_folders)
    writable: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    logs: Path | None = None
    log_bytes: int = FILE_BYTES
    heard: Callable[[str, bytes], None] | None = None
    reachable: tuple[int, ...] = ()
    hidden: tuple[Path, ...] = ()
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _serving: "set[asyncio.Task[None]]" = field(default_factory=set)

    async def start(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> ForeignProcess:
        """Start `command` (never through a shell) in `cwd` with the declared variables `env`.

        Raises EpisodeError with cause sandbox_failed, also if bubblewrap does not work.
        """
        works = available()
        if not works:
            raise EpisodeError(Cause.SANDBOX_FAILED, f"{command[0]} cannot be confined: {works.reason}")
        for folder in self.writable:
            hand_over(folder)
        if not self.reachable:
            return await self._start(command, FilesystemView(self.readable, self.writable, cwd, self.hidden), env)
        relay = Relay(self.reachable)
        view = FilesystemView((*self.readable, Path(sys.base_prefix), relay.socket), self.writable, cwd, self.hidden)
        try:
            process = await self._start(relay.through_gate(command), view, env)
        except BaseException:
            relay.close()
            raise
        task = asyncio.create_task(relay.serve(process))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return process

    async def _start(
        self, command: Sequence[str], view: FilesystemView, env: Mapping[str, str] | None
    ) -> ForeignProcess:
        number = next(self._numbers)
        # Termination signals must reach the program, not bubblewrap, which would kill it at once.
        heard = ["env", "--default-signal=TERM,INT,HUP", *command]
        assert view.cwd is not None
        return await start_process(
            ["env", "--ignore-signal=TERM,INT,HUP", *confined(heard, view, self.allowance)],
            cwd=view.cwd,
            env={"PATH": _path(), "HOME": "/tmp", **PYTHON, **self.environment, **(env or {})},  # noqa: S108
            stdout=self._log(number, "stdout"),
            stderr=self._log(number, "stderr"),
        )

    def _log(self, number: int, stream: str) -> Log:
        path = self.logs / f"{number:04}.{stream}.log" if self.logs is not None else None
        return Log(path, limit=self.log_bytes, heard=partial(self.heard, stream) if self.heard is not None else None)
