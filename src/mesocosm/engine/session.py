"""A run from spec to numbers. This is the library's entry point, and the whole story on one screen."""

import asyncio
import logging
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec

import mesocosm
from mesocosm.core.cancellation import to_the_end
from mesocosm.core.episode import SCOREABLE, Episode, EpisodeKey
from mesocosm.core.failure import (
    Cause,
    EpisodeError,
    InfrastructureError,
    MesocosmError,
    RunAborted,
    RunLeased,
    UsageError,
    writable,
)
from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelName
from mesocosm.core.ports import EngineStore, Journal, Observer, Parts, Warns
from mesocosm.core.proxy import JUDGE_CALLS
from mesocosm.core.redact import SHORTEST, Redactor, secret_values
from mesocosm.core.registry import AGENTS, BENCHMARKS, MODELS, option_roles
from mesocosm.core.run import UNASKED, Counts, Limits, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.core.task import Task
from mesocosm.engine.episode_context import is_foreign
from mesocosm.engine.executor import EpisodeExecutor
from mesocosm.engine.experiment import experiment_of, same_experiment
from mesocosm.engine.grading import outcome
from mesocosm.engine.metrics import NOT_RUN, PARTS, Collected, so_far
from mesocosm.engine.offline import NoModel
from mesocosm.engine.outage import retried
from mesocosm.engine.plan import Repeats, part_sizes, pending_episodes, size
from mesocosm.engine.progress import Tracker
from mesocosm.engine.rerun_decision import other_server, servers
from mesocosm.engine.retry import Backoff

MOST_WARNINGS = 50
"""Distinct warnings kept on a run; every one is in the traces."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Stoppable(Protocol):
    """What works and can be told to stop."""

    def stop(self, reason: str, grace: float = 5.0) -> None:
        """Begin nothing new; cancel what runs after `grace` seconds."""
        ...


@dataclass(slots=True, eq=False)
class Control:
    """The handle by which a surface stops what it started. Use it on the event loop of the work."""

    reason: str = ""
    executor: Stoppable | None = None

    def stop(self, reason: str, grace: float = 5.0) -> None:
        """Take no new episodes, cancel the running ones after `grace` seconds, and keep what is finished."""
        self.reason = self.reason or reason
        if self.executor is not None:
            self.executor.stop(self.reason, grace)


RUN_BUDGETS = ("run_seconds", "run_tokens", "run_usd")


@dataclass(slots=True)
class SessionOptions:
    """How this session works, none of it part of the experiment.

    `parallel` and the run budgets of `limits` take the place of the run's own; what it spent before still counts.
    `checked` says that the model was asked already whether it can answer. With `waits` a new run, too, waits for a
    server that does not answer as it begins, for the address is known to be right. With `alone` a new run is not begun
    while another process works on the same experiment: RunLeased.
    `retry_failed` repeats failures that say nothing about the agent, `retry_unscored` (the name of a score) also what a
    grader left without a value of it. What counts as worst is repeated by neither. A run goes on only with the servers
    that answered it before, unless `same_server` says that they have merely moved.
    """

    retry_failed: bool = False
    parallel: int | None = None
    limits: Limits | None = None
    backoff: Backoff = field(default_factory=Backoff)
    secrets: Sequence[str] | None = field(default=None, repr=False)
    checked: bool = False
    waits: bool = False
    alone: bool = False
    retry_unscored: str = ""
    same_server: bool = False


async def run(
    spec: RunSpec,
    store: EngineStore,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: SessionOptions | None = None,
) -> Run:
    """Start a new run of `spec`, play it, and return it with its numbers.

    Raises UsageError and RunAborted before anything is stored when the spec or the model cannot work,
    InfrastructureError when the store fails; a server that does not answer is told at once, for the address may be
    wrong. A run that was stopped comes back with status `stopped`, one that broke
    off with `failed` and the reason; both can be given to `resume`. When the task is cancelled, what is finished is
    kept and the run is left `stopped`.
    """
    async with opened(spec) as parts:
        record = new_run(spec, parts, Redactor((settings or SessionOptions()).secrets))
        return await play(record, parts, store, observers, control=control, settings=settings)


async def resume(
    run_id: str,
    store: EngineStore,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: SessionOptions | None = None,
) -> Run:
    """Continue a run: only episodes that are not finished are played.

    A server that does not answer is waited for as in an outage: what is owed stays owed. Raises UsageError when what
    the run was started with has changed since, naming what did; RunLeased when another process works on it.
    """
    record = await asyncio.to_thread(store.runs.get, run_id)
    async with opened(record.spec) as parts:
        return await play_on(record, parts, store, observers, control=control, settings=settings)


async def play(
    record: Run,
    parts: Parts,
    store: EngineStore,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: SessionOptions | None = None,
) -> Run:
    """Play a new run whose parts are open; as `run`."""
    return await _Session(record, parts, store, observers, control, settings).work(new=True)


async def play_on(
    record: Run,
    parts: Parts,
    store: EngineStore,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: SessionOptions | None = None,
) -> Run:
    """Continue a run whose parts are open; as `resume`."""
    same_experiment(record, parts)
    return await _Session(record, parts, store, observers, control, settings).work(new=False)


def open_parts(spec: RunSpec) -> Parts:
    """Return benchmark, model and agent of `spec` from the registries. Raises UsageError naming what cannot work.

    Where the benchmark is offline, nothing of the model is opened: no key, package or server is needed.
    """
    benchmark = BENCHMARKS.get(spec.benchmark.kind)(spec.benchmark)
    agent = AGENTS.get(spec.agent.name)(spec.agent.options)
    if benchmark.info.offline:
        return Parts(benchmark, NoModel(ModelName.parse(spec.model.name)), agent)
    # Last, for they alone may hold something before they are used.
    model = MODELS.get("*")(spec.model)
    judge = MODELS.get("*")(spec.judge) if spec.judge is not None else None
    return Parts(benchmark, model, agent, judge)


@asynccontextmanager
async def opened(spec: RunSpec) -> AsyncIterator[Parts]:
    """Open benchmark, model and agent of `spec`, and close them in the end. Raises as `open_parts` does."""
    parts = open_parts(spec)
    async with AsyncExitStack() as closing:
        # The last one is closed first, and each whatever becomes of the others.
        for part in (parts.judge, parts.model, parts.benchmark):
            if part is not None:
                closing.push_async_callback(part.close)
        yield parts


def new_run(spec: RunSpec, parts: Parts, redactor: Redactor | None = None) -> Run:
    """Return the record of a run that has not started."""
    info = parts.benchmark.info
    command = [(redactor or Redactor()).text(word) for word in sys.argv]
    return Run(
        id=new_id(),
        signature=experiment_of(spec, parts),
        benchmark=info.id,
        benchmark_title=info.title,
        benchmark_version=info.version,
        benchmark_digest=info.digest,
        kind=info.kind,
        model=ModelName.parse(spec.model.name).shown(),
        agent=spec.agent.shown,
        spec=spec,
        name=spec.name,
        counts=Counts(planned=parts.benchmark.count(spec.selection) * spec.selection.trials),
        created_at=time.time(),
        tags=spec.tags,
        info=info.document(),
        provenance={
            **({"files": files} if (files := info.listed_files()) else {}),
            "mesocosm": mesocosm.__version__,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "command": command,
        },
    )


class _Session:
    """One stretch of work on one run."""

    def __init__(
        self,
        record: Run,
        parts: Parts,
        store: EngineStore,
        observers: Sequence[Observer],
        control: Control | None,
        settings: SessionOptions | None,
    ) -> None:
        self.record = record
        self.parts = parts
        self.store = store
        self.observers = list(observers)
        self.control = control or Control()
        self.settings = settings or SessionOptions()
        given = self.settings.secrets
        hidden = secret_values(os.environ) if given is None else given
        secrets = [*hidden, *_declared(record.spec)]
        self.redactor = Redactor(secrets)
        self.warnings = dict.fromkeys(record.warnings)
        if any(0 < len(secret) < SHORTEST for secret in secrets):
            # In plain words: the redactor would hide the warning itself.
            self.warnings[SHORT_SECRET] = None
        self.holder = store.leases.owner()
        self.started = time.monotonic()
        self.held = False
        self.away = False
        self.opened = False
        self.status = record.status
        self.withdrawn: tuple[tuple[Task, Episode], ...] = ()
        self.alike = False
        self.repeats = Repeats()
        self.served: tuple[str, ...] = ()
        self.judge_served: tuple[str, ...] = ()

    async def work(self, *, new: bool) -> Run:
        """Check, hold, play, measure, release: in this order, and what was begun is ended whatever happens."""
        if not self.settings.checked:
            await self._check(new=new)
        if not self.away and (changed := self._other_server()):
            raise UsageError(changed)
        if new:
            # Killed before it takes the run, this process must be known to be gone.
            self.record.holder, self.record.heartbeat_at = self.holder, time.time()
            self.record = await _whole(partial(self.store.runs.add, self.record, alone=self.settings.alone))
        try:
            await _whole(self._hold)
            await self._play()
        finally:
            if self.held:
                await self._end()
        return self.record

    async def _check(self, *, new: bool) -> None:
        """Ask model and judge whether they can answer. Raises RunAborted when they cannot.

        Where nobody answers, a run that is stored already goes on to wait. A new one would wait for an address that may
        be wrong while somebody sits before it.
        """
        try:
            await self.parts.model.check()
            if self.parts.judge is not None:
                await self.parts.judge.check()
        except EpisodeError as error:
            if (new and not self.settings.waits) or not retried(error):
                raise RunAborted(self.redactor.text(str(error))) from error
            self.away = True

    def _other_server(self) -> str:
        """Return why the run cannot go on where another server answers than before, or an empty string."""
        if not self.record.counts.done or self.settings.same_server:
            return ""
        changed = other_server(self.record, servers(self.parts), ", or start a new run")
        return f"run {self.record.id} cannot go on, it would mix two servers: {changed}" if changed else ""

    def _reached(self) -> None:
        """Refuse servers that came back as others. Raises EpisodeError, which leaves the run stopped."""
        if changed := self._other_server():
            raise EpisodeError(Cause.CANCELLED, changed)

    def _hold(self) -> None:
        self.store.leases.take(self.record.id, self.holder)
        self.held = True

    async def _end(self) -> None:
        try:
            await _whole(self.store.leases.release, self.record.id, self.holder)
            self.record.holder = None
        finally:
            self._tell(lambda observer: observer.run_finished(self.record))

    async def _play(self) -> None:
        error: Exception | None = None
        stopped = ""
        try:
            await _whole(self._begin)
            stopped = await self._execute()
        except asyncio.CancelledError as caught:
            if not is_foreign(caught):
                stopped = "interrupted"
                raise
            error = RuntimeError("the benchmark raised CancelledError, though nobody had cancelled it")
        except EpisodeError as caught:
            # What is owed stays so: infrastructure is away, or what the run was begun with is no longer there.
            stopped, error = (self.redactor.text(str(caught)), None) if caught.rule.owed else ("", caught)
        except Exception as caught:  # noqa: BLE001 - the run's row must say how it ended, whatever it was
            error = caught
        finally:
            await self._settle(stopped, error)
        if error is not None and not isinstance(error, EpisodeError | RunAborted):
            raise error

    def _begin(self) -> None:
        """Write that the run goes on. It has no numbers then: those of before are not of its episodes any more."""
        before, now = self.record, time.time()
        record = self.record = self.store.runs.get(before.id)
        record.status, record.error, record.ended_at = RunStatus.RUNNING, "", None
        record.started_at, record.metrics = record.started_at or now, ()
        record.provenance = {**record.provenance, "session_at": now}
        if before.started_at is not None and before.ended_at is None and before.heartbeat_at is not None:
            # The process of the session before is gone, and wrote no end of it.
            record.provenance["worked_s"] = round(before.worked_s(before.heartbeat_at) or 0.0, 3)
        self.store.runs.save(record, self.holder)
        if self.settings.retry_failed:
            self.store.episodes.drop_failed(record.id)
        if self.settings.retry_unscored:
            self.store.episodes.drop_unscored(record.id, self.settings.retry_unscored)
        self.record = self.store.runs.get(record.id)

    async def _execute(self) -> str:
        store, record, parts = self.store, self.record, self.parts
        await parts.benchmark.open(self._notice)
        self.opened = True
        # Installing packages and starting servers is no part of the run's time, as its limits do not count it either.
        self.started = time.monotonic()
        record.provenance["session_at"] = time.time()
        # How many are played at once is the choice of each session; what a place can take is known once it is open.
        before = record.spec, record.info
        record.spec = msgspec.structs.replace(record.spec, parallel=self._spec().parallel)
        if (most := parts.benchmark.info.parallel) is not None:
            record.info = {**record.info, "parallel": most}
        await _whole(self._count_parts)
        await _whole(store.runs.save, record, self.holder)
        if before != (record.spec, record.info):
            await _whole(store.runs.save_terms, record)
        finished = await asyncio.to_thread(store.episodes.finished_keys, record.id)
        tracker = Tracker(record, parts.benchmark.info)
        reached = self._reached if self.away and record.counts.owed else None
        executor = EpisodeExecutor(tracker, self.redactor, self._warned, self._notice, self.settings.backoff, reached)
        earlier = asyncio.create_task(self._earlier(tracker, finished)) if finished else None
        try:
            async with self._journal(tracker) as journal:
                self.control.executor = executor
                if self.control.reason:
                    executor.stop(self.control.reason)
                self._tell(lambda observer: observer.run_started(tracker))
                working = msgspec.structs.replace(record, spec=self._spec())
                todo = pending_episodes(parts.benchmark, record.spec.selection, finished, self.repeats)
                await executor.execute(working, tracker.follow(todo), parts, journal)
        finally:
            self.control.executor = None
            self.withdrawn, self.alike = tuple(executor.withdrawn.values()), executor.alike
            self.served, self.judge_served = tuple(executor.served), tuple(executor.judge_served)
            if earlier is not None:
                await earlier
        await asyncio.sleep(0)
        return executor.stopped

    def _spec(self) -> RunSpec:
        spec, settings = self.record.spec, self.settings
        if settings.parallel is not None:
            spec = msgspec.structs.replace(spec, parallel=settings.parallel)
        if settings.limits is not None:
            given = {name: getattr(settings.limits, name) for name in (*RUN_BUDGETS, "outage_seconds", "max_missing")}
            chosen = {name: value for name, value in given.items() if value is not None}
            spec = msgspec.structs.replace(spec, limits=msgspec.structs.replace(spec.limits, **chosen))
        return spec

    @asynccontextmanager
    async def _journal(self, tracker: Tracker) -> AsyncIterator[Journal]:
        # The journal calls from a thread of its own.
        soon: Callable[..., Any] = asyncio.get_running_loop().call_soon_threadsafe
        journal = self.store.journal(
            self.record.id,
            self.holder,
            lambda episodes: soon(self._committed, tracker, episodes),
            lambda: soon(self.control.stop, "somebody asked to stop it"),
        )
        try:
            yield journal
        finally:
            await journal.close()

    def _count_parts(self) -> None:
        """Keep of how many planned episodes each metric of a part is, so that what is missing of it is known."""
        record, benchmark = self.record, self.parts.benchmark
        found = part_sizes(benchmark, record.spec.selection, benchmark.info.metrics)
        if found:
            record.info = {**record.info, PARTS: found}

    async def _earlier(self, tracker: Tracker, finished: Collection[EpisodeKey]) -> None:
        """Bring the scores of earlier sessions into the running number without holding up the first episode."""

        def collected() -> Collected:
            # This session may have committed some by now, and counts those itself.
            rows = self.store.episodes.score_rows(self.record.id)
            return tracker.earlier(row for row in rows if (row.task, row.trial) in finished)

        with suppress(InfrastructureError):  # whoever must write finds out as well; this is only for show
            tracker.merge(await asyncio.to_thread(collected))

    def _committed(self, tracker: Tracker, episodes: Sequence[Episode]) -> None:
        tracker.add(episodes)

        def tell(observer: Observer) -> None:
            for episode in episodes:
                observer.episode_finished(episode)

        self._tell(tell)

    async def _settle(self, stopped: str, error: Exception | None) -> None:
        """Write how it ended, unless the run is another process's by now."""
        if isinstance(error, RunLeased):
            return
        # A store that failed before may fail again; the first failure says why.
        with suppress(InfrastructureError) if isinstance(error, InfrastructureError) else nullcontext():
            await _whole(self._conclude, stopped, error)

    def _conclude(self, stopped: str, error: Exception | None) -> None:
        """Write the run's last state; its counters are those of the journal. Raises RunLeased when it was taken."""
        if self.store.runs.get(self.record.id).holder != self.holder:
            raise RunLeased(f"run {self.record.id} was taken over by another process")
        if self.alike:
            # They say nothing about their tasks, so that going on plays them again.
            self.store.episodes.reset_failed(self.record.id)
        record = self.store.runs.get(self.record.id)
        info = self.parts.benchmark.info
        for part in (self.repeats, self.parts.benchmark, self.parts.model, self.parts.judge):
            for warning in part.warnings() if isinstance(part, Warns) else ():
                self._kept(warning)
        record.provenance = {name: value for name, value in record.provenance.items() if name != UNASKED}
        if info.judged and record.usage.calls and self._only_judged(record.id):
            record.provenance[UNASKED] = True
        if record.unasked:
            self._warned(NOT_ASKED)
        record.warnings = tuple(self.warnings)
        record.ended_at = time.time()
        worked = record.provenance.get("worked_s", 0.0) + time.monotonic() - self.started
        record.provenance = {**record.provenance, "worked_s": round(worked, 3)}
        record.provenance.pop("session_at", None)
        self._name_server(record)
        if info.growing:
            # What was found and has come to an end stays, even if nobody can tell any more what else there was.
            planned = max(size(self.parts.benchmark, record.spec.selection), record.counts.done)
            record.counts = msgspec.structs.replace(record.counts, planned=planned)
            self.record = record
            self._count_parts()
            self.store.runs.save_terms(record)
        record.metrics = so_far(record, self.store)
        if error is not None:
            # A stopped run that could not even be opened again has not failed: nothing has become of it since.
            stays = self.status is RunStatus.STOPPED and not self.opened and record.counts.owed
            record.status = RunStatus.STOPPED if stays else RunStatus.FAILED
            record.error = self.redactor.text(_reason(error))
        elif record.counts.owed and (stopped or not self.withdrawn):
            record.status, record.error = RunStatus.STOPPED, stopped or "interrupted"
        else:
            self._decide(record)
        self.store.runs.save(record, self.holder)
        self.record = record

    def _only_judged(self, run_id: str) -> bool:
        """Return whether every call of the episodes that have a score was one of their graders."""
        cursor: str | None = None
        while True:
            page = self.store.episodes.list(run_id, cursor=cursor)
            for episode in page.items:
                if episode.status in SCOREABLE and episode.usage.calls > episode.terminal_info.get(JUDGE_CALLS, 0):
                    return False
            if page.cursor is None:
                return True
            cursor = page.cursor

    def _name_server(self, record: Run) -> None:
        """Write down which server answered: its address, a digest of its models, the names that it answered by."""
        before, found = record.provenance.get("server", {}), servers(self.parts)
        for name, value in found.items():
            # A server that has moved: both places stay known, the newest last.
            earlier = [one for one in before.get(name, "").split(", ") if one and one != value]
            found[name] = ", ".join((*earlier, value))
        served = {"served": self.served, "judge_served": self.judge_served if self.parts.judge is not None else ()}
        found |= {name: ", ".join(names) for name, names in served.items() if names}
        if found:
            record.provenance["server"] = {**before, **found}

    def _decide(self, record: Run) -> None:
        """Write what came of a run of which everything was played.

        What infrastructure failed is owed. A run in which that is too little to matter is finished all the same; those
        episodes have no value then, for the cause that they failed for.
        """
        record.status, record.error = outcome(record.metrics, self._spec().limits.max_missing)
        if not record.counts.owed:
            return
        why = "; ".join(_causes(episode for _, episode in self.withdrawn))
        if record.status is RunStatus.FINISHED:
            self.store.episodes.settle_pending(record.id)
            record.counts = self.store.runs.get(record.id).counts
            record.metrics = so_far(record, self.store)
        elif record.status is RunStatus.FAILED:
            record.status, record.error = RunStatus.STOPPED, self.redactor.text(f"no episode could be scored: {why}")
        else:
            record.error = self.redactor.text(f"{record.error}: {why}")
        if record.status is not RunStatus.FINISHED:
            record.metrics = tuple(_named(metric, self._withdrawn_of(metric)) for metric in record.metrics)

    def _withdrawn_of(self, result: MetricResult) -> list[Episode]:
        """Return the last tries of owed episodes that a metric is about."""
        metric = next((one for one in self.parts.benchmark.info.metrics if one.name == result.name), None)
        return [episode for task, episode in self.withdrawn if metric is None or metric.covers(task)]

    def _tell(self, what: Callable[[Observer], None]) -> None:
        """Tell every observer. One that fails is told nothing more: watching must not harm the run."""
        for observer in list(self.observers):
            try:
                what(observer)
            except Exception:  # noqa: BLE001
                self.observers.remove(observer)
                _log.exception("observer %s failed and hears no more of run %s", observer, self.record.id)

    def _notice(self, message: str) -> None:
        clean = self.redactor.text(message)
        self._tell(lambda observer: observer.notice(clean))

    def _warned(self, message: str) -> None:
        if self._kept(message):
            self._notice(f"warning: {message}")

    def _kept(self, message: str) -> bool:
        """Add a warning to the run's, and return whether it is a new one."""
        message = self.redactor.text(message)
        new = message not in self.warnings and len(self.warnings) < MOST_WARNINGS
        if new:
            self.warnings[message] = None
        return new


NOT_ASKED = (
    "no call of the model is on record, so what was scored did not come from it; a program must ask the address that "
    "it is given, not a server of its own choice"
)

SHORT_SECRET = (
    f"a secret of this run has fewer than {SHORTEST} characters; it is hidden wherever these characters stand, also in "
    "ordinary words, so the record may be hard to read; use a longer secret"
)


def _named(metric: MetricResult, withdrawn: Sequence[Episode]) -> MetricResult:
    """Return a metric that says for which cause the owed episodes among those it is about were not run."""
    left = metric.missing.get(NOT_RUN, 0) - len(withdrawn)
    if left < 0:
        return metric
    causes = Counter(episode.failure.cause.value for episode in withdrawn if episode.failure is not None)
    missing = Counter({cause: count for cause, count in metric.missing.items() if cause != NOT_RUN}) + causes
    return msgspec.structs.replace(metric, missing=dict(sorted((missing + Counter({NOT_RUN: left})).items())))


def _causes(withdrawn: Iterable[Episode]) -> Iterator[str]:
    """Yield how many episodes failed for each cause, with the first one's words."""
    failures = [episode.failure for episode in withdrawn if episode.failure is not None]
    for cause, count in Counter(failure.cause for failure in failures).most_common():
        words = next(failure.message for failure in failures if failure.cause is cause).partition("\n")[0]
        yield f"{count:,} {cause} ({words if len(words) <= 200 else f'{words[:199]}…'})"


def _declared(spec: RunSpec) -> Iterator[str]:
    """Yield the values of secrets that the benchmark's options name: their own names need not look like such."""
    options, roles = spec.benchmark.options, option_roles(spec.benchmark.kind)
    yield from (os.environ.get(str(name), "") for name in options.get(roles.secrets) or ())
    variables = options.get(roles.variables)
    yield from secret_values(variables if isinstance(variables, dict) else {})


async def look(parts: Parts) -> None:
    """See what the servers of model and judge have, as far as they answer."""
    for part in (parts.model, parts.judge):
        if part is not None:
            with suppress(UsageError, EpisodeError):
                await part.check()


async def _whole(call: Callable[..., T], *arguments: Any) -> T:
    """Return what blocking work gives. It runs in a thread, and to its end even when this task is cancelled."""
    return await to_the_end(asyncio.to_thread(call, *arguments))


def _reason(error: Exception) -> str:
    return writable(str(error) if isinstance(error, MesocosmError) else f"{type(error).__name__}: {error}")
