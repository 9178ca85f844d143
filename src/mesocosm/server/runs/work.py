"""Work that the server starts: processes of their own that continue or rescore a run.

Each is a `mesocosm` in a session of its own, so it goes on when the server ends. Whatever is secret travels in the
environment that it inherits, never in its command line, which every user of the machine can read.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from mesocosm.core.failure import InfrastructureError, RunLeased, UnknownName, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.run import LeaseOwner
from mesocosm.server.auth.owned_runs import OwnedRun
from mesocosm.store import DATABASE_NAME, alive

BRIEF_S = 15.0
"""Seconds for which the beginning of work is awaited; what takes longer goes on, and the run shows what came of it."""
_PAUSE_S = 0.05
_FEW = 400
"""Lines of a failed program that are told."""


class Refusal(msgspec.Struct, frozen=True):
    """How a `mesocosm --json` says why it did nothing."""

    error: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Workplace:
    """Where the store of a server is, as another process is told: words of a command line, and variables."""

    words: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def workplace(place: str, url: str = "") -> Workplace:
    """Return how another process finds the store at `place`; `url` is needed where it holds a password.

    A PostgreSQL store without `url` is the one that MESOCOSM_DATABASE_URL names, which the process inherits.
    """
    path = Path(place)
    if url and not url.startswith("sqlite"):
        return Workplace(variables={"MESOCOSM_DATABASE_URL": url})
    if "://" in place:
        return Workplace()
    if path.name == DATABASE_NAME:
        return Workplace(("--results-dir", str(path.parent.absolute())))
    return Workplace(("--database-url", f"sqlite:///{path.absolute()}"))


def start(run: OwnedRun, place: Workplace, words: Sequence[str]) -> None:
    """Start `mesocosm WORDS` on a run, and return when it has taken the run up or is done with it.

    Raises RunLeased, UnknownName or UsageError with the program's own words when it refused, InfrastructureError when
    it could not be started.
    """
    run_id = run.id
    command = [sys.executable, "-m", "mesocosm", *words, *place.words, "--json"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program, and no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env={**os.environ, **place.variables},
                start_new_session=True,
            )
        except OSError as error:
            raise InfrastructureError(f"no process could be started for run {run_id}: {error.strerror}") from error
        # Somebody must take note of its end, or it stays in the table of processes.
        threading.Thread(target=process.wait, name=f"work on {run_id}", daemon=True).start()
        if _taken_up(run, process):
            return
        if process.returncode not in (None, 0, 1, 3):
            raise _refusal(run_id, process.returncode, out, errors)


def _taken_up(run: OwnedRun, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the process holds the run, or is over, or time is up; return whether it is at work."""
    deadline = time.monotonic() + BRIEF_S
    while time.monotonic() < deadline:
        if process.returncode is not None:
            return False
        if _holds(run.again().record.holder, process.pid):
            return True
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PAUSE_S)
    return True


def _holds(holder: LeaseOwner | None, pid: int) -> bool:
    return holder is not None and holder.pid == pid and alive(holder) is True


def _refusal(run_id: str, code: int, out: IO[bytes], errors: IO[bytes]) -> Exception:
    """Return why a program did nothing, as the error that it had itself."""
    try:
        refusal = msgspec.json.decode(_text(out), type=Refusal)
    except (msgspec.DecodeError, UnicodeDecodeError):
        refusal = Refusal()
    told = refusal.detail or "\n".join(_text(errors).splitlines()[-_FEW:])
    words = Redactor().text(told).removeprefix("error: ").strip()
    message = words or f"the process that was to work on run {run_id} ended with code {code} and said nothing"
    kinds = {"RunLeased": RunLeased, "UnknownName": UnknownName, "InfrastructureError": InfrastructureError}
    return kinds.get(refusal.error, UsageError)(message)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(1_000_000).decode("utf-8", "replace")
