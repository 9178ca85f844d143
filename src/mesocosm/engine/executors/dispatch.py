"""An executor over several workers: sends them shards of the plan, and writes what they report into the journal.

The session alone writes, and only what is written is finished. So a worker may end at any moment: what it had not
reported is sent to another one. An episode that ends every worker is found by halving its shard, and fails.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from mesocosm.core.backoff import Backoff
from mesocosm.core.entry import Entry
from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError, RunAborted, UsageError
from mesocosm.core.ports import ExecutorSession, Planned
from mesocosm.engine.episode import record_lost
from mesocosm.engine.executors.allowance import Ledger
from mesocosm.engine.executors.links import HelperGone, Link, LinkLost, WorkerSource
from mesocosm.engine.executors.messages import (
    GiveBack,
    GrantBudget,
    OpenRun,
    PlayShard,
    Ready,
    Shard,
    Share,
    StopWork,
    WorkerReport,
    decode_news,
    encode,
    packed,
    received,
)
from mesocosm.engine.recorder import redacted

MOST = 100
"""Maximum episodes of a shard. Measured with episodes that do nothing: more make nothing faster."""

SHARD_S = 0.5
"""Seconds of work of a shard, as far as known; while a worker plays one, the next one waits with it."""

AHEAD = 3
"""Reports whose time is covered by the episodes that a worker has beyond those that it plays."""

TRIES = 3
"""Number of workers that end with a shard until it is halved, and with an episode alone until that fails."""

STARTS = 3
"""Number of workers in a row that end before their parts are open until the run ends, if no other one plays."""

START_S = Backoff(base=0.5, cap=30.0)
"""Waits before another worker is started in place of one that ended so early."""

EVERY_S, REPORTS = (0.1, 1.0), 400
"""Least and most seconds between two reports of a worker, and the number of reports a second that all of them make at
most: a thousand workers report once a second, which takes a third of a core."""

SETTLE_S = 5.0
"""Seconds beyond the grace of a stop for workers to report; then they are ended."""


SAME_S = 5.0
"""Seconds in which a message that differs only in its numbers is shown once."""


@dataclass(eq=False)
class _Worker:
    """A connected worker: what it has, and what it reported.

    It may play `share` episodes at a time, and plays `allowed` at most: it learns later that its share is smaller.
    """

    link: Link
    number: int
    reader: asyncio.Task[None] | None = None
    place: str = ""
    share: int = 0
    rate_share: float = 0.0
    shares: int = 0
    allowed: int = 0
    leaving: bool = False
    shards: dict[int, Shard] = field(default_factory=dict)
    held: int = 0
    open: dict[str, Episode] = field(default_factory=dict)
    running: int = 0
    down: bool = False
    short: bool = False
    idle: bool = False
    alone: bool = False
    asked: bool = False
    played: int = 0
    rate: float = 0.0
    counted_at: float = 0.0
    counted: int = 0
    recent: dict[str, Episode] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """Whether its parts are open."""
        return bool(self.place)


class Dispatcher:
    """Implements core.ports.Executor over the workers of `workers`."""

    def __init__(self, session: ExecutorSession, workers: WorkerSource) -> None:
        run = session.run
        if session.parts.benchmark.info.growing:
            raise UsageError(
                f"the tasks of {run.benchmark} are found while it runs, in the process that plays it; play it with "
                "--executor local"
            )
        self._session = session
        self._source = workers
        self._ledger = Ledger(run.spec.limits, session.budget)
        self._workers: dict[int, _Worker] = {}
        self._numbers = 0
        self._shards = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._starts = 0
        self._pending: Iterator[Planned] | None = None
        self._again: deque[Shard] = deque()
        self._suspects: deque[Shard] = deque()
        self._unsettled = 0
        self._held = 0
        self._stopping = False
        self._stop_at: float | None = None
        self._done: asyncio.Future[None] | None = None
        self._every = EVERY_S[0]
        self._said: dict[str, float] = {}
        self.places: dict[str, int] = {}
        """Number of finished episodes by the host where they were played."""

    @property
    def parallel(self) -> int:
        """Maximum number of concurrent episodes."""
        # Every worker plays at least one episode at a time: that is what it was asked for.
        parallel = max(self._session.run.spec.parallel, self._source.most)
        most = self._session.parts.benchmark.info.parallel
        return max(parallel if most is None else min(parallel, most), 1)

    @property
    def _seats(self) -> int:
        """Number of workers to have."""
        return min(self._source.most, self.parallel)

    async def run(self, pending: Iterator[Planned]) -> None:
        """Play episodes until none is pending or the executor was stopped. Raises what ended a worker for good."""
        if self._stopping:
            return
        self._pending = pending
        self._done = asyncio.get_running_loop().create_future()
        self._start_workers()
        self._fill()
        try:
            await self._done
        finally:
            self._done = None
            self._session.running = 0

    def stop(self, grace: float) -> None:
        """Start no further episodes and cancel the running ones after `grace` seconds."""
        self._stopping = True
        limit = time.monotonic() + grace + SETTLE_S
        self._stop_at = limit if self._stop_at is None else min(self._stop_at, limit)
        for task in self._starting:
            task.cancel()
        for worker in self._workers.values():
            worker.link.send(encode(StopWork(grace)))
        self._fill()

    def keep(self) -> None:
        """Give workers what they wait for, start more where there is room now, and end those that do not stop."""
        self._grant()
        if self._pending is not None:
            self._start_workers()
        if self._stop_at is not None and time.monotonic() > self._stop_at and self._done and not self._done.done():
            self._done.set_result(None)

    async def close(self) -> None:
        """End all workers."""
        for task in self._starting:
            task.cancel()
        workers = list(self._workers.values())
        for worker in workers:
            if worker.reader is not None:
                worker.reader.cancel()
        await asyncio.gather(*self._starting, *(worker.link.close() for worker in workers), return_exceptions=True)
        await self._source.close()

    # WorkerSource

    def _start_workers(self) -> None:
        left = self._session.left
        seats = self._seats if left is None else min(self._seats, left)
        while not self._stopping and len(self._workers) + len(self._starting) < seats:
            self._starting.add(task := asyncio.create_task(self._connect()))
            task.add_done_callback(self._connected)

    async def _connect(self) -> None:
        if self._starts:
            await asyncio.sleep(START_S.wait(self._starts, None))
        link = await self._source.connect()
        if not self._numbers:
            at_once = f", {self.parallel:,} episodes at a time" if self.parallel > self._seats else ""
            self._session.notice(f"played by {self._seats} {self._source.what}{at_once}")
        self._numbers += 1
        worker = self._workers[self._numbers] = _Worker(link, self._numbers)
        session = self._session
        link.send(encode(OpenRun(session.run, link.name, session.backoff)))
        worker.reader = asyncio.create_task(self._read(worker))
        worker.reader.add_done_callback(self._reader_ended)

    def _connected(self, task: asyncio.Task[None]) -> None:
        self._starting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _reader_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    async def _read(self, worker: _Worker) -> None:
        """Take what a worker reports until it is gone."""
        try:
            while True:
                news = decode_news(await worker.link.receive())
                if isinstance(news, WorkerReport):
                    await self._take(worker, news)
                    if worker.leaving and not worker.shards:
                        await self._lost(worker, "")
                        return
                elif isinstance(news, Ready):
                    self._starts = 0
                    worker.place = news.host
                    worker.counted_at = time.monotonic()
                    self._divide()
                elif worker.ready:
                    raise news.error()
                elif any(other.ready for other in self._workers.values()):
                    # What others have opened is not at fault.
                    await self._lost(worker, f"it cannot open the parts of the run: {news.message}")
                    return
                else:
                    raise RunAborted(f"{worker.link.name} cannot open the parts of the run: {news.message}")
                self._fill(worker)
        except LinkLost as lost:
            await self._lost(worker, str(lost), started=isinstance(lost, HelperGone))

    def _divide(self) -> None:
        """Tell every worker how many episodes it may play at a time; together they never play more than `parallel`."""
        staying = [worker for worker in self._workers.values() if not worker.leaving]
        self._every = min(max(len(staying) / REPORTS, EVERY_S[0]), EVERY_S[1])
        free = self.parallel - sum(worker.allowed for worker in self._workers.values())
        for place, worker in enumerate(sorted(staying, key=lambda one: not one.ready)):
            if not worker.ready:
                break
            share = max(self.parallel // len(staying) + (place < self.parallel % len(staying)), 1)
            # What another one plays beyond its new share has to end first.
            share, rate = min(share, worker.allowed + max(free, 0)), 1 / len(staying)
            if (share, rate) == (worker.share, worker.rate_share):
                continue
            free -= max(share - worker.allowed, 0)
            worker.allowed = max(worker.allowed, share)
            worker.share, worker.rate_share, worker.shares = share, rate, worker.shares + 1
            worker.link.send(encode(Share(share, rate, self._every, worker.shares)))

    async def _lost(self, worker: _Worker, reason: str, *, started: bool = False) -> None:
        """Do without a worker that is gone for a reason, or has left without one.

        Raises InfrastructureError if it is the last of several that ended before they were ready; `started`: it does
        not count, because workers of its kind can be started.
        """
        # Until its episodes are planned again, nobody else may find that nothing is left to do.
        self._unsettled += 1
        try:
            await self._without(worker, reason, started=started)
        finally:
            self._unsettled -= 1
        self._divide()
        self._start_workers()
        self._fill()

    async def _without(self, worker: _Worker, reason: str, *, started: bool) -> None:
        del self._workers[worker.number]
        self._held -= worker.held
        self._ledger.lost(worker.number)
        self._session.running -= worker.running
        if worker.down and not any(one.down for one in self._workers.values()):
            self._session.pause(False)  # noqa: FBT003
        await worker.link.close()
        if not worker.ready and not started:
            self._starts += 1
            if self._starts >= STARTS and not any(one.ready for one in self._workers.values()):
                raise InfrastructureError(
                    f"no worker can be started: {self._starts} ended before they were ready: {reason}"
                )
        for episode in worker.open.values():
            # What it used stays counted, although the episode will be played again.
            episode.status, episode.ended_at = EpisodeStatus.CANCELLED, time.time()
            self._session.journal.write(Entry(episode))
        for shard in worker.shards.values():
            await self._return(shard, reason, alone=worker.alone)
        if not self._stopping and reason:
            count = sum(len(shard.left) for shard in worker.shards.values())
            again = f"; {count:,} episodes that it had are played again" if count else ""
            self._session.notice(f"{worker.link.name} is gone: {reason}{again}")

    async def _return(self, shard: Shard, reason: str, *, alone: bool) -> None:
        """Plan the episodes of a shard again whose worker is gone; `alone`: it had no other one."""
        if not shard.left:
            return
        shard.deaths += 1
        if shard.deaths < TRIES - 1:
            self._again.append(shard)
        elif not alone:
            # From now on it is played alone, so that the end of its worker says something about it.
            self._suspects.append(shard)
        elif len(shard.left) > 1:
            items = list(shard.left.items())
            middle = len(items) // 2
            for half in (items[:middle], items[middle:]):
                self._suspects.append(Shard(self._next_shard(), dict(half), TRIES))
        elif (deaths := shard.deaths_alone + 1) < TRIES:
            self._suspects.append(Shard(self._next_shard(), shard.left, TRIES, deaths))
        else:
            (planned,) = shard.left.values()
            what = f"the process that played this episode ended {TRIES} times: {reason}"
            kind = self._session.parts.benchmark.info.kind
            cause = (
                Cause.ENVIRONMENT_ERROR
                if kind in {"environment", "python", "hosted", "openenv"}
                else Cause.PROGRAM_FAILED
            )
            self._session.ended(planned, await record_lost(self._session, planned, EpisodeError(cause, what)))

    # Shards

    def _next_shard(self) -> int:
        self._shards += 1
        return self._shards

    def _fill(self, one: _Worker | None = None) -> None:
        """Send shards to `one` worker or to all that have room, and end `run` when nothing is left to do."""
        if not self._stopping:
            for worker in (one,) if one is not None else sorted(self._workers.values(), key=lambda one: one.held):
                while worker.ready and (shard := self._shard_for(worker)) is not None:
                    worker.shards[shard.number] = shard
                    worker.held += len(shard.left)
                    self._held += len(shard.left)
                    worker.link.send(encode(PlayShard(shard.number, packed(shard.left.values()))))
            self._even_out()
        if self._done is None or self._done.done():
            return
        if self._stopping:
            if all(worker.idle or not worker.ready for worker in self._workers.values()) and not self._unsettled:
                self._done.set_result(None)
        elif not (self._unsettled or self._again or self._suspects or self._pending is not None or self._held):
            self._done.set_result(None)

    def _even_out(self) -> None:
        """At the end, ask for episodes back that wait behind others while another worker has room for them."""
        if self._pending is not None or self._again or self._suspects:
            return
        playing = [worker for worker in self._workers.values() if worker.share and not worker.leaving]
        if not any(worker.held < worker.share for worker in playing):
            return
        fullest = max(playing, key=lambda one: one.held - one.share)
        if fullest.held > fullest.share and not fullest.asked and not fullest.alone:
            fullest.asked = True
            fullest.link.send(encode(GiveBack()))

    def _shard_for(self, worker: _Worker) -> Shard | None:
        """Return what a worker should play next; None if it has enough, or nothing is left."""
        if worker.alone or worker.leaving or not worker.share:
            return None
        if self._suspects:
            if worker.held:
                return None
            worker.alone = True
            return self._suspects.popleft()
        # Beyond what it plays at once it needs enough for the time until its next report and our answer.
        if worker.held > worker.share + worker.rate * AHEAD * self._every:
            return None
        size = self._size(worker)
        if self._again:
            shard = self._again.popleft()
            if len(shard.left) <= size:
                return shard
            first = {index: shard.left.pop(index) for index in list(shard.left)[:size]}
            self._again.appendleft(shard)
            return Shard(self._next_shard(), first, shard.deaths)
        left: dict[int, Planned] = {}
        while len(left) < size and self._pending is not None:
            if (planned := next(self._pending, None)) is None:
                self._pending = None
            else:
                left[planned.index] = planned
        return Shard(self._next_shard(), left) if left else None

    def _size(self, worker: _Worker) -> int:
        """Return the number of episodes for the next shard of a worker: `SHARD_S` of its work."""
        size = worker.rate * SHARD_S if worker.rate else worker.share / 4
        if (left := self._session.left) is not None:
            # At the end all workers should have something to do.
            size = min(size, max(left - self._held, 0) / (2 * len(self._workers)))
        return int(min(max(size, 1), MOST))

    # Reports

    async def _take(self, worker: _Worker, report: WorkerReport) -> None:
        """Write what a worker reports, and do what follows from it."""
        session = self._session
        self._unsettled += 1
        worker.leaving |= report.leaving
        try:
            await session.journal.room()
            for sent in report.entries:
                entry = redacted(received(sent), session.redactor)
                session.journal.write(entry)
                if entry.episode.status is EpisodeStatus.RUNNING:
                    worker.open[entry.episode.id] = entry.episode
                else:
                    worker.open.pop(entry.episode.id, None)
                    worker.recent[entry.episode.id] = entry.episode
            if report.spent.calls:
                session.budget.charge(report.spent, session.run.model)
            self._ledger.spent(worker.number, report.spent, report.returned)
            self._show(worker, report)
            for ended in report.ended:
                if (shard := worker.shards.get(ended.shard)) is None:
                    continue
                planned, episode = shard.left.pop(ended.index), worker.recent[ended.episode_id]
                worker.held -= 1
                self._held -= 1
                if episode.status in FINISHED:
                    worker.played += 1
                    self.places[worker.place] = self.places.get(worker.place, 0) + 1
                if not shard.left:
                    del worker.shards[ended.shard]
                    worker.alone = worker.alone and bool(worker.shards)
                session.ended(planned, episode)
            worker.recent.clear()
            self._take_back(worker, report.unplayed)
        finally:
            self._unsettled -= 1
        if report.share == worker.shares and (most := max(worker.share, report.running)) < worker.allowed:
            worker.allowed = most
            self._divide()
            self._fill()
        self._measure(worker)
        worker.short |= report.short
        worker.asked = False
        worker.idle = report.idle or worker.idle
        self._grant()
        if report.stop:
            session.stop(report.stop, report.grace)

    def _take_back(self, worker: _Worker, unplayed: Sequence[tuple[int, int]]) -> None:
        """Plan the episodes again that a worker gives back."""
        for number, episodes in groupby(sorted(unplayed), key=itemgetter(0)):
            if (shard := worker.shards.get(number)) is None:
                continue
            left = {index: shard.left.pop(index) for _, index in episodes}
            worker.held -= len(left)
            self._held -= len(left)
            if not shard.left:
                del worker.shards[number]
            (self._suspects if worker.alone else self._again).append(Shard(self._next_shard(), left, shard.deaths))
            self._fill()

    def _show(self, worker: _Worker, report: WorkerReport) -> None:
        session = self._session
        session.running += report.running - worker.running
        worker.running = report.running
        if worker.down != report.down:
            before = any(one.down for one in self._workers.values())
            worker.down = report.down
            if (after := any(one.down for one in self._workers.values())) != before:
                session.pause(after)
        for name in report.served:
            session.served.setdefault(name)
        for name in report.judge_served:
            session.judge_served.setdefault(name)
        for message in report.warnings:
            session.warn(message)
        for message in report.notices:
            if self._new(message):
                session.notice(message)
        for message in report.outages:
            if self._new(message):
                session.outage(message)

    def _new(self, message: str) -> bool:
        """Return whether no worker has said the same for a while; all of them meet the same outage."""
        now, key = time.monotonic(), "".join("#" if letter.isdigit() else letter for letter in message)
        if now - self._said.get(key, -SAME_S) < SAME_S:
            return False
        self._said[key] = now
        return True

    def _measure(self, worker: _Worker) -> None:
        """Update how many episodes a worker plays in a second."""
        now = time.monotonic()
        if (seconds := now - worker.counted_at) >= 0.2 and worker.played > worker.counted:
            worker.rate = (worker.played - worker.counted) / seconds
            worker.counted, worker.counted_at = worker.played, now

    def _grant(self) -> None:
        if not self._ledger.limited:
            return
        over = self._session.budget.overspent()
        for worker in self._workers.values():
            if not worker.short:
                continue
            more = None if over else self._ledger.grant(worker.number, len(self._workers))
            if over or more is not None:
                worker.short = False
                worker.link.send(encode(GrantBudget(over=over) if more is None else GrantBudget(more)))
        if over and not self._stopping:
            self._session.stop(over)

    def _fail(self, error: BaseException) -> None:
        """End `run` with an error."""
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)
