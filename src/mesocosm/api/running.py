"""Run what a call describes: find an earlier run of the same experiment, resume it or start one, wait, return it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from mesocosm.api.answering import AnsweringAgent
from mesocosm.api.places import store_at
from mesocosm.api.results import Episode, Run
from mesocosm.api.waiting import POLL_S
from mesocosm.core.episode import Episode as StoredEpisode
from mesocosm.core.failure import EpisodeError, RunLeased, UsageError
from mesocosm.core.ports import Observer, Parts, Progress
from mesocosm.core.proxy import Served
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.core.run import Run as StoredRun
from mesocosm.core.run import RunSpec
from mesocosm.engine import opening, session
from mesocosm.engine.earlier_answers import ANSWERS, AnswerLender
from mesocosm.engine.pair_benchmark import PairAgent
from mesocosm.engine.pool import PoolShare
from mesocosm.engine.rerun_decision import (
    RerunAction,
    RerunPolicy,
    decide,
    lacks_too_much,
    other_server,
    servers,
)
from mesocosm.engine.scan_benchmark import ScanAgent

if TYPE_CHECKING:
    from mesocosm.store import Store

ROWS = "rows"
"""The kind of runs on rows."""
LOCAL = "local"
"""The executor that plays episodes in this process."""
NOTES = "notes"
"""Key in the provenance of a run: what the caller should know."""
TAKEN = "answers taken over, and not asked for again"
"""How the note begins that names the runs whose answers were graded again."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work:
    """One experiment, ready to run.

    `parts` opens its parts. `answers` identifies what its answers depend on, given the content of the model; runs with
    the same one lend each other theirs. `model` replaces the name of the model, `notes` are for readers of the run.
    Of works that go at once, those with the same `exclusive` things run one after the other. `facts` are stored in the
    run's provenance. Other processes can open the parts of a `named` one by its spec alone.
    """

    spec: RunSpec
    parts: Callable[[RunSpec], Parts]
    model: str | None = None
    answers: Callable[[str], str] | None = None
    notes: tuple[str, ...] = ()
    call: str = ""
    exclusive: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    named: bool = False


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a call wants its work done; nothing of it is part of the experiment."""

    store: str | os.PathLike[str] | None = None
    fresh: bool = False
    retry_failed: bool = False
    progress: bool | Callable[[Progress], None] | None = None
    on_episode: Callable[[Episode], None] | None = None
    executor: str = LOCAL

    def check(self) -> None:
        """Raise UsageError for values of another kind."""
        kinds: tuple[tuple[str, Any, str], ...] = (
            ("store", (str, os.PathLike), "a folder, a file, or the URL of a database"),
            ("progress", (bool, Callable), "True, False, or a function"),
            ("on_episode", Callable, "a function of an Episode"),
            ("executor", str, 'the name of an executor, like "processes:4"'),
        )
        for name, kind, said in kinds:
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise UsageError(f"{name}={value!r:.80} cannot work; it is {said}")


@runtime_checkable
class _Told(Protocol):
    """What shows progress may also be told what a run waits for, and what is played again."""

    def notice(self, message: str) -> None: ...


class _Watching(Observer):
    """Passes finished episodes and progress on to the caller."""

    def __init__(self, store: "Store", wishes: Wishes) -> None:
        self._store = store
        self._wishes = wishes
        self._progress: Progress | None = None
        self._run: Run | None = None

    def run_started(self, progress: Progress) -> None:
        self._progress = progress
        self._run = Run(self._store, progress.run)
        self._tell()

    def episode_finished(self, episode: StoredEpisode) -> None:
        if self._wishes.on_episode is not None and self._run is not None:
            self._wishes.on_episode(Episode(self._run, episode))
        self._tell()

    def notice(self, message: str) -> None:
        told: object = self._wishes.progress
        if isinstance(told, _Told):
            told.notice(message)

    def _tell(self) -> None:
        if callable(self._wishes.progress) and self._progress is not None:
            self._wishes.progress(self._progress)


async def run_work(
    work: Work,
    wishes: Wishes,
    control: session.Control,
    display: Sequence[Observer] = (),
    share: PoolShare | None = None,
) -> Run:
    """Return the run of an experiment: an earlier one that is finished, one that is resumed, or a new one.

    `share` is what it has of a pool, where several run at once. Raises UsageError, RunAborted, RunLeased,
    InfrastructureError.
    """
    wishes.check()
    _playable(work, wishes)
    store = await asyncio.to_thread(store_at, wishes.store)
    parts = await asyncio.to_thread(work.parts, work.spec)
    async with AsyncExitStack() as alone, opening.closing(parts):
        lends = "" if work.answers is None else work.answers(parts.model.capabilities.content)
        # What is served there decides whether earlier results are those of this model.
        checked = await _checked(parts)
        if share is not None:
            signature = opening.experiment_of(work.spec, parts)
            earlier = None if wishes.fresh else await asyncio.to_thread(store.runs.latest, signature)
            # Of runs with the same answers the first one asks for them.
            await share.begin(" ".join(work.exclusive) or lends or signature, earlier)
        record = opening.new_run(work.spec, parts, Redactor(secret_values(os.environ)))
        lender = await asyncio.to_thread(_lender, store, lends, wishes, parts)
        if lender is not None and isinstance(parts.agent, AnsweringAgent | PairAgent | ScanAgent):
            parts = replace(parts, agent=replace(parts.agent, earlier=lender.find))
        if work.model is not None:
            record.model = work.model
        called = {"command": [work.call]} if work.call else {}
        record.provenance = {**record.provenance, **work.facts, **called}
        if lends:
            record.provenance[ANSWERS] = lends
        if work.notes:
            record.provenance[NOTES] = list(work.notes)
        if not wishes.fresh:
            await alone.enter_async_context(_only_call(store.place, record.signature))
        policy = RerunPolicy(force=wishes.fresh)
        decision = await asyncio.to_thread(decide, store, record.signature, policy)
        found = decision.run
        if decision.action is RerunAction.SKIP and found is not None and store.leases.active(found):
            raise RunLeased(f"run {found.id} of the same experiment is going on in another process; wait for it")
        if found is not None:
            found = await asyncio.to_thread(store.runs.get, found.id)
            _same_server(found, parts)
            await asyncio.to_thread(_rename, store, found, work.spec.name)
            if decision.action is RerunAction.SKIP and not (wishes.retry_failed and found.counts.failed):
                return Run(store, found)
        repairs = found is not None and lacks_too_much(found, policy.max_missing)
        options = session.SessionOptions(
            retry_failed=wishes.retry_failed or repairs,
            parallel=work.spec.parallel,
            limits=work.spec.limits,
            secrets=[*secret_values(os.environ)],
            checked=checked,
            # Of two processes that start the same experiment at once, one is told of the other.
            alone=not wishes.fresh,
            share=share,
            executor=wishes.executor,
        )
        watching: list[Observer] = [_Watching(store, wishes), *display]
        if found is None:
            ended = await session.play(record, parts, store, watching, control=control, settings=options)
        else:
            ended = await session.play_on(found, parts, store, watching, control=control, settings=options)
        if lender is not None and lender.taken:
            ended = await asyncio.to_thread(_note_taken, store, ended, lender)
        return Run(store, ended)


def _playable(work: Work, wishes: Wishes) -> None:
    """Raise UsageError if other processes are to play what exists in this one only."""
    if wishes.executor != LOCAL and not work.named:
        raise UsageError(
            f"executor={wishes.executor!r}: what is evaluated exists in this process only, so no other one can play "
            "it; leave it out, or name a source (inspect:FILE.py@TASK, gym:ID, harbor:FOLDER …)"
        )


async def _checked(parts: Parts) -> bool:
    """Ask the servers of model and judge what they have; return whether both answer. The session reports failures."""
    if not isinstance(parts.model, Served):
        return False
    try:
        await parts.model.check()
        if parts.judge is not None:
            await parts.judge.check()
    except (UsageError, EpisodeError):
        return False
    return True


_going: dict[tuple[str, str], object] = {}
"""Experiments that calls of this process work on: the place of their results, and their signature."""


@asynccontextmanager
async def _only_call(place: str, signature: str) -> AsyncIterator[None]:
    """Wait for another call of this process for the same experiment, whose run is then found."""
    key = (place, signature)
    mine = object()
    # One step, so that no thread comes between.
    while _going.setdefault(key, mine) is not mine:  # noqa: ASYNC110 -- other calls are on other loops
        await asyncio.sleep(POLL_S)
    try:
        yield
    finally:
        del _going[key]


def _rename(store: "Store", run: StoredRun, name: str) -> None:
    """Give a run that is there already the name that this call gives, so that it is found by it."""
    if name and name != run.name:
        store.runs.rename(run, name)


def _same_server(run: StoredRun, parts: Parts) -> None:
    """Raise UsageError if another server answers now: the results of a run are those of the model that was there."""
    if changed := other_server(run, servers(parts), "; fresh=True runs it anew"):
        raise UsageError(changed)


def _lender(store: "Store", answers: str, wishes: Wishes, parts: Parts) -> AnswerLender | None:
    """Return who lends the answers of earlier runs of the same prompt, model, agent and settings, if any."""
    if not answers or wishes.fresh:
        return None
    from mesocosm.store.filters import RunFilter

    found: list[str] = []
    now = servers(parts)
    cursor: str | None = None
    for _ in range(10):
        page = store.runs.list(RunFilter(kinds=(parts.benchmark.info.kind,)), limit=100, cursor=cursor)
        alike = [run for run in page.items if run.provenance.get(ANSWERS) == answers]
        found += [run.id for run in alike if not other_server(run, now, "")]
        cursor = page.cursor
        if cursor is None:
            break
    return AnswerLender(store, found) if found else None


def _note_taken(store: "Store", run: StoredRun, lender: AnswerLender) -> StoredRun:
    taken = ", ".join(f"{count:,} of run {run_id}" for run_id, count in lender.taken.items())
    note = f"{TAKEN}: {taken}"
    record = store.runs.get(run.id)
    record.provenance = {**record.provenance, NOTES: [*record.provenance.get(NOTES, ()), note]}
    store.runs.save(record)
    return record


def call_site() -> str:
    """Return the file and line of the call that is being made, for the record: `cell` in a notebook."""
    frame: Any = sys._getframe(1)  # noqa: SLF001 -- the documented way to look at callers
    here = str(Path(__file__).parent)
    while frame is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    if frame is None:
        return ""
    name = frame.f_code.co_filename
    if "ipykernel" in name or name.startswith("<"):
        return "a notebook or an interactive session"
    return f"{Path(name).name}:{frame.f_lineno}"


def limits_checked(given: Mapping[str, Any]) -> None:
    """Raise UsageError for counts that cannot be meant."""
    for name, least in (("limit", 1), ("trials", 1), ("parallel", 1), ("max_tokens", 1)):
        value = given.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise UsageError(f"{name}={value!r} cannot work; it is a whole number from {least}")
    timeout = given.get("timeout")
    if timeout is not None and not timeout > 0:
        raise UsageError(f"timeout={timeout!r} cannot work; it is a number of seconds above 0")
