"""Processes that `mesocosm view` starts on a laptop to continue or rescore a run.

Each is a `mesocosm` command in its own session, so it continues when the viewer ends. Secrets are passed in the
environment, never on the command line, which every user of the machine can read.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from mesocosm.core.failure import InfrastructureError, RunLeased, UnknownName, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.run import LeaseOwner, Run
from mesocosm.store.lease_owner import alive
from mesocosm.store.revision import DATABASE_NAME

BRIEF_S = 15.0
"""Seconds to wait for the process to lease the run. A slower process continues unobserved."""
_PAUSE_S = 0.05
_FEW = 400
"""Maximum number of lines of a failed process' output in the error message."""


class CommandError(msgspec.Struct, frozen=True):
    """The error that a `mesocosm --json` command prints."""

    error: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Workplace:
    """Arguments and environment variables that pass the location of the store to another process."""

    words: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def workplace(place: str, url: str = "") -> Workplace:
    """Return the arguments by which another process finds the store at `place`; pass `url` if it contains a password.

    A PostgreSQL store without `url` is the one in MESOCOSM_DATABASE_URL, which the process inherits.
    """
    path = Path(place)
    if url and not url.startswith("sqlite"):
        return Workplace(variables={"MESOCOSM_DATABASE_URL": url})
    if "://" in place:
        return Workplace()
    if path.name == DATABASE_NAME:
        return Workplace(("--results-dir", str(path.parent.absolute())))
    return Workplace(("--database-url", f"sqlite:///{path.absolute()}"))


def start(run_id: str, read: Callable[[], Run], place: Workplace, words: Sequence[str]) -> None:
    """Start `mesocosm WORDS` on a run; return when the process has leased the run or ended, or after `BRIEF_S` seconds.

    `read` returns the current run. Raises RunLeased, UnknownName or UsageError with the error message of the command,
    InfrastructureError if it could not be started.
    """
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
        # Wait for its end, or it would stay a zombie process.
        threading.Thread(target=process.wait, name=f"work on {run_id}", daemon=True).start()
        if _took_run(read, process):
            return
        if process.returncode not in (None, 0, 1, 3):
            raise _error(run_id, process.returncode, out, errors)


def _took_run(read: Callable[[], Run], process: subprocess.Popen[bytes]) -> bool:
    """Wait until the process leases the run, ends, or `BRIEF_S` have passed; return False if it has ended."""
    deadline = time.monotonic() + BRIEF_S
    while time.monotonic() < deadline:
        if process.returncode is not None:
            return False
        if _is_of(read().holder, process.pid):
            return True
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PAUSE_S)
    return True


def _is_of(holder: LeaseOwner | None, pid: int) -> bool:
    return holder is not None and holder.pid == pid and alive(holder) is True


def _error(run_id: str, code: int, out: IO[bytes], errors: IO[bytes]) -> Exception:
    """Return the error that a failed command reported."""
    try:
        reported = msgspec.json.decode(_text(out), type=CommandError)
    except (msgspec.DecodeError, UnicodeDecodeError):
        reported = CommandError()
    detail = reported.detail or "\n".join(_text(errors).splitlines()[-_FEW:])
    words = Redactor().text(detail).removeprefix("error: ").strip()
    message = words or f"the process started for run {run_id} exited with code {code} and printed nothing"
    kinds = {"RunLeased": RunLeased, "UnknownName": UnknownName, "InfrastructureError": InfrastructureError}
    return kinds.get(reported.error, UsageError)(message)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(1_000_000).decode("utf-8", "replace")
