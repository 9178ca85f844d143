"""Rollouts within this process: the entry file is loaded here, and its code runs on threads of its own.

Fast, and without protection: the code has the rights of this process, and code of an extension that holds Python's
global lock stops everything. Rollouts with packages of their own need a process of their own (`served`).
"""

import asyncio
import contextlib
import itertools
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Self

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.source import FreshLoader, fresh_modules
from mesocosm.rollouts.discovery import find_backend
from mesocosm.rollouts.metrics import apart
from mesocosm.rollouts.output import Lines, routing, taker, to_stderr
from mesocosm.rollouts.place import NO_SAMPLE, Ended, Failed, Log, Sampled, Work, read_blocked
from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, GraderConfig
from mesocosm.rollouts.sdk.context import RolloutContext
from mesocosm.rollouts.sdk.grader import Grader
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample, copied, plain
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow
from mesocosm.sandboxes.telemetry import OFF

SHIM = Path(__file__).parent / "shim"
"""Holds the module path under which published rollouts import their SDK."""

PUBLISHED = "osmosis_ai"

_numbers = itertools.count(1)


class InProcessPlace:
    """Implements rollouts.place.Place. Loads `entrypoint` of `folder` on `open`.

    The folder of the entry file comes first on the module path, as it does for a script. `osmosis_ai` is our own SDK
    here, for the contexts of another one would not know where the model is. While it is open, `environment` is set in
    this process, and frameworks send no traces to their vendors unless `environment` says so.
    """

    def __init__(
        self,
        folder: Path,
        entrypoint: str,
        environment: Mapping[str, str] = MappingProxyType({}),
        content: Content | None = None,
    ) -> None:
        self._content = content
        self._folder: Path | None = folder.resolve()
        self._entry = self._folder / entrypoint
        self._backend: LocalBackend | None = None
        self._paths: list[str] = []
        self._fresh = contextlib.ExitStack()
        self._module = ""
        self._open = False
        self._environment = {**OFF, **environment}
        self._before: dict[str, str | None] = {}

    @classmethod
    def of(
        cls,
        *,
        workflow: type[AgentWorkflow[Any]] | str,
        grader: type[Grader] | str | None = None,
        workflow_config: AgentWorkflowConfig | str | None = None,
        grader_config: GraderConfig | str | None = None,
    ) -> Self:
        """Return a place for classes that are loaded already. Raises as LocalBackend does."""
        place = cls(Path(), "")
        place._folder = None
        place._backend = LocalBackend(
            workflow=workflow, workflow_config=workflow_config, grader=grader, grader_config=grader_config
        )
        return place

    @property
    def capacity(self) -> int | None:
        """How many tries it can take at once, known after `open`; None: any number."""
        return None if self._backend is None else self._backend.max_concurrency or None

    async def open(self, notice: Callable[[str], None]) -> None:
        """Load the entry file. Raises UsageError when it cannot be loaded, or when it defines no rollout or several."""
        del notice
        routing.begin()
        self._open = True
        self._before = {name: os.environ.get(name) for name in self._environment}
        os.environ.update(self._environment)
        if self._folder is None:
            return
        try:
            await self._unchanged()
            self._backend = await asyncio.to_thread(self._load)
            await self._unchanged()
        except BaseException:
            await self.close()
            raise

    async def _unchanged(self) -> None:
        if self._content is not None:
            await self._content.check()

    async def run(self, work: Work, log: Log) -> Ended:
        """Execute one try. Lines that its code prints go to `log`. Raises EpisodeError (rollout_failed)."""
        backend = self._backend
        if backend is None:
            raise EpisodeError(Cause.ROLLOUT_FAILED, "the rollout is not loaded; open the place before it runs")
        loop = asyncio.get_running_loop()

        def told(stream: str, line: str) -> None:
            if lines.open:
                log(stream, line)

        lines = Lines(lambda stream, line: _to_loop(loop, told, stream, line))
        token = taker.set(lines.write)
        try:
            with RolloutContext(work.model.base_url, work.model.api_key, work.id):
                worked, graded = await backend.perform(_request(work))
        except RuntimeError as error:
            raise EpisodeError(Cause.ROLLOUT_FAILED, f"the rollout could not be executed: {error}") from error
        finally:
            taker.reset(token)
            lines.end(log)
        missing = backend.grader_cls is not None and work.label is None and work.metadata is None
        return _ended(worked, graded, missing=missing)

    async def close(self) -> None:
        """Stop the threads of the rollout and forget its modules."""
        if self._open:
            self._open = False
            routing.end()
        if self._backend is not None:
            self._backend.close()
        self._fresh.close()
        for path in self._paths:
            with contextlib.suppress(ValueError):
                sys.path.remove(path)
        if self._paths and self._folder is not None:
            _forget(self._folder, self._module)
        self._paths = []
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before = {}

    def _load(self) -> LocalBackend:
        """Load the entry file; runs on a thread of its own, for it is users' code."""
        if not self._entry.is_file():
            raise UsageError(f"the rollout has no entry file {self._entry}; [experiment] entrypoint names it")
        _check_published()
        self._paths = list(dict.fromkeys([str(self._entry.parent), str(self._folder), str(SHIM)]))
        sys.path[:0] = self._paths
        self._fresh.enter_context(fresh_modules(self._folder or self._entry.parent, {}))
        self._module = f"mesocosm_rollout_{next(_numbers)}"
        token = taker.set(to_stderr)
        try:
            with _own_logging():
                return find_backend(_import(self._module, self._entry))
        finally:
            taker.reset(token)


@contextlib.contextmanager
def _own_logging() -> Iterator[None]:
    """Undo what an entry file that expects a process of its own makes of the logging of this one."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _import(name: str, file: Path) -> ModuleType:
    """Return a file loaded as a module of that name. Raises UsageError."""
    spec = spec_from_file_location(name, file, loader=FreshLoader(name, str(file), {}))
    if spec is None or spec.loader is None:
        raise UsageError(f"the entry file {file} is no Python file; [experiment] entrypoint names it")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (KeyboardInterrupt, UsageError):
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(str(file.parent)):
            # Frames of ours only say how an entry file was begun.
            trace = trace.tb_next
        shown = "".join(traceback.format_exception(type(error), error, trace, limit=-6)).rstrip()
        advice = ""
        if isinstance(error, ModuleNotFoundError):
            advice = "; a rollout with packages of its own runs in a process of its own"
        raise UsageError(f"{file} cannot be loaded: {type(error).__name__}: {error}{advice}\n{shown}") from error
    return module


def _check_published() -> None:
    """Raise UsageError when this process already uses another SDK under the published name."""
    loaded = sys.modules.get(PUBLISHED)
    place = getattr(loaded, "__file__", None)
    if loaded is not None and place is not None and not Path(place).resolve().is_relative_to(SHIM.resolve()):
        raise UsageError(
            f"this process already uses the {PUBLISHED} package of {Path(place).parent}; run the rollout in a process "
            "of its own"
        )


def _forget(folder: Path, name: str) -> None:
    """Remove the modules of a rollout, so that the next one may have modules of the same names."""
    sys.modules.pop(name, None)
    # A copy, which is made at once: a thread that was given up may import something in the midst of a list.
    for other, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and "site-packages" not in file and Path(file).is_relative_to(folder):
            del sys.modules[other]


def _to_loop(loop: asyncio.AbstractEventLoop, log: Log, stream: str, line: str) -> None:
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(log, stream, line)


def _request(work: Work) -> ExecutionRequest:
    told: dict[str, Any] = {
        "row": work.row,
        "trial": work.trial,
        "seed": work.seed,
        "model": work.model.model,
        "artifacts": work.artifacts,
    }
    if work.judge is not None:
        told["judge"] = {
            "base_url": work.judge.base_url,
            "api_key": work.judge.api_key,
            "model": work.judge.model,
        }
    return ExecutionRequest(
        id=work.id,
        prompt=[dict(message) for message in work.prompt],
        label=work.label,
        metadata=None if work.metadata is None else copied(dict(work.metadata)),
        agent_timeout_sec=work.workflow_seconds,
        grader_timeout_sec=work.grader_seconds,
        extra_fields={"mesocosm": told},
    )


def _ended(worked: ExecutionResult, graded: ExecutionResult | None, *, missing: bool) -> Ended:
    last = graded or worked
    facts = last.extra_fields or {}
    failure = None if last.status is RolloutStatus.SUCCESS else _failure(last, facts)
    if worked.status is RolloutStatus.SUCCESS and worked.sample is None:
        # That there is nothing to grade is no fault of the grader.
        failure = Failed(Cause.WORKFLOW_INVALID, NO_SAMPLE)
    if failure is None and graded is None and missing:
        failure = Failed(
            Cause.GRADER_ERROR,
            "the row has neither a label nor metadata, so the grader was not asked; give the dataset a ground_truth or "
            "metadata column",
        )
    return Ended(
        sample=None if last.sample is None else _sampled(last.sample, rewarded=failure is None),
        failure=failure,
        graded=graded is not None and failure is None,
        queued_s=facts.get("queued_s", 0.0),
        workflow_s=facts.get("workflow_s", 0.0),
        grader_s=facts.get("grader_s", 0.0),
        blocked=read_blocked(facts.get("blocked")),
    )


def _failure(result: ExecutionResult, facts: Mapping[str, Any]) -> Failed:
    message = result.err_message or "it failed without a message"
    kind = facts.get("error")
    return Failed(
        Cause(facts["cause"]),
        message if kind is None or message == kind else f"{kind}: {message}",
        facts.get("detail", ""),
    )


def _sampled(sample: RolloutSample, *, rewarded: bool) -> Sampled:
    safe = sample.json_safe_copy() if sample.metrics or sample.extra_fields else sample
    metrics, rest = apart(safe.metrics)
    return Sampled(
        messages=plain(list(sample.messages)),
        reward=sample.reward if rewarded and not sample.remove_sample else None,
        metrics=metrics,
        extra={**rest, **safe.extra_fields},
        left_out=sample.remove_sample and rewarded,
    )
