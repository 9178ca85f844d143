"""Run external programs without isolation, on this machine and as this user: for an author's own code."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path

from mesocosm.core.secret import without_secrets
from mesocosm.sandboxes.log import FILE_BYTES, Log
from mesocosm.sandboxes.process import ForeignProcess, start_process

PYTHON = {"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}
"""UTF-8 output, so that an adapter can print on any console, or without one."""


class PlainSandbox:
    """Start processes without any isolation. Implements core.ports.Sandbox.

    They see `environment` (by default ours without variables that look like credentials) and the variables of each
    start. With `logs`, a directory, their output is written there in numbered files, the first `log_bytes` of each
    stream. `heard` is called with the stream (`stdout`, `stderr`) and each piece of output.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        logs: Path | None = None,
        log_bytes: int = FILE_BYTES,
        heard: Callable[[str, bytes], None] | None = None,
    ) -> None:
        self._environment = without_secrets(os.environ) if environment is None else dict(environment)
        self._logs = logs
        self._log_bytes = log_bytes
        self._heard = heard
        self._numbers = count(1)

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> ForeignProcess:
        """Start `command` (never through a shell) in `cwd` with the declared variables `env`.

        `port` is the loopback port that the process will listen on; it is ignored here, but sandboxes without a network
        need it. Raises EpisodeError with cause sandbox_failed.
        """
        del port
        number = next(self._numbers)
        return await start_process(
            command,
            cwd=cwd,
            env={**self._environment, **PYTHON, **(env or {})},
            stdout=self._log(number, "stdout"),
            stderr=self._log(number, "stderr"),
        )

    def _log(self, number: int, stream: str) -> Log:
        path = self._logs / f"{number:04}.{stream}.log" if self._logs is not None else None
        heard = partial(self._heard, stream) if self._heard is not None else None
        return Log(path, limit=self._log_bytes, heard=heard)
