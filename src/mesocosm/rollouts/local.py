"""Rollouts in this process: simple, without protection against code that blocks or crashes."""

import asyncio
import contextlib
import itertools
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Self, TypeVar

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.foreign import read_json
from mesocosm.core.source import FreshLoader, fresh_modules
from mesocosm.rollouts.certificates import late_certificates
from mesocosm.rollouts.executor import LineLog, RowJob, RowOutcome
from mesocosm.rollouts.output import RowOutput, capture, current_output
from mesocosm.rollouts.processes.run_entry_file import EntryError, find_rollout
from mesocosm.rollouts.processes.wire import CompletionReport, GradingReport, job_fields, outcome_of
from mesocosm.rollouts.sdk import clients
from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, GraderConfig
from mesocosm.rollouts.sdk.context import RolloutContext
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult, encode_completion, encode_grading
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, Grader
from mesocosm.rollouts.unclosed import safe_closing
from mesocosm.sandboxes.telemetry import OFF

SHIM = Path(__file__).parents[1] / "compat" / "osmosis"
"""Directory with the package name under which published rollouts import their SDK."""

PUBLISHED = "osmosis_ai"

T = TypeVar("T")

_numbers = itertools.count(1)


class InProcessExecutor:
    """Runs rows in this process, on a separate event loop. Implements rollouts.executor.RolloutExecutor.

    For classes that are passed as objects (`of`), and for debuggers. Code that blocks delays all other rows and cannot
    be stopped: use rollouts.processes.executor.ProcessExecutor for such code.

    The folder of the entry file comes first on the module path, as for a script. `osmosis_ai` resolves to our own SDK.
    While the executor is open, `environment` is set in this process, and frameworks send no traces to their vendors
    unless `environment` enables that.
    """

    def __init__(
        self,
        folder: Path,
        entrypoint: str,
        environment: Mapping[str, str] = MappingProxyType({}),
        content: Content | None = None,
    ) -> None:
        self._content = content
        self._folder = folder.resolve()
        self._entry = self._folder / entrypoint
        self._backend: LocalBackend | None = None
        self._environment = {**OFF, **environment}
        self._stack = contextlib.ExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def of(
        cls,
        *,
        workflow: type[AgentWorkflow[Any]] | str,
        grader: type[Grader] | str | None = None,
        workflow_config: AgentWorkflowConfig | str | None = None,
        grader_config: GraderConfig | str | None = None,
    ) -> Self:
        """Return an executor for classes that are already loaded. Raises as LocalBackend does."""
        executor = cls(Path(), "")
        executor._backend = LocalBackend(
            workflow=workflow, workflow_config=workflow_config, grader=grader, grader_config=grader_config
        )
        return executor

    @property
    def capacity(self) -> int | None:
        """Maximum number of concurrent rows, known after `open`; None is unlimited."""
        return None if self._backend is None else self._backend.max_concurrency or None

    async def open(self, notice: Callable[[str], None]) -> None:
        """Load the entry file. Raises UsageError if it cannot be loaded or does not define exactly one rollout."""
        del notice
        capture.begin()
        self._stack.callback(capture.end)
        for change in (late_certificates, safe_closing):
            change.begin()
            self._stack.callback(change.end)
        self._stack.enter_context(_variables(self._environment))
        # A separate loop: code that waits for its model with a blocking client must not block the model proxy.
        loop = self._loop = asyncio.new_event_loop()
        threading.Thread(target=_run, args=(loop,), name="rollout", daemon=True).start()
        self._stack.callback(loop.call_soon_threadsafe, loop.stop)
        if self._backend is not None:
            return
        try:
            await self._check_content()
            self._backend = await _on(loop, self._load())
            await self._check_content()
        except BaseException:
            await self.close()
            raise

    async def run(self, job: RowJob, log: LineLog) -> RowOutcome:
        """Run one row. Raises EpisodeError (rollout_failed)."""
        backend = self._backend
        if backend is None or self._loop is None:
            raise EpisodeError(
                Cause.ROLLOUT_FAILED, "the rollout is not loaded, or was closed; open the executor first"
            )
        reports: list[bytes] = []

        async def complete(result: ExecutionResult) -> None:
            reports.append(encode_completion(result, job.id))

        async def grade(result: ExecutionResult) -> None:
            reports.append(encode_grading(result, job.id))

        output = RowOutput(job.id, partial(_log_here, asyncio.get_running_loop(), log))
        token = current_output.set(output)
        try:
            with RolloutContext(job.model.base_url, job.model.api_key, job.id):
                request = ExecutionRequest.of(job_fields(job, job.id), job.id)
                await _on(self._loop, backend.execute(request, complete, grade))
        except RuntimeError as error:
            raise EpisodeError(Cause.ROLLOUT_FAILED, f"the rollout could not be executed: {error}") from error
        finally:
            current_output.reset(token)
            output.end()
            # Let this loop deliver lines that are still queued.
            await asyncio.sleep(0)
        # Decode the reports as from a worker process, so that a row ends the same way in both executors.
        return outcome_of(read_json(reports[0], CompletionReport), read_json(reports[1], GradingReport), 0.0, 0.0)

    async def close(self) -> None:
        """Accept no more rows, and remove the rollout's modules."""
        if self._backend is not None:
            self._backend.close()
        self._loop = None
        self._stack.close()

    async def _check_content(self) -> None:
        if self._content is not None:
            await self._content.check()

    async def _load(self) -> LocalBackend:
        """Load the entry file."""
        if not self._entry.is_file():
            raise UsageError(f"the rollout has no entry file {self._entry}; [experiment] entrypoint names it")
        _check_published()
        paths = list(dict.fromkeys([str(self._entry.parent), str(self._folder), str(SHIM)]))
        sys.path[:0] = paths
        name = f"mesocosm_rollout_{next(_numbers)}"
        self._stack.callback(_forget, self._folder, name, paths)
        self._stack.enter_context(fresh_modules(self._folder, {}))
        with _own_logging(), contextlib.redirect_stdout(sys.stderr):
            module = _import(name, self._entry)
        try:
            backend = find_rollout(module)
        except EntryError as error:
            raise UsageError(str(error)) from error
        if not isinstance(backend, LocalBackend):
            raise UsageError(f"{self._entry} does not use mesocosm's LocalBackend; run it in worker processes")
        return backend


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and close its connections and descriptors."""
    try:
        loop.run_forever()
        loop.run_until_complete(clients.close())
    finally:
        loop.close()


async def _on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on another loop and return its result; cancelling the call cancels the work."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def _log_here(loop: asyncio.AbstractEventLoop, log: LineLog, stream: str, line: str) -> None:
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(log, stream, line)


@contextlib.contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within the context."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _own_logging() -> Iterator[None]:
    """Undo changes that the entry file, written for a separate process, makes to this process's logging."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _import(name: str, file: Path) -> ModuleType:
    """Return a file loaded as a module with that name. Raises UsageError."""
    spec = spec_from_file_location(name, file, loader=FreshLoader(name, str(file), {}))
    if spec is None or spec.loader is None:
        raise UsageError(f"the entry file {file} is not a Python file; [experiment] entrypoint names it")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (KeyboardInterrupt, UsageError):
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(str(file.parent)):
            # Frames before the entry file only show how it was loaded.
            trace = trace.tb_next
        shown = "".join(traceback.format_exception(type(error), error, trace, limit=-6)).rstrip()
        advice = ""
        if isinstance(error, ModuleNotFoundError):
            advice = "; a rollout with packages of its own runs in worker processes"
        raise UsageError(f"{file} cannot be loaded: {type(error).__name__}: {error}{advice}\n{shown}") from error
    return module


def _check_published() -> None:
    """Raise UsageError if this process already uses another SDK under the published name."""
    loaded = sys.modules.get(PUBLISHED)
    place = getattr(loaded, "__file__", None)
    if loaded is not None and place is not None and not Path(place).resolve().is_relative_to(SHIM.resolve()):
        raise UsageError(
            f"this process already uses the {PUBLISHED} package of {Path(place).parent}; run the rollout in worker "
            "processes"
        )


def _forget(folder: Path, name: str, paths: Iterable[str]) -> None:
    """Remove the modules of a rollout, so that the next one can use the same module names."""
    for path in paths:
        with contextlib.suppress(ValueError):
            sys.path.remove(path)
    sys.modules.pop(name, None)
    for other, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and "site-packages" not in file and Path(file).is_relative_to(folder):
            del sys.modules[other]
