"""Lease owners: identify this process so that other processes can check whether it is alive."""

import functools
import os
import socket
import time
import uuid
from collections.abc import Collection
from pathlib import Path

from mesocosm.core.run import LeaseOwner, Run, RunStatus

UNHELD_S = 10.0
"""Seconds without a lease after which a run counts as abandoned; a run is normally leased within milliseconds."""

INTERRUPTED = "interrupted"
STATES = (*(status.value for status in RunStatus), INTERRUPTED)
"""The states of runs that are shown and filtered by."""

_PROC = Path("/proc")


def this_process() -> LeaseOwner:
    """Return the identity of this process. `started` is in seconds since boot; it detects a reused process id."""
    pid = os.getpid()
    _state, started = _stat(pid) or ("", 0.0)
    return LeaseOwner(socket.gethostname(), pid, started, _boot())


def alive(holder: LeaseOwner) -> bool | None:
    """Return whether a process is alive; None if this process cannot know (other machine, boot or container)."""
    if holder.host != socket.gethostname() or holder.boot != _boot():
        return None
    if not (_PROC / "self" / "stat").exists():
        # Without /proc an existing process id may have been reused, but a missing one is proof.
        return None if _exists(holder.pid) else False
    found = _stat(holder.pid)
    if found is None:
        return False
    state, started = found
    return state not in "ZX" and started == holder.started


def abandoned(run: Run) -> bool:
    """Return whether a run should be running but its process is gone.

    Always False for runs of a server: they wait for its workers, which take them over from each other.
    """
    if run.status not in {RunStatus.PENDING, RunStatus.RUNNING} or run.hosted:
        return False
    if run.holder is not None:
        return alive(run.holder) is False
    return run.status is RunStatus.RUNNING or time.time() - run.created_at > UNHELD_S


def state(run: Run) -> str:
    """Return the status of a run as it is shown: `interrupted` if it should be running and its process is gone."""
    return INTERRUPTED if abandoned(run) else run.status.value


def stored_as(states: Collection[str]) -> tuple[RunStatus, ...]:
    """Return the stored statuses of runs with these states; the store cannot tell interrupted runs from going ones."""
    found = [RunStatus(one) for one in states if one != INTERRUPTED]
    going = (RunStatus.PENDING, RunStatus.RUNNING) if INTERRUPTED in states else ()
    return tuple(dict.fromkeys([*found, *going]))


@functools.cache
def _boot() -> str:
    """Return the boot id of this machine and its process id namespace."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return f"node {uuid.getnode():x}"


def _stat(pid: int) -> tuple[str, float] | None:
    """Return state letter and start time of a process, None if it does not exist (or there is no /proc)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name in parentheses may itself contain spaces and parentheses.
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
