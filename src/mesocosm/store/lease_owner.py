"""Who works on a run: naming this process so that another one can tell whether it still lives."""

import functools
import os
import socket
import time
import uuid
from pathlib import Path

from mesocosm.core.run import LeaseOwner, Run, RunStatus

UNHELD_S = 10.0
"""A pending run that nobody holds for so long was left behind; being written and being held lie milliseconds apart."""

_PROC = Path("/proc")


def this_process() -> LeaseOwner:
    """Return what identifies this process. `started` counts seconds since boot; it unmasks a process id given again."""
    pid = os.getpid()
    _state, started = _stat(pid) or ("", 0.0)
    return LeaseOwner(socket.gethostname(), pid, started, _boot())


def alive(holder: LeaseOwner) -> bool | None:
    """Return whether that process lives; None where this process cannot know (another machine, boot or container)."""
    if holder.host != socket.gethostname() or holder.boot != _boot():
        return None
    if not (_PROC / "self" / "stat").exists():
        # Without /proc a living process id may have been given to another program, but a missing one is proof.
        return None if _exists(holder.pid) else False
    found = _stat(holder.pid)
    if found is None:
        return False
    state, started = found
    return state not in "ZX" and started == holder.started


def abandoned(run: Run) -> bool:
    """Return whether the process of a running run is gone. A server hands its own runs over, so these never are."""
    if run.status not in {RunStatus.PENDING, RunStatus.RUNNING} or run.hosted:
        return False
    if run.holder is not None:
        return alive(run.holder) is False
    return run.status is RunStatus.RUNNING or time.time() - run.created_at > UNHELD_S


@functools.cache
def _boot() -> str:
    """Return the boot of this machine and the space in which its process ids count."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return f"node {uuid.getnode():x}"


def _stat(pid: int) -> tuple[str, float] | None:
    """Return state letter and start time of a process, None when there is none (or no /proc)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name in parentheses may itself hold spaces and parentheses.
    fields = text[text.rindex(")") + 2 :].split()
    return fields[0], int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
