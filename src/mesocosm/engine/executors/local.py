"""The executor `local`: plays all episodes in this process, as tasks of one event loop."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

from mesocosm.core.failure import EpisodeError, UsageError
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.ports import ExecutorSession, Model, Planned
from mesocosm.core.proxy import Served
from mesocosm.engine.episode import Player
from mesocosm.engine.episode_end import Withdrawn, of_the_world
from mesocosm.engine.outage import MOST_IN_A_ROW, Endpoint, retried
from mesocosm.engine.pool import PoolShare
from mesocosm.engine.proxies import ProxyEndpoints
from mesocosm.engine.retry import Caller, Callers

KEEP_S = 0.5
"""Seconds between two calls of `keep`: an event of a running episode is in the store after at most twice that."""

GIVEN_UP_S = 0.5
"""Seconds for running episodes to end when the run gives up waiting for an endpoint."""

COLLECTION_THRESHOLD = (20_000, 20, 50)
"""Thresholds for `gc`. Young collections repeatedly traverse the objects of thousands of live episodes, which hardly
contain cycles. Measured with 1,000 concurrent episodes: 2,720 episodes/s with Python's default thresholds, 3,210 with
these, 3,430 without collection; peak memory was the same in all three."""

T = TypeVar("T")


def open_local(address: str) -> "type[LocalExecutor]":
    """Return the executor. Raises UsageError if an address is given."""
    if address:
        raise UsageError(f"the executor local takes nothing after its name, not {address!r}")
    return LocalExecutor


class LocalExecutor:
    """Implements core.ports.Executor. In a pool of runs, each episode takes a slot of `share`."""

    def __init__(self, session: ExecutorSession, share: PoolShare | None = None) -> None:
        run, parts = session.run, session.parts
        most = parts.benchmark.info.parallel
        self.parallel = max(run.spec.parallel if most is None else min(run.spec.parallel, most), 1)
        self._session = session
        self._share = share
        if share is not None:
            share.most = self.parallel
        self._callers = _open_callers(session, share)
        judge = None if parts.judge is None or run.spec.judge is None else (parts.judge, run.spec.judge)
        self._proxies = ProxyEndpoints(parts.model, run.spec.model, judge)
        self._player = Player(session, self._callers, self._proxies)
        self._scheduler = Scheduler(self.parallel, self.play)

    async def run(self, pending: Iterator[Planned]) -> None:
        """Play episodes until none is pending or `stop` was called. Raises InfrastructureError, RunAborted."""
        await self._scheduler.run(pending if self._share is None else self._share.follow(pending))

    async def play(self, planned: Planned) -> None:
        """Play one episode and report its result to the session. Raises InfrastructureError, RunAborted."""
        share = self._share
        if share is None:
            await self._play(planned)
        elif await share.take():
            try:
                await self._play(planned)
            finally:
                share.give_back()

    async def _play(self, planned: Planned) -> None:
        session = self._session
        session.running += 1
        try:
            await session.journal.room()
            if reason := session.budget.exhausted():
                session.stop(reason)
                return
            episode = await self._player.play(planned)
        except Withdrawn as error:
            session.stop(str(error))
            return
        finally:
            session.running -= 1
        session.ended(planned, episode)

    def stop(self, grace: float) -> None:
        """Start no further episodes and cancel the running ones after `grace` seconds."""
        self._scheduler.stop(grace)
        if self._share is not None:
            self._share.stop()

    def keep(self) -> None:
        """Pass events of running episodes to the journal. Short episodes are written once, at their end."""
        due = time.time() - KEEP_S
        for recorder in list(self._player.active.values()):
            if recorder.pending_since is not None and recorder.pending_since <= due:
                recorder.flush()

    def share(self, parallel: int, rate: float) -> None:
        """Make at most `parallel` calls at a time, and use `rate` (0 to 1) of the run's limits per minute."""
        for caller in {self._callers.model, self._callers.judge}:
            caller.share(parallel, rate)

    async def close(self) -> None:
        """Close the addresses of programs."""
        await self._proxies.close()

    @property
    def places(self) -> Mapping[str, int]:
        """Nothing: all episodes are played in this process."""
        return {}


def model_endpoints(session: ExecutorSession, changed: Callable[[], None]) -> tuple[Endpoint, Endpoint]:
    """Return the endpoints of model and judge; without a judge, both are the model's."""
    parts, spec = session.parts, session.run.spec
    # A single program may make several calls at once.
    most = max(min(MOST_IN_A_ROW, spec.limits.retries + 1), 2)
    model = _endpoint(session, f"the model {ModelName.parse(spec.model.name).shown()}", most, retried, changed)
    if parts.judge is None or spec.judge is None:
        return model, model
    return model, _endpoint(session, f"the judge {ModelName.parse(spec.judge.name).shown()}", most, retried, changed)


def _open_callers(session: ExecutorSession, share: PoolShare | None) -> Callers:
    """Return the services that episodes depend on, each with its own outage handling."""
    parts, spec, info = session.parts, session.run.spec, session.parts.benchmark.info
    endpoints: list[Endpoint] = []

    def changed() -> None:
        session.pause(any(endpoint.down for endpoint in endpoints))

    asked, judging = model_endpoints(session, changed)
    model = judge = _caller(session, share, parts.model, spec.model, asked, session.served)
    if parts.judge is not None and spec.judge is not None:
        judge = _caller(session, share, parts.judge, spec.judge, judging, session.judge_served)
    kind = "environment" if info.kind in {"hosted", "python", "openenv"} else info.kind
    world = _endpoint(session, f"the {kind} {info.id}", MOST_IN_A_ROW, of_the_world, changed)
    endpoints += [asked, judging, world]
    services: dict[str, Endpoint] = {}

    def service(name: str) -> Endpoint:
        if name not in services:
            services[name] = _endpoint(session, name, MOST_IN_A_ROW, lambda _: True, changed)
            endpoints.append(services[name])
        return services[name]

    return Callers(model, judge, world, service)


def _caller(
    session: ExecutorSession,
    share: PoolShare | None,
    model: Model,
    settings: ModelSettings,
    endpoint: Endpoint,
    served: dict[str, None],
) -> Caller:
    name, spec = ModelName.parse(settings.name), session.run.spec
    # The run records the address of the server once, so it is left out here.
    short = ModelName(name.provider, name.model).shown()
    address = model.server.get("address") if isinstance(model, Served) else None
    bounds = None if share is None else share.pool.calls_to(address or name.shown(), spec.limits)
    caller = Caller(model, spec.limits, spec.parallel, session.budget, session.backoff, endpoint, short, bounds)
    caller.served = served
    return caller


def _endpoint(
    session: ExecutorSession,
    name: str,
    most: int,
    counts: Callable[[EpisodeError], bool],
    changed: Callable[[], None],
) -> Endpoint:
    return Endpoint(
        name,
        session.run.spec.limits.outage_seconds,
        session.backoff,
        most,
        notice=session.outage,
        given_up=lambda reason: session.stop(reason, GIVEN_UP_S),
        counts=counts,
        changed=changed,
    )


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect cycles less often within the block; higher thresholds set by the program are kept."""
    before = gc.get_threshold()
    if 0 < before[0] < COLLECTION_THRESHOLD[0]:
        gc.set_threshold(*COLLECTION_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Scheduler(Generic[T]):
    """Runs `work` on every item, at most `parallel` at a time.

    The first exception raised by `work` stops everything and is raised by `run`. After `stop` no new item is started,
    and running ones are cancelled after the grace period; a second `stop` with grace 0 cancels at once.
    """

    def __init__(self, parallel: int, work: Callable[[T], Awaitable[None]]) -> None:
        self.parallel = max(parallel, 1)
        self.stopping = False
        self._work = work
        self._workers: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None

    async def run(self, items: Iterator[T]) -> None:
        """Return when all items are done or the stop is complete. Raises the first exception of `work`."""
        try:
            for _ in range(self.parallel):
                if self.stopping or self._error is not None:
                    break
                item = next(items, None)
                if item is None:
                    break
                worker = asyncio.create_task(self._worker(item, items))
                self._workers.add(worker)
                worker.add_done_callback(self._ended)
                if len(self._workers) % 64 == 0:
                    await asyncio.sleep(0)
            await self._settle()
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    async def _settle(self) -> None:
        while self._workers and self._error is None:
            await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        if self._error is not None:
            raise self._error

    def _ended(self, worker: asyncio.Task[None]) -> None:
        """Record how a worker ended: it may fail while others are still being started, before anything waits for it."""
        self._workers.discard(worker)
        if not worker.cancelled():
            error = worker.exception()  # always retrieved: asyncio logs exceptions that are never retrieved
            self._error = self._error or error

    async def _worker(self, item: T | None, items: Iterator[T]) -> None:
        while item is not None:
            await self._work(item)
            # Work in this process may never await anything; let other tasks of the loop run.
            await asyncio.sleep(0)
            if self.stopping:
                return
            item = next(items, None)

    def stop(self, grace: float) -> None:
        """Start no new items; cancel the running ones after `grace` seconds. Call it on the event loop."""
        self.stopping = True
        asyncio.get_running_loop().call_later(grace, self._cancel)

    def _cancel(self) -> None:
        for worker in self._workers:
            worker.cancel()
