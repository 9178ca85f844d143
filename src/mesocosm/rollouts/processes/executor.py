"""Run the rows of a rollout in worker processes: each until its deadline, and again if it lost its process to another.

Implements rollouts.executor.RolloutExecutor.
"""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.http.client import HttpClient
from mesocosm.rollouts.executor import BlockedLoop, LineLog, RowFailure, RowJob, RowOutcome
from mesocosm.rollouts.processes.http_transport import Callbacks, ServerFiles
from mesocosm.rollouts.processes.installation import Installation
from mesocosm.rollouts.processes.pool import CORES, WorkerPool
from mesocosm.rollouts.processes.process import (
    IDLE_S,
    Launch,
    LogFile,
    ProcessLoss,
    ProcessSlot,
    RowLost,
    quoted,
)
from mesocosm.rollouts.processes.sandboxed import ModelDoors, SandboxedWorkers, WorkerSandbox, inside
from mesocosm.rollouts.processes.transport import Displaced
from mesocosm.rollouts.processes.wire import CANCELLED, CompletionReport, outcome_of, still_running, workflow_failure
from mesocosm.sandboxes.telemetry import OFF

INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "SYSTEMROOT"),
)
"""Environment variables of this process that every rollout inherits. Others must be declared."""

LOOPBACK = "127.0.0.1,localhost"
TRIES = 3
"""Maximum number of times to run a row that loses its process through no fault of its own."""

ASKED_S, LAST_S = 0.3, 0.8
"""Seconds after a deadline at which a process is probed, and given up if it does not answer. With what follows, this
is less than executor.GRACE_S.
"""

NOTICEABLE = 0.2
"""A timeout is blamed on other rows if they held the event loop for more than this share of the row's time."""

START_S = 90.0
_INSTANT_S = 0.001
_PARTIAL_S = 0.2

T = TypeVar("T")


class ProcessExecutor:
    """Runs the rollout of `folder` in `workers` processes (None: one per core), in its own virtual environment.

    A rollout of our own SDK gets its rows over a socket; one that serves the published protocol itself, over HTTP in a
    single process. The processes see `environment`, the variables in INHERITED, and variables that stop frameworks from
    sending traces. Virtual environments are kept in `installs` (None: the user's cache) and reused. `concurrency` is
    the number of concurrent rows, if known. Output of the processes goes to `log_file`, without `secrets` and without
    values of `environment` that look like secrets. Starting a process fails if the files no longer match `content`.

    With `sandbox` the rollout is foreign code: its processes see only their folder, their packages and `environment`,
    and reach nothing but the models of their rows, the listener for callbacks and the sandbox's hosts. Nothing is
    installed for it: `open` fails if its virtual environment is missing. `python` is the interpreter of an environment
    that was made before; with it nothing is looked for or installed.
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
        sandbox: WorkerSandbox | None = None,
        python: str | None = None,
    ) -> None:
        self._content = content
        self._python = python
        self._sandbox = None if sandbox is None else SandboxedWorkers(sandbox)
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
        self._stack = AsyncExitStack()
        self._pool: WorkerPool | None = None

    @property
    def capacity(self) -> int | None:
        """Maximum number of concurrent rows, known after `open`; None is unlimited."""
        return None if self._pool is None else self._pool.capacity

    async def open(self, notice: Callable[[str], None]) -> None:
        """Create the virtual environment if needed, and start the rollout. Raises MesocosmError."""
        # What runs outside of the sandbox must not see variables that the rollout's author chose.
        plain = self._sandbox is None
        declared = self._variables() if plain else _inherited()
        python = self._python
        if python is None:
            installation = Installation(self._folder, self._installs, declared, installing=plain)
            python = (await installation.python(notice)).path
        client, callbacks = HttpClient(idle_timeout=IDLE_S), Callbacks(notice)
        files = ServerFiles(self._prefix, declared)
        self._stack.push_async_callback(asyncio.to_thread, files.clear)
        self._log.open()
        self._stack.callback(self._log.close)
        self._stack.push_async_callback(client.close)
        self._stack.push_async_callback(callbacks.stop)
        launch = Launch(
            python,
            self._folder,
            self._entrypoint,
            self._variables(Path(python).parent),
            self._prefix,
            self._seconds,
            client,
            callbacks,
            files,
            self._log,
            self._content,
            self._sandbox,
        )
        pool = WorkerPool(launch, min(self._workers, self._concurrency or self._workers), self._concurrency, notice)
        self._stack.push_async_callback(pool.close)
        try:
            await pool.open()
        except BaseException:
            await self.close()
            raise
        self._pool = pool

    async def run(self, job: RowJob, log: LineLog) -> RowOutcome:
        """Run one row. Raises EpisodeError (rollout_failed), RunAborted if no process can be started any more.

        A row that lost its process because of another row is run again, with its full time.
        """
        pool = self._pool
        assert pool is not None, "open the executor first"
        displaced, began = "", time.monotonic()
        for _ in range(TRIES):
            try:
                return await self._once(pool, job, log, began)
            except Displaced as error:
                displaced = str(error)
                if error.harmed:
                    pool.isolate(displaced)
        raise EpisodeError(Cause.ROLLOUT_FAILED, f"this row lost its process {TRIES} times: {displaced}")

    async def close(self) -> None:
        """End all processes and remove their temporary files."""
        self._pool = None
        await self._stack.aclose()

    async def _once(self, pool: WorkerPool, job: RowJob, log: LineLog, began: float) -> RowOutcome:
        slot = await pool.take()
        waited = time.monotonic() - began
        name = f"{self._prefix}{next(self._numbers)}"
        try:
            attempt = RowAttempt(job, name, slot, log, None if self._sandbox is None else self._sandbox.doors)
        except BaseException:
            pool.give_back(slot)
            raise
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
                slot.process.wear()
            pool.give_back(slot)
            if attempt.blocking:
                pool.isolate(attempt.blocking)

    def _variables(self, programs: Path | None = None) -> dict[str, str]:
        """Return the complete environment of a process of the rollout."""
        variables = {**OFF, **(_inherited() if self._sandbox is None else {}), **self._environment}
        for name in ("NO_PROXY", "no_proxy"):
            variables[name] = ",".join(filter(None, (variables.get(name, ""), LOOPBACK)))
        if programs is not None and self._sandbox is None:
            variables["PATH"] = os.pathsep.join(filter(None, (str(programs), variables.get("PATH", ""))))
        return variables


def _inherited() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "mesocosm" / "environments"


class RowOverdue(Exception):
    """The process responds, but the row has not ended in time."""


class RowAttempt:
    """One row in one process, which knows it as `name`. `abandoned`: the process may still work on it.

    `stuck`: its abandoned code still runs. `blocking` describes how it blocked the event loop, if it did. `accepted`:
    the process accepted it, and may have done some of its work.
    """

    def __init__(
        self, job: RowJob, name: str, slot: ProcessSlot, log: LineLog, doors: ModelDoors | None = None
    ) -> None:
        folder = slot.process.folder
        self._sent = job if doors is None or folder is None else inside(job, name, doors, folder)
        self.log = log
        self.seconds = job.workflow_seconds
        self.accepted = False
        self.abandoned = False
        self.blocking = ""
        self.stuck = False
        self._job = job
        self._name = name
        self._process = slot.process
        self._transport = slot.process.transport
        self._shared = not slot.alone
        self._results = self._transport.expect(job, name)
        self._before = self._process.held() if self._shared else {}
        self._began = time.monotonic()
        self._refused_s = 0.0
        self._check: asyncio.Task[None] | None = None
        slot.process.attempts[name] = self

    async def play(self) -> RowOutcome:
        """Return the outcome of the row. Raises Displaced, EpisodeError."""
        try:
            return await self._play()
        finally:
            if self._check is not None:
                self._check.cancel()
            self._transport.forget(self._name)
            if self._process.folder is not None:
                for words in await self._process.folder.keep(self._name, self._job.artifacts):
                    self.log("stderr", words)

    def move(self, words: str) -> None:
        """End the attempt, because the row should run in another process."""
        if not self._results.grading.done():
            self.abandoned = True
            self.fail(Displaced(words))

    def fail(self, error: Exception) -> None:
        """End the attempt with an error."""
        self._results.fail(error)

    async def _play(self) -> RowOutcome:
        job, results = self._job, self._results
        try:
            await self._send()
            completion = await self._within(results.completion, job.workflow_seconds, self._began)
        except RowLost as lost:
            return self._lost(lost.loss, None)
        except RowOverdue:
            return self._overdue(None)
        if completion.status == CANCELLED:
            return self._cancelled()
        workflow_s = time.monotonic() - self._began
        failure = workflow_failure(completion)
        if failure is not None:
            return await self._failed(completion, failure, workflow_s)
        began = time.monotonic()
        try:
            grading = await self._within(results.grading, job.grader_seconds, began)
        except RowLost as lost:
            return self._lost(lost.loss, workflow_s)
        except RowOverdue:
            return self._overdue(workflow_s)
        result = outcome_of(completion, grading, workflow_s, time.monotonic() - began)
        self.stuck = still_running(completion, grading)
        if result.failure is not None and result.failure.cause is Cause.GRADER_TIMEOUT:
            self._check_others(job.grader_seconds)
            result = self._with_blocked(result, job.grader_seconds)
        elif result.blocked is None:
            result = self._with_blocked(result, None)
        return self._timed(result)

    async def _send(self) -> None:
        """Send the row and wait until the process accepts it. Raises RowLost, Displaced, EpisodeError."""
        if self._process.lost.done():
            raise RowLost(self._process.lost.result())
        sending = asyncio.ensure_future(self._transport.send(self._sent, self._name, self._results))
        waits: set[asyncio.Future[Any]] = {sending, self._results.completion}
        try:
            # Also stop waiting if the attempt fails meanwhile.
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                self.abandoned = True
                self._results.completion.result()
            self._refused_s = await sending
        except Displaced as error:
            if self._process.lost.done():
                raise RowLost(self._process.lost.result()) from error
            self.abandoned = self.abandoned or error.harmed
            raise
        finally:
            sending.cancel()
        self.accepted = True
        if self._refused_s:
            self._began = time.monotonic()

    async def _within(self, future: "asyncio.Future[T]", seconds: float | None, began: float) -> T:
        """Await a result due `seconds` after `began`. Raises RowLost, RowOverdue, Displaced, EpisodeError."""
        if seconds is None or future.done():
            return await future
        loop = asyncio.get_running_loop()
        handle = loop.call_later(max(began + seconds + ASKED_S - time.monotonic(), 0), self._late_by, began, seconds)
        try:
            return await future
        finally:
            handle.cancel()

    def _late_by(self, began: float, seconds: float) -> None:
        self._check = asyncio.get_running_loop().create_task(self._ask(began, began + seconds + LAST_S))

    async def _ask(self, began: float, last: float) -> None:
        """Probe the process until time `last`; if it does not answer, give it up."""
        silent = time.monotonic() - began
        if await self._transport.probe(max(last - time.monotonic(), 0.05)):
            await asyncio.sleep(max(last - time.monotonic(), 0))
            self.fail(RowOverdue())
            return
        # A dead process does not answer either; its exit is noticed a moment later, and takes precedence.
        await asyncio.sleep(0.02)
        self._process.lose(f"after {silent:.1f} s its process answered nothing any more")

    def _lost(self, loss: ProcessLoss, workflow_s: float | None) -> RowOutcome:
        """Return the outcome of this row after its process was lost. Raises Displaced, EpisodeError."""
        if loss.died:
            if not loss.alone:
                raise Displaced(f"its process {loss.words} while several rows ran")
            raise self._broken(f"its process {loss.words} while this row ran{quoted(loss.stderr)}", loss.stderr)
        passed = self._passed(workflow_s)
        where = f" at {loss.where}" if loss.where else ""
        if not passed or (loss.culprit != self._name and (loss.culprit or not loss.alone)):
            raise Displaced(f"a row blocks the event loop for others{where}")
        self._check_others(self._job.workflow_seconds if workflow_s is None else self._job.grader_seconds)
        self.blocking = f"a row blocks the event loop{where}"
        part = "workflow" if workflow_s is None else "grader"
        late = self._late(f"the {part} blocked its event loop{where}: {loss.words}", workflow_s)
        return replace(late, blocked=BlockedLoop(late.grader_s or late.workflow_s, loss.where))

    def _overdue(self, workflow_s: float | None) -> RowOutcome:
        part, seconds = ("workflow", self._job.workflow_seconds) if workflow_s is None else ("grader", None)
        seconds = self._job.grader_seconds if seconds is None else seconds
        self.abandoned = True
        if self._shared and self._transport.punctual:
            raise Displaced("a server that ends every row in time did not report one")
        self._check_others(seconds)
        return self._late(f"the {part} did not end within {seconds or 0:g} s, nor when it was cancelled", workflow_s)

    def _late(self, message: str, workflow_s: float | None) -> RowOutcome:
        passed = time.monotonic() - self._began
        if workflow_s is None:
            return self._timed(RowOutcome(failure=RowFailure(Cause.WORKFLOW_TIMEOUT, message), workflow_s=passed))
        failure = RowFailure(Cause.GRADER_TIMEOUT, message)
        return self._timed(RowOutcome(failure=failure, workflow_s=workflow_s, grader_s=passed - workflow_s))

    def _cancelled(self) -> RowOutcome:
        """Return the outcome of a row that was cancelled, but not by us. Raises Displaced."""
        if self._shared or not self._transport.punctual:
            raise Displaced("its process cancelled a row without being asked to")
        message = "CancelledError: the workflow's own code cancelled it"
        passed = time.monotonic() - self._began
        return RowOutcome(failure=RowFailure(Cause.WORKFLOW_FAILED, message), workflow_s=passed)

    def _with_blocked(self, result: RowOutcome, seconds: float | None) -> RowOutcome:
        """Record how long the row blocked the event loop; mention it in a failure if it took much of its `seconds`."""
        own = self._process.held().get(self._name)
        if own is None:
            return result
        result = replace(result, blocked=own)
        if result.failure is None or seconds is None or own.seconds <= NOTICEABLE * seconds:
            return result
        words = f"{result.failure.message}; it blocked its event loop for {own.seconds:.1f} s at {own.where}"
        return replace(result, failure=replace(result.failure, message=words))

    async def _failed(self, completion: CompletionReport, failure: RowFailure, workflow_s: float) -> RowOutcome:
        """Return the outcome of a workflow that failed; no grader runs."""
        if completion.extra_fields:
            # Our own SDK sends the messages up to the failure after the completion.
            await asyncio.wait({self._results.grading}, timeout=_PARTIAL_S)
        grading = self._results.grading.result() if self._results.grading.done() else None
        result = outcome_of(completion, grading, workflow_s, 0.0)
        self.stuck = still_running(completion, grading)
        if failure.cause is Cause.WORKFLOW_TIMEOUT:
            self._check_others(self._job.workflow_seconds)
            result = self._with_blocked(result, self._job.workflow_seconds)
        return self._timed(result)

    def _check_others(self, seconds: float | None) -> None:
        """Raise Displaced if other rows held the event loop for much of this row's time."""
        if not self._shared or seconds is None:
            return
        others = {name: held for name, held in self._process.held().items() if name != self._name}
        lately = {name: held.seconds - self._before.get(name, BlockedLoop()).seconds for name, held in others.items()}
        if sum(lately.values()) > NOTICEABLE * seconds:
            worst = max(lately, key=lately.__getitem__)
            raise Displaced(f"a row blocks the event loop for others at {others[worst].where}")

    def _passed(self, workflow_s: float | None) -> bool:
        seconds = self._job.workflow_seconds
        if workflow_s is not None:
            seconds = None if self._job.grader_seconds is None else workflow_s + self._job.grader_seconds
        return seconds is not None and time.monotonic() - self._began >= seconds

    def _timed(self, result: RowOutcome) -> RowOutcome:
        return replace(result, queued_s=result.queued_s + self._refused_s) if self._refused_s else result

    def _broken(self, message: str, stderr: str = "") -> EpisodeError:
        return EpisodeError(Cause.ROLLOUT_FAILED, message, stderr=stderr)
