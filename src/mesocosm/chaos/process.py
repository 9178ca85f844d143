"""The command under test: started in its own session, watched, harmed and ended, with all its descendants."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

OUTPUT = "output.txt"
GONE_S = 15.0
"""Seconds within which the descendants of a killed command must be gone."""
ENDS_S = 60.0
"""Seconds within which a command must end after a signal to end."""
_TAIL = 4
_PROC = Path("/proc")


class MesocosmProcess:
    """One start of `mesocosm WORDS` with its results in `place`. Its output is appended to a file there."""

    def __init__(self, words: Sequence[str], place: Path, variables: Mapping[str, str]) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.place = place
        self._from = (place / OUTPUT).stat().st_size if (place / OUTPUT).exists() else 0
        left_out = {"MESOCOSM_DATABASE_URL", "MESOCOSM_BLOB_URL"}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        with (place / OUTPUT).open("ab") as output:
            self.process = subprocess.Popen(  # noqa: S603 (our own program, and no shell)
                [sys.executable, "-m", "mesocosm", *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**kept, **variables, "MESOCOSM_RESULTS_DIR": str(place)},
                start_new_session=True,
            )
        self.started = time.monotonic()

    def wait(self, seconds: float) -> int | None:
        """Wait at most `seconds` for its end; return the exit code, or None if it still runs."""
        try:
            return self.process.wait(timeout=max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            return None

    def send(self, number: int, *, group: bool) -> None:
        """Send a signal to the process, or to its whole process group as a terminal does."""
        with suppress(ProcessLookupError):
            if group:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    def kill(self, *, group: bool) -> list[str]:
        """Kill it and end the processes that it left behind; return their command lines."""
        others = _below(self.process.pid)
        self.send(signal.SIGKILL, group=group)
        self.process.wait()
        return _ended(others)

    def end(self) -> tuple[int, list[str]]:
        """Terminate it, and kill it if necessary; return its exit code and what processes it left behind."""
        others = _below(self.process.pid)
        for number, seconds in ((signal.SIGCONT, 0.0), (signal.SIGTERM, ENDS_S), (signal.SIGKILL, ENDS_S)):
            self.send(number, group=number == signal.SIGKILL)
            if self.wait(seconds) is not None:
                break
        return self.process.wait(), _ended(others)

    def said(self) -> str:
        """Return the last lines of its output."""
        with (self.place / OUTPUT).open("rb") as output:
            output.seek(self._from)
            lines = output.read().decode("utf-8", "replace").splitlines()
        return "\n".join([line.strip() for line in lines if line.strip()][-_TAIL:])

    def fill_disk(self) -> bool:
        """Limit its file sizes to the current size of the results' journal; return False if that is not supported."""
        try:
            import resource

            limit = getattr(resource, "prlimit")  # noqa: B009 (Linux alone has it)
        except (ImportError, AttributeError):
            return False
        sizes = {path.suffix: path.stat().st_size for path in self.place.glob("*.sqlite*") if path.is_file()}
        size = max(next((sizes[name] for name in sizes if name.endswith("-wal") and sizes[name]), 0), 4096)
        with suppress(ProcessLookupError):
            limit(self.process.pid, resource.RLIMIT_FSIZE, (size, size))
        return True


def _below(pid: int) -> dict[int, str]:
    """Return the descendants of a process: their ids, each with its start time, which detects reused ids."""
    parents: dict[int, list[int]] = {}
    for path in _PROC.glob("[0-9]*/stat"):
        found = _stat(int(path.parent.name))
        if found is not None:
            parents.setdefault(int(found[1]), []).append(int(path.parent.name))
    below: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), ()):
            found = _stat(child)
            if found is not None:
                below[child] = found[19]
                waiting.append(child)
    return below


def _ended(others: Mapping[int, str]) -> list[str]:
    """Wait for processes to end, then kill the remaining ones; return the command lines of those."""
    end = time.monotonic() + GONE_S
    left = dict(others)
    while left and time.monotonic() < end:
        left = {pid: born for pid, born in left.items() if _lives(pid, born)}
        if left:
            time.sleep(0.02)
    named = []
    for pid, born in left.items():
        if _lives(pid, born):
            named.append(_line(pid))
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    return named


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the name (state, parent, …), or None without such a process."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _lives(pid: int, born: str) -> bool:
    found = _stat(pid)
    return found is not None and found[19] == born and found[0] not in "ZX"


def _line(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()[:120]
    except OSError:
        return f"process {pid}"
