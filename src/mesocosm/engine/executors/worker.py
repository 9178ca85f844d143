"""The worker's side of a session: opens the parts of the run, plays shards, and reports what happened."""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial

from mesocosm.core.abilities import HoldsSecrets
from mesocosm.core.entry import Entry
from mesocosm.core.episode import Episode
from mesocosm.core.ports import CallBudget, Journal, Parts, Planned
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.core.usage import Usage
from mesocosm.engine.executors.allowance import AllowedBudget
from mesocosm.engine.executors.links import LinkLost, WorkerLink
from mesocosm.engine.executors.local import KEEP_S, LocalExecutor, rare_collection
from mesocosm.engine.executors.messages import (
    EpisodeEnded,
    GiveBack,
    GrantBudget,
    OpenRun,
    PlayShard,
    Ready,
    Share,
    StopWork,
    WorkerReport,
    broken,
    decode_order,
    encode,
    sent,
    unpacked,
)
from mesocosm.engine.opening import closing, open_parts, same_experiment
from mesocosm.engine.session_state import declared_secrets

MOST_BYTES = 8 * 1024 * 1024
"""Size of the entries that may wait for being sent; then no further episode starts."""

PartsOpener = Callable[[OpenRun], Parts]


def parts_of(order: OpenRun) -> Parts:
    """Open the parts of a run from its spec. Raises UsageError if files here are not those of the run."""
    parts = open_parts(order.run.spec)
    same_experiment(order.run, parts)
    return parts


async def serve(link: WorkerLink, opened: PartsOpener = parts_of, leaving: asyncio.Event | None = None) -> str:
    """Do what a session sends, until it closes the connection; return why this worker could not, or an empty string.

    Once `leaving` is set, start no further episode; the session closes the connection when the running ones have ended.
    """
    try:
        order = await _opening(link)
        try:
            async with closing(await asyncio.to_thread(opened, order)) as parts:
                await _work(link, order, parts, leaving)
        except LinkLost:
            raise
        except Exception as error:  # noqa: BLE001 - the session raises it
            problem = broken(error)
            await link.send(encode(problem))
            return problem.message
    except LinkLost:
        return ""
    return ""


async def serve_here(link: WorkerLink, parts: Parts) -> None:
    """Do what the session of this process sends with its own open parts, until it closes the connection."""
    with suppress(LinkLost):
        order = await _opening(link)
        try:
            await _work(link, order, parts, opened=True)
        except LinkLost:
            raise
        except Exception as error:  # noqa: BLE001 - the session raises it
            await link.send(encode(broken(error)))


async def _opening(link: WorkerLink) -> OpenRun:
    order = decode_order(await link.receive())
    if not isinstance(order, OpenRun):
        raise TypeError(f"{type(order).__name__} came before OpenRun")
    return order


async def _work(
    link: WorkerLink, order: OpenRun, parts: Parts, leaving: asyncio.Event | None = None, *, opened: bool = False
) -> None:
    session = _WorkerSession(link, order, parts, leaving or asyncio.Event())
    try:
        if not opened:
            await parts.benchmark.open(session.notice)
    finally:
        if isinstance(parts.benchmark, HoldsSecrets):
            session.hide(parts.benchmark.secrets())
    await link.send(encode(Ready(socket.gethostname())))
    with rare_collection():
        await session.work()


class _WorkerSession:
    """The session as a worker knows it. Implements core.ports.ExecutorSession, and its journal: a report."""

    left: int | None = None

    def __init__(self, link: WorkerLink, order: OpenRun, parts: Parts, leaving: asyncio.Event) -> None:
        self.run = order.run
        self.parts = parts
        self.journal: Journal = self
        self.backoff = order.backoff
        self.worker = order.name
        self._budget = _ReportedBudget(self)
        self.budget: CallBudget = self._budget
        self.served: dict[str, None] = {}
        self.judge_served: dict[str, None] = {}
        self.running = 0
        self._secrets = {*secret_values(os.environ), *declared_secrets(order.run.spec)}
        self.redactor = Redactor(self._secrets)
        self._link = link
        self._leaving = leaving
        self._parallel, self._share, self._every = 0, 0, 0.0
        self._queue: deque[tuple[int, Planned]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shards: dict[int, int] = {}
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._settling: asyncio.Task[None] | None = None
        self._dirty, self._urgent, self._room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._room.set()
        self._warned: set[str] = set()
        self._down = False
        self._stop, self._grace = "", 0.0
        self._next, self._bytes = WorkerReport(), 0

    def hide(self, secrets: Collection[str]) -> None:
        """Hide further secrets from now on."""
        self._secrets.update(secrets)
        self.redactor = Redactor(self._secrets)

    async def work(self) -> None:
        """Do what the session sends. Raises LinkLost when it is closed, and what failed in this process."""
        executor = LocalExecutor(self)
        chores = [
            *(self._orders(executor), self._reports(), self._keep(executor)),
            *(self._leave(executor), self._failure()),
        ]
        tasks = [asyncio.create_task(chore) for chore in chores]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*tasks, *self._tasks):
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await executor.close()
        errors = [error for error in ended if isinstance(error, Exception)]
        # What failed here matters more than that the session closed the connection.
        raise next((error for error in errors if not isinstance(error, LinkLost)), errors[0])

    async def _leave(self, executor: LocalExecutor) -> None:
        """Give back what has not started when this worker leaves, and tell the session; then wait for the end."""
        await self._leaving.wait()
        self._fill(executor)
        self._tell(soon=False)
        await asyncio.wait([self._failed])

    async def _failure(self) -> None:
        await self._failed

    async def _orders(self, executor: LocalExecutor) -> None:
        while True:
            order = decode_order(await self._link.receive())
            if isinstance(order, PlayShard):
                self._queue.extend((order.shard, planned) for planned in unpacked(order.episodes))
            elif isinstance(order, Share):
                self._parallel, self._share, self._every = order.parallel, order.number, order.every
                executor.share(max(order.parallel, 1), order.rate)
                # Others get what this worker does not play any more.
                self._tell(soon=False)
            elif isinstance(order, GiveBack):
                self._give_back()
            elif isinstance(order, GrantBudget):
                self._budget.grant(order.more, order.over)
            elif isinstance(order, StopWork):
                # A second one may leave less time.
                asyncio.get_running_loop().call_later(order.grace, self._cancel)
                self._settling = self._settling or asyncio.create_task(self._settle())
            self._fill(executor)

    def _fill(self, executor: LocalExecutor) -> None:
        """Start as many episodes as there is room for; give them back while leaving."""
        if self._leaving.is_set():
            self._give_back()
        while self._queue and len(self._tasks) < self._parallel and self._settling is None:
            shard, planned = self._queue.popleft()
            self._shards[planned.index] = shard
            task = asyncio.create_task(executor.play(planned))
            self._tasks.add(task)
            task.add_done_callback(partial(self._task_ended, executor, planned.index))

    def _give_back(self) -> None:
        """Report that the episodes which have not started are for others."""
        if self._queue:
            self._next.unplayed += [(shard, planned.index) for shard, planned in self._queue]
            self._queue.clear()
            self._tell(soon=False)

    def _task_ended(self, executor: LocalExecutor, index: int, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        del self._shards[index]
        if not task.cancelled() and (error := task.exception()) is not None and not self._failed.done():
            self._failed.set_exception(error)
        self._fill(executor)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _settle(self) -> None:
        """Report when no episode is running any more."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._next.idle = True
        self._tell(soon=False)

    async def _keep(self, executor: LocalExecutor) -> None:
        while True:
            await asyncio.sleep(KEEP_S)
            executor.keep()
            if (back := self._budget.returned()) is not None:
                self._next.returned = back
                self._tell()

    # What the executor reports

    def ended(self, planned: Planned, episode: Episode) -> None:
        """Report the result of an episode."""
        self._next.ended.append(EpisodeEnded(self._shards[planned.index], planned.index, episode.id))
        self._tell()

    def stop(self, reason: str, grace: float = 5.0) -> None:
        """Ask the session to stop the run."""
        if not self._stop:
            self._stop, self._grace = reason, grace
        self._tell(soon=False)

    def pause(self, down: bool) -> None:
        """Report whether a server does not answer."""
        self._down = down
        self._tell(soon=False)

    def notice(self, message: str) -> None:
        """Report a message for the user."""
        self._next.notices.append(self.redactor.text(message))
        self._tell()

    def outage(self, message: str) -> None:
        """Report a message about a server that does not answer."""
        self._next.outages.append(self.redactor.text(message))
        self._tell()

    def warn(self, message: str) -> None:
        """Report a warning, once."""
        message = self.redactor.text(message)
        if message not in self._warned:
            self._warned.add(message)
            self._next.warnings.append(message)
            self._tell()

    def spent(self, usage: Usage) -> None:
        """Report the usage of a call."""
        self._next.spent += usage
        self._tell(soon=not self._budget.matters(self._next.spent))

    def short(self) -> None:
        """Ask for more of the budget."""
        self._next.short = True
        self._tell(soon=False)

    # The journal

    def write(self, entry: Entry) -> None:
        """Put an entry into the next report."""
        self._next.entries.append(sent(entry))
        self._bytes += sum(len(chunk.raw) for chunk in entry.chunks) + sum(len(blob.data) for blob in entry.blobs)
        if self._bytes > MOST_BYTES:
            self._room.clear()
        self._tell()

    async def room(self) -> None:
        """Wait until the next report has room."""
        await self._room.wait()

    async def drain(self) -> None:
        """Do nothing: the session makes entries durable."""

    async def close(self) -> None:
        """Do nothing: reports end with the connection."""

    def _tell(self, *, soon: bool = True) -> None:
        self._dirty.set()
        if not soon:
            self._urgent.set()

    async def _reports(self) -> None:
        while True:
            await self._dirty.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._urgent.wait()
            self._dirty.clear()
            self._urgent.clear()
            report, self._next, self._bytes = self._next, WorkerReport(), 0
            self._room.set()
            report.running, report.share, report.down = self.running, self._share, self._down
            report.leaving = self._leaving.is_set()
            report.served, report.judge_served = list(self.served), list(self.judge_served)
            report.stop, report.grace = self._stop, self._grace
            await self._link.send(encode(report))


class _ReportedBudget(AllowedBudget):
    """A budget that reports what is spent."""

    def __init__(self, session: _WorkerSession) -> None:
        super().__init__(session.run.spec.limits, session.short)
        self._session = session

    def charge(self, usage: Usage, model: str) -> None:
        """Add the usage of a call and report it. Raises RunAborted if its price is unknown and money is limited."""
        self._session.spent(usage)
        super().charge(usage, model)
