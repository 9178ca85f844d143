"""Limits that the kernel enforces on a program and all its descendants: control groups, version 2.

Groups are created below one that this process may divide: one that was delegated to it (systemd's `Delegate=yes`,
`systemd-run --user --scope -p Delegate=yes`), that of a container which may write its own hierarchy, or for root the
root of the hierarchy. Nothing else on the machine is changed. Without such a group nothing is enforced this way, and
`why_not` returns the reason.

A group with limits must not hold processes beside its subgroups (cgroups(7), "no internal processes"), so our own
processes move once into a group `mesocosm` beside those of the programs.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from mesocosm.sandboxes.program_limits import ProgramLimits

NEEDED = ("memory", "pids")
WANTED = (*NEEDED, "cpu", "io")
OURS = "mesocosm"
PROGRAMS = "mesocosm-programs"
SHARE = 50
"""Weight of all programs together for processor time and disk, compared to 100 for our own processes."""
_OURS_IN_IT = 16
_PERIOD_US = 100_000
_GONE_S = 5.0
_LOOK_S = 0.01
_DELEGATED = ("user.delegate", "trusted.delegate")
_INITIAL_NAMESPACE = 0xEFFFFFFB
"""Inode of the first control group namespace, a constant of Linux."""
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class CgroupLimits:
    """Limits of one program with all its descendants: bytes, processes with threads, and processors."""

    memory: int
    processes: int | None = None
    processors: float | None = None


class Unavailable(Exception):
    """No group can be created here; the message gives the reason."""


class Cgroup:
    """The group of one program. Put `words` before its command to start it, and `remove` the group at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._out_of_memory = False

    def words(self) -> list[str]:
        """Return a command prefix that enters the group and then executes the command behind it."""
        return ["/bin/sh", "-c", 'echo 0 > "$0" && exec "$@"', str(self.path / "cgroup.procs")]

    @property
    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the group because the group exceeded its memory limit."""
        self._out_of_memory = self._out_of_memory or _event(self.path / "memory.events", "oom_kill") > 0
        return self._out_of_memory

    def remove(self) -> None:
        """Kill all processes of the group and remove it, waiting up to 5 s for the kernel. May be called again."""
        if not self.path.exists():
            return
        self._out_of_memory = self.out_of_memory
        self.kill()
        last = time.monotonic() + _GONE_S
        while True:
            try:
                self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > last:
                    return  # a later process removes it in `_sweep`
                time.sleep(_LOOK_S)
                self.kill()
            else:
                return

    def kill(self) -> None:
        """Kill every process in the group at once."""
        with contextlib.suppress(OSError):
            _write(self.path / "cgroup.kill", "1")
            return
        # Linux before 5.14 has no cgroup.kill.
        for pid in _pids(self.path):
            with contextlib.suppress(OSError):
                os.kill(pid, 9)


def why_not() -> str:
    """Return why no groups can be created here, or an empty string if they can."""
    try:
        programs()
    except Unavailable as error:
        return str(error)
    return ""


def enforced() -> list[str]:
    """Return the controllers that limit programs here; empty if no groups can be created."""
    try:
        return _controllers(programs(), "cgroup.subtree_control")
    except Unavailable:
        return []


def make(limits: CgroupLimits) -> Cgroup | None:
    """Return a new group with these limits, or None if none can be created.

    Swapped memory counts as well: a program gets no swap.
    """
    try:
        above = programs()
        path = above / f"{os.getpid()}-{next(_numbers)}"
        path.mkdir()
    except (Unavailable, OSError):
        return None
    group = Cgroup(path)
    try:
        _write(path / "memory.max", str(limits.memory))
        if limits.processes is not None:
            _write(path / "pids.max", str(limits.processes))
        for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1"), ("cpu.max", _quota(limits))):
            if value and (path / name).exists():
                _write(path / name, value)
    except OSError:
        group.remove()
        return None
    return group


def limits_of(allowance: ProgramLimits, most_memory: int) -> CgroupLimits:
    """Return the kernel's limits for a program, slightly above those that our own watches enforce.

    Files in memory-backed folders count as memory. A program gets at most half of the processors, but at least one.
    """
    most = allowance.processes
    processors = max(len(os.sched_getaffinity(0)) / 2, 1.0)
    return CgroupLimits(
        most_memory + 2 * allowance.scratch_bytes, None if most is None else most + most // 4 + _OURS_IN_IT, processors
    )


@cache
def programs() -> Path:
    """Return the group that holds those of programs, prepared on first use. Raises Unavailable."""
    base = _base(_mount())
    lacking = [name for name in NEEDED if name not in _controllers(base, "cgroup.controllers")]
    if lacking:
        raise Unavailable(f"the control group {base} has no {' and no '.join(lacking)} controller")
    return divide(base)


def divide(base: Path) -> Path:
    """Create the group for programs below one that we may divide. Raises Unavailable."""
    given = [name for name in WANTED if name in _controllers(base, "cgroup.controllers")]
    try:
        if _pids(base) and not _is_root(base):
            ours = base / OURS
            ours.mkdir(exist_ok=True)
            for pid in _pids(base):
                with contextlib.suppress(ProcessLookupError):
                    _write(ours / "cgroup.procs", str(pid))
        above = base / PROGRAMS
        _hand_down(base, given)
        above.mkdir(exist_ok=True)
        _hand_down(above, given)
        for name in ("cpu.weight", "io.weight"):
            with contextlib.suppress(OSError):
                if (above / name).exists():
                    _write(above / name, str(SHARE))
        _sweep(above)
    except OSError as error:
        raise Unavailable(f"the control group {base} cannot be divided: {error.strerror or error}") from error
    return above


def _mount() -> Path:
    """Return the mount point of the version 2 hierarchy. Raises Unavailable."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise Unavailable("this system has no control groups") from error
    for line in lines:
        before, _, after = line.partition(" - ")
        if after.split(" ")[0] == "cgroup2":
            return Path(before.split(" ")[4].encode().decode("unicode_escape"))
    raise Unavailable("no control groups of version 2 are mounted")


def _base(mount: Path) -> Path:
    """Return the group that we may divide. Raises Unavailable."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        own = next(line[3:] for line in lines if line.startswith("0::"))
    except (OSError, StopIteration) as error:
        raise Unavailable("this process is in no control group of version 2") from error
    base = mount / own.lstrip("/")
    # A process that moved into `mesocosm`, and its descendants, divide the parent group.
    base = base.parent if base.name == OURS else base
    if not os.access(base / "cgroup.subtree_control", os.W_OK) or not os.access(base, os.W_OK):
        raise Unavailable(f"the control group {base} belongs to another user; start the worker with Delegate=yes")
    ours = _is_root(base) or _delegated(base) or _is_container() or set(_pids(base)) <= {os.getpid()}
    if not ours:
        raise Unavailable(f"the control group {base} is not delegated to this process; start it with Delegate=yes")
    return base


def _is_root(group: Path) -> bool:
    """Return whether this is the root of the hierarchy, the only group that may hold both processes and subgroups."""
    return group.is_dir() and not (group / "cgroup.type").exists()


def _is_container() -> bool:
    """Return whether this process has its own view of the hierarchy, and so owns everything visible."""
    try:
        return Path("/proc/self/ns/cgroup").stat().st_ino != _INITIAL_NAMESPACE
    except OSError:
        return False


def _delegated(group: Path) -> bool:
    for name in _DELEGATED:
        with contextlib.suppress(OSError):
            if os.getxattr(group, name) == b"1":
                return True
    return False


def _controllers(group: Path, file: str) -> list[str]:
    try:
        return (group / file).read_text(encoding="ascii").split()
    except OSError:
        return []


def _hand_down(group: Path, names: list[str]) -> None:
    """Enable these controllers for the subgroups."""
    for name in names:
        if name not in _controllers(group, "cgroup.subtree_control"):
            try:
                _write(group / "cgroup.subtree_control", f"+{name}")
            except OSError:
                if name in NEEDED:
                    raise


def _sweep(above: Path) -> None:
    """Remove the groups of mesocosm processes that have ended."""
    for left in above.iterdir():
        pid, dash, _ = left.name.partition("-")
        if left.is_dir() and dash and pid.isdigit() and not Path("/proc", pid).exists():
            Cgroup(left).kill()
            with contextlib.suppress(OSError):
                left.rmdir()


def _quota(limits: CgroupLimits) -> str:
    if limits.processors is None:
        return ""
    return f"{max(int(limits.processors * _PERIOD_US), 1_000)} {_PERIOD_US}"


def _event(file: Path, name: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text(encoding="ascii").splitlines():
            key, _, number = line.partition(" ")
            if key == name:
                return int(number)
    return 0


def _pids(group: Path) -> list[int]:
    try:
        return [int(line) for line in (group / "cgroup.procs").read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return []


def _write(file: Path, text: str) -> None:
    """Write to a kernel file in one call, without ever creating it."""
    place = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(place, text.encode("ascii"))
    finally:
        os.close(place)
