"""A run from spec to numbers. This is the library's entry point, and the whole story on one screen."""

import asyncio
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

import mesocosm
from mesocosm.core.episode import Episode
from mesocosm.core.failure import EpisodeError, InfrastructureError, MesocosmError, RunAborted, UsageError
from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelName
from mesocosm.core.ports import Executor, Observer, Parts, Store
from mesocosm.core.registry import AGENTS, BENCHMARKS, MODELS
from mesocosm.core.run import Counts, Run, RunSpec, RunStatus
from mesocosm.core.signature import signature
from mesocosm.engine.local import LocalExecutor
from mesocosm.engine.metrics import measure
from mesocosm.engine.plan import owed
from mesocosm.engine.progress import Tracker
from mesocosm.engine.redact import Redactor
from mesocosm.engine.retry import Backoff

MOST_WARNINGS = 50
"""Distinct warnings kept on a run; every one is in the traces."""


@dataclass(slots=True)
class Control:
    """The handle by which a surface stops a run that it started. Use it on the event loop of the run."""

    reason: str = ""
    executor: Executor | None = None

    def stop(self, reason: str, grace: float = 5.0) -> None:
        """Take no new episodes, cancel the running ones after `grace` seconds, and keep what is finished."""
        self.reason = self.reason or reason
        if self.executor is not None:
            self.executor.stop(self.reason, grace)


@dataclass(slots=True)
class Settings:
    """How this session works, none of it part of the experiment."""

    retry_failed: bool = False
    backoff: Backoff = field(default_factory=Backoff)
    secrets: Sequence[str] | None = None


async def run(
    spec: RunSpec,
    store: Store,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: Settings | None = None,
) -> Run:
    """Start a new run of `spec`, play it, and return it with its numbers.

    Raises UsageError before anything is stored when the spec cannot work, InfrastructureError when the store fails.
    A run that was stopped comes back with status `stopped` and can be given to `resume`.
    """
    parts = open_parts(spec)
    record = new_run(spec, parts, Redactor((settings or Settings()).secrets))
    return await _Session(record, parts, store, observers, control, settings).work(new=True)


async def resume(
    run_id: str,
    store: Store,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: Settings | None = None,
) -> Run:
    """Continue a run: only episodes that are not finished are played.

    Raises UsageError when what the run was started with has changed since, naming what did; RunHeld when another
    process works on it.
    """
    record = await asyncio.to_thread(store.get_run, run_id)
    parts = open_parts(record.spec)
    _same_experiment(record, parts)
    return await _Session(record, parts, store, observers, control, settings).work(new=False)


def open_parts(spec: RunSpec) -> Parts:
    """Return benchmark, model and agent of `spec` from the registries. Raises UsageError naming what cannot work."""
    benchmark = BENCHMARKS.get(spec.benchmark.kind)(spec.benchmark)
    model = MODELS.get("catalogue")(spec.model)
    agent = AGENTS.get(spec.agent.name)(spec.agent.options)
    return Parts(benchmark, model, agent)


def new_run(spec: RunSpec, parts: Parts, redactor: Redactor | None = None) -> Run:
    """Return the record of a run that has not started."""
    info = parts.benchmark.info
    command = [(redactor or Redactor()).text(word) for word in sys.argv]
    return Run(
        id=new_id(),
        signature=signature(spec, info.id, info.digest, parts.model.capabilities.content),
        benchmark=info.id,
        benchmark_title=info.title,
        benchmark_version=info.version,
        benchmark_digest=info.digest,
        kind=info.kind,
        model=ModelName.parse(spec.model.name).shown(),
        agent=spec.agent.name,
        spec=spec,
        name=spec.name,
        counts=Counts(planned=parts.benchmark.count(spec.selection) * spec.selection.trials),
        created_at=time.time(),
        tags=spec.tags,
        info=msgspec.to_builtins(info),
        provenance={
            "mesocosm": mesocosm.__version__,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "command": command,
        },
    )


def _same_experiment(record: Run, parts: Parts) -> None:
    info = parts.benchmark.info
    content = parts.model.capabilities.content
    if signature(record.spec, info.id, info.digest, content) == record.signature:
        return
    changes = [
        f"{what} was {before}, is {now}"
        for what, before, now in (
            ("benchmark", record.benchmark, info.id),
            ("version", record.benchmark_version, info.version),
            ("content digest", record.benchmark_digest, info.digest),
        )
        if before != now
    ]
    raise UsageError(
        f"run {record.id} cannot go on, it would mix two experiments: {'; '.join(changes) or 'settings changed'}. "
        "Bring the old content back, or start a new run."
    )


class _Session:
    """One stretch of work on one run."""

    def __init__(
        self,
        record: Run,
        parts: Parts,
        store: Store,
        observers: Sequence[Observer],
        control: Control | None,
        settings: Settings | None,
    ) -> None:
        self.record = record
        self.parts = parts
        self.store = store
        self.observers = observers
        self.control = control or Control()
        self.settings = settings or Settings()
        self.warnings = dict.fromkeys(record.warnings)

    async def work(self, *, new: bool) -> Run:
        """Check, hold, open, play, measure, release: in this order, and backwards whatever happens."""
        store, parts = self.store, self.parts
        try:
            await self._check()
            if new:
                self.record = await asyncio.to_thread(store.add_run, self.record)
            holder = store.holder()
            await asyncio.to_thread(store.hold, self.record.id, holder)
            try:
                if self.settings.retry_failed:
                    await asyncio.to_thread(store.drop_failed, self.record.id)
                await self._play()
            finally:
                await asyncio.to_thread(store.release, self.record.id, holder)
        finally:
            await parts.benchmark.close()
            await parts.model.close()
        for observer in self.observers:
            observer.run_finished(self.record)
        return self.record

    async def _check(self) -> None:
        try:
            await self.parts.model.check()
        except EpisodeError as error:
            raise RunAborted(str(error)) from error

    async def _play(self) -> None:
        record, store = await asyncio.to_thread(self.store.get_run, self.record.id), self.store
        self.record = record
        record.status, record.error, record.ended_at = RunStatus.RUNNING, "", None
        record.started_at = record.started_at or time.time()
        await asyncio.to_thread(store.save_run, record)
        error: Exception | None = None
        stopped = ""
        try:
            stopped = await self._execute()
        except asyncio.CancelledError:
            stopped = "interrupted"
            raise
        except MesocosmError as caught:
            error = caught
        finally:
            await asyncio.shield(asyncio.to_thread(self._conclude, stopped, error))
        if isinstance(error, InfrastructureError | UsageError):
            raise error

    async def _execute(self) -> str:
        store, record, parts = self.store, self.record, self.parts
        await parts.benchmark.open(self._notice)
        finished = await asyncio.to_thread(store.finished_keys, record.id)
        tracker = Tracker(record, parts.benchmark.info)
        executor = LocalExecutor(tracker, Redactor(self.settings.secrets), self._warned, self.settings.backoff)
        loop = asyncio.get_running_loop()
        journal = store.journal(
            record.id,
            store.holder(),
            lambda episodes: _soon(loop, self._committed, tracker, episodes),
            lambda: _soon(loop, self.control.stop, "somebody asked to stop it"),
        )
        self.control.executor = executor
        if self.control.reason:
            executor.stop(self.control.reason)
        earlier = asyncio.create_task(self._earlier(tracker)) if finished else None
        for observer in self.observers:
            observer.run_started(tracker)
        try:
            await executor.execute(record, owed(parts.benchmark, record.spec.selection, finished), parts, journal)
        finally:
            self.control.executor = None
            await journal.close()
            if earlier is not None:
                await earlier
        await asyncio.sleep(0)
        return executor.stopped

    async def _earlier(self, tracker: Tracker) -> None:
        """Bring the scores of earlier sessions into the running number without holding up the first episode."""
        tracker.merge(await asyncio.to_thread(lambda: tracker.earlier(self.store.score_rows(self.record.id))))

    def _committed(self, tracker: Tracker, episodes: Sequence[Episode]) -> None:
        tracker.add(episodes)
        for observer in self.observers:
            for episode in episodes:
                observer.episode_finished(episode)

    def _conclude(self, stopped: str, error: Exception | None) -> None:
        """Write the run's last state; its counters are those of the journal."""
        record = self.store.get_run(self.record.id)
        record.warnings = tuple(self.warnings)
        record.ended_at = time.time()
        record.metrics = measure(
            self.parts.benchmark.info.metrics, self.store.score_rows(record.id), record.counts.planned
        )
        scored = any(metric.n_scored for metric in record.metrics)
        if error is not None:
            record.status, record.error = RunStatus.FAILED, str(error)
        elif record.counts.owed:
            record.status, record.error = RunStatus.STOPPED, stopped or "interrupted"
        else:
            record.status = RunStatus.FINISHED if scored else RunStatus.FAILED
            record.error = "" if scored else "no episode could be scored"
        self.store.save_run(record)
        self.record = record

    def _notice(self, message: str) -> None:
        for observer in self.observers:
            observer.notice(message)

    def _warned(self, message: str) -> None:
        if message not in self.warnings and len(self.warnings) < MOST_WARNINGS:
            self.warnings[message] = None
            self._notice(f"warning: {message}")


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *arguments: Any) -> None:
    """Call on the event loop's thread; the writer's thread uses it."""
    loop.call_soon_threadsafe(call, *arguments)
