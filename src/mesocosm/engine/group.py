"""Run several benchmarks as one group; a failure of one does not stop the others."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Thread
from typing import Any, TypeVar, cast

import msgspec

from mesocosm.core.failure import (
    EpisodeError,
    Incompatible,
    InfrastructureError,
    MesocosmError,
    RunAborted,
    RunLeased,
    UsageError,
    writable,
)
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.ports import EngineStore, Observer, Parts
from mesocosm.core.redact import Redactor
from mesocosm.core.registry import SOURCES
from mesocosm.core.run import Run, RunSpec, RunStatus
from mesocosm.engine import session
from mesocosm.engine.episode_context import is_foreign
from mesocosm.engine.opening import closing, new_run, open_parts, probe
from mesocosm.engine.outage import retried
from mesocosm.engine.pool import Pool, PoolShare
from mesocosm.engine.rerun_decision import (
    FORCED,
    RerunAction,
    RerunDecision,
    RerunPolicy,
    could_not_start,
    decide,
    lacks_too_much,
    other_server,
    servers,
)

T = TypeVar("T")


class Resources:
    """Grants slots and exclusive names in order of request, so that a large request is not starved.

    Groups that run at once can share them.
    """

    def __init__(self, slots: int) -> None:
        self._slots = max(slots, 1)
        self._free = self._slots
        self._taken: set[str] = set()
        self._given_back = asyncio.Event()
        self._pool: Pool | None = None
        self._in_pool = 0

    async def take(
        self, slots: int, exclusive: frozenset[str] = frozenset(), pool: Pool | None = None
    ) -> Callable[[], None]:
        """Wait for `slots` (0 or too many: all) and for all names; return a function that releases them.

        What takes all slots for a `pool` shares them with others of this pool. Call it from one task of a group only.
        """
        wanted = self._slots if slots <= 0 else min(slots, self._slots)
        if pool is not None and self._pool is pool:
            wanted = 0
        while self._free < wanted or exclusive & self._taken:
            self._given_back.clear()
            await self._given_back.wait()
            if pool is not None and self._pool is pool:
                wanted = 0
        self._free -= wanted
        self._taken |= exclusive
        if pool is not None:
            self._pool, self._in_pool = pool, self._in_pool + 1

        def release() -> None:
            if pool is not None:
                self._in_pool -= 1
                if not self._in_pool:
                    self._pool, self._free = None, self._slots
            else:
                self._free += wanted
            self._taken -= exclusive
            self._given_back.set()

        return release


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One benchmark of a group.

    Without a `spec` it cannot be run: `status` and `reason` say why. `slots` is its share of the group's parallelism
    (0: all), `exclusive` names resources that it cannot share. `facts` are stored in the run's provenance. `seconds`
    limits its work in this session. `share` is what it has of a pool, if it runs at the same time as members of other
    groups.
    """

    benchmark: str
    directory: str
    provider: str = ""
    model: str = ""
    agent: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    spec: RunSpec | None = None
    status: OutcomeStatus = OutcomeStatus.INCOMPATIBLE
    reason: str = ""
    slots: int = 0
    exclusive: frozenset[str] = frozenset()
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    share: PoolShare | None = None


@dataclass(frozen=True, slots=True)
class MemberResult:
    """Result of a member; `run` is the run that was created, continued or found, None without one."""

    outcome: Outcome
    run: Run | None = None


Watch = Callable[[GroupMember], Sequence[Observer]]
OnResult = Callable[[MemberResult], None]


class GroupRunner:
    """Runs the members of a group. Pass a Control to `run` to stop it."""

    def __init__(
        self,
        group: RunGroup,
        store: EngineStore,
        policy: RerunPolicy,
        *,
        parallel: int = 1,
        watch: Watch = lambda member: (),
        on_result: OnResult = lambda result: None,
        secrets: Sequence[str] | None = None,
        same_server: bool = False,
        executor: str = "local",
        resources: Resources | None = None,
    ) -> None:
        self._same_server = same_server
        self._executor = executor
        self.group = group
        self._store = store
        self._policy = policy
        self._resources = resources or Resources(parallel)
        self._watch = watch
        self._on_result = on_result
        self._secrets = secrets
        self._redactor = Redactor(secrets)
        self._controls: set[session.Control] = set()
        self._stopped = ""
        self._reached: set[str] = set()

    async def run(self, members: Sequence[GroupMember], control: session.Control | None = None) -> list[MemberResult]:
        """Return the result of each member, in order.

        Raises InfrastructureError if the store fails; nothing else ends the group.
        """
        await asyncio.to_thread(self._store.groups.add, self.group)
        if control is not None:
            control.halt = self.stop
            self._stopped = control.reason
        tasks: list[asyncio.Task[MemberResult]] = []
        try:
            for position, member in enumerate(members):
                pool = None if member.share is None else member.share.pool
                hold = await self._resources.take(member.slots, member.exclusive, pool)
                tasks.append(asyncio.create_task(self._one(position, member, hold)))
                failed = next((task for task in tasks if task.done() and task.exception()), None)
                if failed is not None:
                    break
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(self._store.groups.finish, self.group.id, time.time())

    def stop(self, reason: str, grace: float = 5.0) -> None:
        """Start no further member; stop the running ones, keeping finished episodes."""
        self._stopped = self._stopped or reason
        for control in list(self._controls):
            control.stop(reason, grace)

    async def _one(self, position: int, member: GroupMember, release: Callable[[], None]) -> MemberResult:
        try:
            result = await self._outcome(position, member)
        finally:
            if member.share is not None:
                member.share.leave()
            release()
        self._on_result(result)
        return result

    async def _outcome(self, position: int, member: GroupMember) -> MemberResult:
        begun = _outcome(self.group, position, member)
        if member.spec is None or self._stopped:
            status = OutcomeStatus.STOPPED if member.spec is not None else member.status
            return await self._save(begun, status, member.reason or self._stopped)
        try:
            return await self._played(begun, member, member.spec)
        except asyncio.CancelledError as error:
            if is_foreign(error):
                return await self._save(begun, OutcomeStatus.FAILED, "it raised CancelledError by itself")
            await self._save(begun, OutcomeStatus.STOPPED, "interrupted")
            raise
        except RunLeased as error:
            return await self._save(begun, OutcomeStatus.SKIPPED, str(error))
        except InfrastructureError:
            raise
        except Incompatible as error:
            return await self._save(begun, OutcomeStatus.INCOMPATIBLE, "; ".join(error.missing))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code; one benchmark must not end the others
            reason = str(error) if isinstance(error, MesocosmError) else f"it raised {type(error).__name__}: {error}"
            return await self._save(begun, OutcomeStatus.FAILED, reason)

    async def _played(self, begun: Outcome, member: GroupMember, spec: RunSpec) -> MemberResult:
        async with opened(spec, member.seconds) as parts:
            record = new_run(spec, parts, self._redactor)
            begun = msgspec.structs.replace(begun, signature=record.signature)
            decision = await asyncio.to_thread(decide, self._store, record.signature, self._policy)
            if spec.name and decision.run is not None and decision.run.name != spec.name:
                await asyncio.to_thread(self._store.runs.rename, decision.run, spec.name)
            if decision.action is RerunAction.SKIP:
                if not self._same_server and (changed := await _other_server(decision, parts)):
                    return await self._save(begun, OutcomeStatus.FAILED, changed)
                return await self._save(begun, OutcomeStatus.SKIPPED, decision.reason, decision.run)
            # For a new run the address may be wrong, so fail at once; wait for a server that has answered before.
            waits = decision.action is RerunAction.RESUME or spec.model.name in self._reached
            away = await _check(parts, waits=waits)
            if not away:
                self._reached.add(spec.model.name)
            record.group_id = self.group.id
            record.provenance = {
                **record.provenance,
                "bench": self._redactor.value(dict(member.facts), dict.fromkeys(member.facts)),
            }
            if self._policy.force:
                record.provenance = {**record.provenance, FORCED: True}
            begun = msgspec.structs.replace(begun, run_id=record.id if decision.run is None else decision.run.id)
            await self._save(begun, OutcomeStatus.RUNNING, decision.reason)
            run = await self._play(decision, record, parts, member, away=away)
            if run.status is RunStatus.STOPPED:
                # Do not let every other member wait again for a server that did not come back in time.
                self._reached.discard(spec.model.name)
        status, reason = _status(run)
        return await self._save(begun, status, reason, run)

    async def _play(
        self, decision: RerunDecision, record: Run, parts: Parts, member: GroupMember, *, away: bool
    ) -> Run:
        control = session.Control(self._stopped)
        settings = session.SessionOptions(
            retry_failed=self._policy.rerun_failed
            or (decision.run is not None and lacks_too_much(decision.run, self._policy.max_missing)),
            parallel=record.spec.parallel,
            limits=record.spec.limits,
            secrets=self._secrets,
            checked=not away,
            waits=away,
            alone=not self._policy.force,
            same_server=self._same_server,
            executor=self._executor,
            share=member.share,
        )
        self._controls.add(control)
        clock = asyncio.get_running_loop()
        late = f"its {member.seconds:g} s are over (--timeout)" if member.seconds else ""
        alarm = clock.call_later(member.seconds, control.stop, late) if member.seconds else None
        try:
            if decision.action is RerunAction.RESUME and decision.run is not None:
                async with _where_begun(decision.run, parts) as own:
                    return await session.play_on(
                        decision.run, own, self._store, self._watch(member), control=control, settings=settings
                    )
            return await session.play(
                record, parts, self._store, self._watch(member), control=control, settings=settings
            )
        finally:
            self._controls.discard(control)
            if alarm is not None:
                alarm.cancel()

    async def _save(self, begun: Outcome, status: OutcomeStatus, reason: str, run: Run | None = None) -> MemberResult:
        reason = self._redactor.text(writable(reason))
        known = begun.run_id if run is None else run.id
        outcome = msgspec.structs.replace(begun, status=status, reason=reason, run_id=known, at=time.time())
        await asyncio.to_thread(self._store.groups.save_outcome, outcome)
        return MemberResult(outcome, run)


def pooled(groups: Sequence[Sequence[GroupMember]], parallel: int) -> list[list[GroupMember]]:
    """Return the members of groups that run the same benchmarks, so that those of one benchmark run at the same time.

    At most `parallel` of their episodes are played at a time. Programs, which take slots of their own, stay as they
    are.
    """
    found: list[list[GroupMember]] = [[] for _ in groups]
    for alike in zip(*groups, strict=True):
        pool = Pool(parallel)
        native = [one.spec is not None and one.slots <= 0 for one in alike]
        shares = [pool.share() if one else None for one in native]
        for members, member, share in zip(found, alike, shares, strict=True):
            if share is not None:
                share.more = True
            members.append(replace(member, share=share))
    return found


@asynccontextmanager
async def _where_begun(earlier: Run, parts: Parts) -> AsyncIterator[Parts]:
    """Reopen a growing benchmark with the earlier run's settings, since its discoveries are stored next to that run.

    Other benchmarks are used as they are open.
    """
    if not parts.benchmark.info.growing:
        yield parts
        return
    benchmark = SOURCES.get(earlier.spec.benchmark.kind)(earlier.spec.benchmark)
    try:
        yield replace(parts, benchmark=benchmark)
    finally:
        await benchmark.close()


@asynccontextmanager
async def opened(spec: RunSpec, seconds: float | None = None) -> AsyncIterator[Parts]:
    """Open the parts of a spec in a thread, since loading may take long. Raises UsageError if it exceeds `seconds`."""
    try:
        parts = await asyncio.wait_for(_aside(partial(_loaded, spec)), seconds)
    except TimeoutError as error:
        raise UsageError(f"the benchmark was not loaded within {seconds:g} s") from error
    async with closing(parts):
        yield parts


def _loaded(spec: RunSpec) -> Parts:
    parts = open_parts(spec)
    _ = parts.benchmark.info, parts.benchmark.count(spec.selection)
    return parts


async def _aside(work: Callable[[], T]) -> T:
    """Return the result of blocking foreign code, run in a daemon thread: if it hangs, it does not block the exit."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if found.done():
            return
        if error is not None:
            found.set_exception(error)
        else:
            found.set_result(cast(T, value))

    def run() -> None:
        try:
            outcome: tuple[T | None, BaseException | None] = (work(), None)
        except BaseException as error:  # noqa: BLE001 - any exception is passed on to the waiting task
            outcome = (None, error if not isinstance(error, StopIteration) else RuntimeError(str(error)))
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(settle, *outcome)

    Thread(target=run, name="opening a benchmark", daemon=True).start()
    return await found


def _outcome(group: RunGroup, position: int, member: GroupMember) -> Outcome:
    return Outcome(
        group_id=group.id,
        position=position,
        benchmark=member.benchmark,
        directory=member.directory,
        status=OutcomeStatus.RUNNING,
        provider=member.provider,
        model=member.model,
        agent=member.agent,
        extra=dict(member.extra),
        comparison_id=group.comparison_id,
    )


async def _check(parts: Parts, *, waits: bool) -> bool:
    """Check the model; return whether the run must wait for its server, which is allowed only if `waits`.

    Raises Incompatible for a usage error such as a missing key, RunAborted if the model cannot answer.
    """
    try:
        await parts.model.check()
    except UsageError as error:
        raise Incompatible(parts.benchmark.info.id, [str(error)]) from error
    except EpisodeError as error:
        if not waits or not retried(error):
            raise RunAborted(str(error)) from error
        return True
    return False


async def _other_server(decision: RerunDecision, parts: Parts) -> str:
    """Return how the server of a finished run has changed since; empty if it has not, or if the run is not finished."""
    run = decision.run
    if run is None or run.status is not RunStatus.FINISHED:
        return ""
    await probe(parts)
    return other_server(run, servers(parts), "; --force runs it anew")


def _status(run: Run) -> tuple[OutcomeStatus, str]:
    if run.status is RunStatus.FINISHED:
        return OutcomeStatus.SUCCEEDED, ""
    if run.status is RunStatus.PARTIAL:
        return OutcomeStatus.PARTIAL, run.error
    if run.status is RunStatus.FAILED or "--timeout" in run.error or could_not_start(run):
        return OutcomeStatus.FAILED, run.error
    return OutcomeStatus.STOPPED, run.error
