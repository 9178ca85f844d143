"""Run one command, and end it with all its descendants. A separate program; standard library only.

    python -I -S supervisor.py CONTROL COMMAND [ARGUMENT…]

CONTROL is the number of an inherited socket. Over it the supervisor sends `started PID` or `failed REASON`, later
`exited CODE` (as in subprocess: negative for signals), and receives `stop SECONDS`. When the other end closes, for any
reason, everything is ended. The supervisor lives as long as any process of the tree.

Why a separate process: a parent-death signal set in our own process would need a `preexec_fn`, which runs Python
between fork and exec and can deadlock when other threads hold locks; it follows the death of the thread that started
the child, not of the process; and it reaches one process, not a tree. And only a process without other children can
become the reaper of its descendants (prctl(2), PR_SET_CHILD_SUBREAPER), so that a daemon with its own session is still
found. This process has a single thread, so the signal is safe to set here.
"""

import ctypes
import os
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"
# Seconds of grace after our owner died: servers may want to remove their files.
_ORPHAN_GRACE = 1.0
_GRACE = 5.0
_KILL_SECONDS = 5.0


class Supervisor:
    """The process tree of one command, seen from its root."""

    def __init__(self, control: int) -> None:
        self._control: int | None = control
        self._parent = os.getppid()
        self._leader = 0
        self._told_to_end = False
        os.set_inheritable(control, False)  # noqa: FBT003 -- takes it by position only
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end_soon)

    def run(self, command: list[str]) -> None:
        """Start the command and stay until no process of it is left."""
        libc = ctypes.CDLL(None)
        if _LINUX:
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            self._leader = _start(command, libc)
        except OSError as error:
            self._say(f"failed {error.strerror or error}")
            return
        self._say(f"started {self._leader}")
        # The pipes must close with the tree, not with this process.
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        grace = self._watch()
        if grace is not None:
            self._end(grace)

    def _watch(self) -> float | None:
        """Wait for the end of the tree (None) or for a reason to end it (seconds of grace)."""
        while self._reap():
            grace = self._listen(1.0)
            if grace is not None:
                return grace
        return None

    def _listen(self, seconds: float) -> float | None:
        """Wait for events; return the seconds of grace if the tree must be ended."""
        sources = [self._wake] if self._control is None else [self._wake, self._control]
        ready, _, _ = select.select(sources, [], [], max(seconds, 0))
        if self._wake in ready:
            os.read(self._wake, 4096)
        if self._told_to_end:
            self._told_to_end = False
            return _GRACE
        if self._control in ready:
            return self._order(self._control)
        # A fork of our parent without exec may hold the socket open, so check the parent too.
        return _ORPHAN_GRACE if os.getppid() != self._parent else None

    def _order(self, control: int) -> float:
        try:
            words = os.read(control, 4096).split()
        except OSError:
            words = []
        if words:
            return float(words[-1])
        # A closed socket is always readable; the wait for the tree must not spin on it.
        self._control = None
        return _ORPHAN_GRACE

    def _end(self, grace: float) -> None:
        """Ask everything to end, and kill it after `grace` seconds."""
        self._signal(signal.SIGTERM)
        self._parent = os.getppid()
        last = time.monotonic() + grace
        while self._reap() and (left := last - time.monotonic()) > 0:
            sooner = self._listen(min(left, 0.1))
            if sooner is not None:
                last = min(last, time.monotonic() + sooner)
        last = time.monotonic() + _KILL_SECONDS
        # Processes that are forked while others are killed are found in the next round.
        while self._reap() and time.monotonic() < last:
            self._signal(signal.SIGKILL)
            self._listen(0.02)

    def _reap(self) -> bool:
        """Collect ended processes; return whether any process lives."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not _LINUX and self._group_lives()
            if pid == 0:
                return True
            if pid == self._leader:
                self._say(f"exited {os.waitstatus_to_exitcode(status)}")

    def _group_lives(self) -> bool:
        try:
            os.killpg(self._leader, 0)
        except OSError:
            return False
        return True

    def _signal(self, number: int) -> None:
        # Signal each process once if they are known, because some servers take a second signal as a forced stop.
        members = descendants(os.getpid())
        for pid in members:
            try:
                os.kill(pid, number)
            except OSError:
                continue
        if not members:
            try:
                os.killpg(self._leader, number)
            except OSError:
                return

    def _end_soon(self, *_: object) -> None:
        self._told_to_end = True

    def _say(self, words: str) -> None:
        if self._control is None:
            return
        try:
            os.write(self._control, f"{words}\n".encode("utf-8", "replace"))
        except OSError:
            return


def _start(command: list[str], libc: ctypes.CDLL) -> int:
    """Start the command in a new session and return its process id. Raises OSError.

    `subprocess` would do the same, but importing it takes as long as the rest of this program.
    """
    reader, writer = os.pipe()  # closed by exec
    pid = os.fork()  # there are no threads here
    if not pid:
        try:
            _become(command, libc)
        except (OSError, ValueError) as error:
            os.write(writer, str(getattr(error, "strerror", None) or error).encode("utf-8", "replace"))
        finally:
            os._exit(127)
    os.close(writer)
    refusal = os.read(reader, 4096).decode("utf-8", "replace")
    os.close(reader)
    if refusal:
        os.waitpid(pid, 0)
        raise OSError(refusal)
    return pid


def _become(command: list[str], libc: ctypes.CDLL) -> None:
    """Turn this child into the command: without our signals and socket, and killed when its parent dies."""
    os.setsid()
    if _LINUX:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores these, and ignored signals are inherited
    os.execvp(command[0], command)  # noqa: S606 -- running the given command is its purpose


def descendants(root: int) -> list[int]:
    """Return the processes below `root` from /proc; empty if there is no /proc."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 -- importing pathlib would double the start time of this program
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 -- the same
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            children.setdefault(parent, []).append(int(name))
    found = list(children.get(root, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


if __name__ == "__main__":
    Supervisor(int(sys.argv[1])).run(sys.argv[2:])
    os._exit(0)  # nothing is buffered, and shutting down the interpreter would only delay our owner
