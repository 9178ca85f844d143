"""Run the rollout of a folder in worker processes. Implements rollouts.executor.RolloutExecutor."""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from secrets import token_hex

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.http.client import HttpClient
from mesocosm.rollouts.executor import LineLog, RowJob, RowOutcome
from mesocosm.rollouts.processes.attempt import RowAttempt
from mesocosm.rollouts.processes.callbacks import Callbacks
from mesocosm.rollouts.processes.installation import Installation
from mesocosm.rollouts.processes.output import LogFile
from mesocosm.rollouts.processes.pool import CORES, WorkerPool
from mesocosm.rollouts.processes.process import Launch, WorkerProcess, start
from mesocosm.rollouts.processes.scratch import ExecutorScratch
from mesocosm.rollouts.processes.transport import Displaced
from mesocosm.sandboxes.telemetry import OFF

INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "SYSTEMROOT"),
)
"""Environment variables of this process that every rollout inherits. Others must be declared."""

LOOPBACK = "127.0.0.1,localhost"
TRIES = 3
"""Maximum number of times to run a row that loses its process through no fault of its own."""

START_S = 90.0
_INSTANT_S = 0.001
_IDLE_S = 3.0
"""Shorter than servers keep idle connections open (uvicorn: 5 s), so that they never close one during a request."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """The parts of an open executor."""

    client: HttpClient
    callbacks: Callbacks
    pool: WorkerPool
    scratch: ExecutorScratch


class ProcessExecutor:
    """Runs the rollout of `folder` in `workers` processes (None: one per core), in its own virtual environment.

    A rollout of our own SDK gets its rows over a socket; one that serves the published protocol itself, over HTTP in a
    single process. The processes see `environment`, the variables in INHERITED, and variables that stop frameworks from
    sending traces. Virtual environments are kept in `installs` (None: the user's cache) and reused. `concurrency` is
    the number of concurrent rows, if known. Output of the processes goes to `log_file`, without `secrets` and without
    values of `environment` that look like secrets. Starting a process fails if the files no longer match `content`.
    """

    def __init__(
        self,
        folder: Path,
        entrypoint: str,
        *,
        environment: Mapping[str, str],
        installs: Path | None = None,
        workers: int | None = None,
        concurrency: int | None = None,
        log_file: Path | None = None,
        secrets: Collection[str] = (),
        start_seconds: float = START_S,
        content: Content | None = None,
    ) -> None:
        self._content = content
        self._folder = folder.absolute()
        self._entrypoint = entrypoint
        self._environment = dict(environment)
        self._installs = installs or _cache()
        self._workers = workers or CORES
        self._concurrency = concurrency
        self._seconds = start_seconds
        self._log = LogFile(log_file, Redactor({*secret_values(environment), *secrets}))
        self._prefix = f"r{token_hex(6)}-"
        self._numbers = count(1)
        self._opened: _Opened | None = None

    @property
    def capacity(self) -> int | None:
        """Maximum number of concurrent rows, known after `open`; None is unlimited."""
        return self._opened.pool.capacity if self._opened is not None else None

    async def open(self, notice: Callable[[str], None]) -> None:
        """Create the virtual environment if needed, and start the rollout. Raises MesocosmError."""
        installation = Installation(self._folder, self._installs, self._variables())
        python = await installation.python(notice)
        scratch = ExecutorScratch(self._prefix, self._variables())
        self._log.open()
        client, callbacks = HttpClient(idle_timeout=_IDLE_S), Callbacks(notice)
        launch = Launch(
            python,
            self._folder,
            self._entrypoint,
            self._variables(Path(python).parent),
            self._prefix,
            scratch.folder,
            self._seconds,
        )

        async def started() -> WorkerProcess:
            return await start(launch, client, callbacks, self._log, self._content)

        pool = WorkerPool(started, min(self._workers, self._concurrency or self._workers), self._concurrency, notice)
        self._opened = _Opened(client, callbacks, pool, scratch)
        try:
            await callbacks.start()
            await pool.open()
        except BaseException:
            await self.close()
            raise

    async def run(self, job: RowJob, log: LineLog) -> RowOutcome:
        """Run one row. Raises EpisodeError (rollout_failed), RunAborted if no process can be started any more.

        A row that lost its process because of another row is run again, with its full time.
        """
        assert self._opened is not None, "open the executor first"
        displaced, began = "", time.monotonic()
        for _ in range(TRIES):
            try:
                return await self._once(self._opened, job, log, began)
            except Displaced as error:
                displaced = str(error)
                if error.harmed:
                    self._opened.pool.isolate(displaced)
        raise EpisodeError(Cause.ROLLOUT_FAILED, f"this row lost its process {TRIES} times: {displaced}")

    async def close(self) -> None:
        """End all processes and remove their temporary files."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        await opened.pool.close()
        await opened.callbacks.stop()
        await opened.client.close()
        self._log.close()
        await asyncio.to_thread(opened.scratch.clear)

    async def _once(self, opened: _Opened, job: RowJob, log: LineLog, began: float) -> RowOutcome:
        pool = opened.pool
        slot = await pool.take()
        waited = time.monotonic() - began
        name = f"{self._prefix}{next(self._numbers)}"
        attempt = RowAttempt(job, name, slot, log)
        try:
            outcome = await attempt.play()
            return replace(outcome, queued_s=outcome.queued_s + waited) if waited > _INSTANT_S else outcome
        except asyncio.CancelledError:
            attempt.abandoned = True
            raise
        finally:
            slot.process.attempts.pop(name, None)
            if attempt.abandoned:
                pool.abandon(slot, name)
            if attempt.stuck:
                pool.wear(slot.process)
            pool.give_back(slot)
            if attempt.blocking:
                pool.isolate(attempt.blocking)
            if not slot.process.transport.shareable:
                # Our own SDK writes artifacts directly to their final folder.
                opened.scratch.keep(name, job.artifacts)

    def _variables(self, programs: Path | None = None) -> dict[str, str]:
        """Return the complete environment of a process of the rollout."""
        variables = {**OFF, **{name: os.environ[name] for name in INHERITED if name in os.environ}}
        variables.update(self._environment)
        for name in ("NO_PROXY", "no_proxy"):
            variables[name] = ",".join(filter(None, (variables.get(name, ""), LOOPBACK)))
        if programs is not None:
            variables["PATH"] = os.pathsep.join(filter(None, (str(programs), variables.get("PATH", ""))))
        return variables


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "mesocosm" / "environments"
