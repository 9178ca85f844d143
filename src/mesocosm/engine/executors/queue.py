"""The executor `queue`: this process, and others that help, which meet in the results database (PostgreSQL).

The process that works on the run offers seats; idle workers of a server and `mesocosm worker --run` take them. Messages
go through the database, so no address, port or certificate is needed where helpers run.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from mesocosm.core.failure import InfrastructureError, MesocosmError, UsageError
from mesocosm.core.ports import (
    EngineStore,
    ExecutorSession,
    Seat,
    SeatMessage,
    SeatNews,
    SeatStore,
)
from mesocosm.core.run import HOSTED, LeaseOwner
from mesocosm.engine.executors.dispatch import Dispatcher
from mesocosm.engine.executors.links import HelperGone, Link, LinkLost
from mesocosm.engine.executors.processes import Processes
from mesocosm.engine.executors.worker import PartsOpener, parts_of, serve, serve_here

HELPERS = 15
"""Maximum number of helpers of a run if none is given."""

LEASE_S = 30.0
"""Seconds without a sign of life after which a helper counts as gone, and what it had is played by others."""

POLL_S = 1.0
"""Seconds between two looks at the messages when no bell rings."""


def open_queue(address: str) -> "QueueOpener":
    """Return the executor with at most `address` helpers, HELPERS if it is empty. Raises UsageError."""
    if address and not (address.isdigit() and int(address)):
        raise UsageError(f"queue:{address}: say how many helpers at most, as in queue:4, or leave the number out")
    return QueueOpener(int(address or HELPERS))


class QueueOpener:
    """Opens the executor. Implements core.ports.UsesStore."""

    def __init__(self, helpers: int) -> None:
        self._helpers = helpers
        self._seats: tuple[SeatStore, LeaseOwner] | None = None

    def use(self, store: EngineStore, holder: LeaseOwner) -> None:
        """Take the store. Raises UsageError if it is no PostgreSQL database."""
        store.seats.check()
        self._seats = store.seats, holder

    def __call__(self, session: ExecutorSession) -> Dispatcher:
        """Return the executor of a session."""
        if self._seats is None:
            raise UsageError("the executor queue was given no results database")
        return Dispatcher(session, Helped(session, *self._seats, self._helpers))


class Helped:
    """One worker on this machine, then helpers. Implements engine.executors.links.WorkerSource.

    A hosted run is played in this process, with what its worker shares between runs; any other one in a process of its
    own, so that an episode that ends its process does not end the run.
    """

    def __init__(
        self, session: ExecutorSession, seats: SeatStore, holder: LeaseOwner, helpers: int, *, poll_s: float = POLL_S
    ) -> None:
        self._session = session
        self._seats = seats
        self._holder = holder
        self._helpers = helpers
        self._poll_s = poll_s
        self._own = False
        self._desk: _Desk | None = None

    @property
    def what(self) -> str:
        """How the workers are called."""
        return "process" if self.most == 1 else "processes at most, as others come to help"

    @property
    def most(self) -> int:
        """Maximum number of workers: helpers do not make the run more parallel than it was asked to be."""
        return max(min(1 + self._helpers, self._session.run.spec.parallel), 1)

    async def connect(self) -> Link:
        """Return this machine's worker, or wait for a helper. Raises InfrastructureError."""
        if not self._own:
            self._own = True
            return _OwnLink(await self._start_own(), self._own_ended)
        if self._desk is None:
            self._desk = _Desk(self._seats, self._session.run.id, self._holder, self._poll_s)
        link = await self._desk.helper()
        self._session.notice(f"{link.name} helps")
        return link

    async def _start_own(self) -> Link:
        if self._session.run.spec.benchmark.kind == HOSTED:
            return _HereLink(self._session)
        return await Processes(1).connect()

    def _own_ended(self) -> None:
        self._own = False

    async def close(self) -> None:
        """Send all helpers away."""
        if self._desk is not None:
            await self._desk.close()


class _OwnLink:
    """The link to this machine's worker, which says when it has ended. Implements engine.executors.links.Link."""

    def __init__(self, link: Link, ended: Callable[[], None]) -> None:
        self.name = link.name
        self.send = link.send
        self.receive = link.receive
        self._link = link
        self._ended = ended

    async def close(self) -> None:
        """End the worker."""
        await self._link.close()
        self._ended()


class _HereLink:
    """A worker in this process, with the open parts of the session. Implements engine.executors.links.Link."""

    # Traces name it, and who reads them is elsewhere.
    name = "the session of the run"

    def __init__(self, session: ExecutorSession) -> None:
        self._orders, self._news = asyncio.Queue[bytes | None](), asyncio.Queue[bytes | None]()
        self._task = asyncio.create_task(serve_here(_HereWorkerLink(self._orders, self._news), session.parts))
        self._task.add_done_callback(lambda task: self._news.put_nowait(None))

    def send(self, data: bytes) -> None:
        """Send a message."""
        self._orders.put_nowait(data)

    async def receive(self) -> bytes:
        """Return the next message. Raises LinkLost, and what failed unexpectedly."""
        if (data := await self._news.get()) is not None:
            return data
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise error
        raise LinkLost("it has ended")

    async def close(self) -> None:
        """End the worker."""
        self._orders.put_nowait(None)
        await asyncio.gather(self._task, return_exceptions=True)


class _HereWorkerLink:
    """The worker's end of `_HereLink`. Implements engine.executors.links.WorkerLink."""

    def __init__(self, orders: asyncio.Queue[bytes | None], news: asyncio.Queue[bytes | None]) -> None:
        self._orders = orders
        self._news = news

    async def receive(self) -> bytes:
        """Return the next message. Raises LinkLost."""
        if (data := await self._orders.get()) is None:
            raise LinkLost("the session is gone")
        return data

    async def send(self, data: bytes) -> None:
        """Send a message."""
        self._news.put_nowait(data)


class _Desk:
    """Offers the seats of a run, and exchanges messages with their helpers on a thread of its own.

    So helpers are heard while an episode blocks the event loop.
    """

    def __init__(self, seats: SeatStore, run_id: str, holder: LeaseOwner, poll_s: float) -> None:
        self._seats = seats
        self._run_id = run_id
        self._holder = holder
        self._poll_s = poll_s
        self._loop = asyncio.get_running_loop()
        self._links: dict[str, _SeatLink] = {}
        self._dismissed: set[str] = set()
        self._waiting: deque[asyncio.Future[_SeatLink]] = deque()
        self._wanted = 0
        self._error: MesocosmError | None = None
        self._lock = threading.Lock()
        self._outbox: list[SeatMessage] = []
        self._leaving: list[str] = []
        self._over = False
        self._bell = seats.bell(run_id)
        self._thread = threading.Thread(target=self._work, name="helpers of a run", daemon=True)
        self._thread.start()

    async def helper(self) -> "_SeatLink":
        """Wait for a helper. Raises InfrastructureError, RunLeased."""
        if self._error is not None:
            raise self._error
        future: asyncio.Future[_SeatLink] = self._loop.create_future()
        self._waiting.append(future)
        self._wanted = len(self._waiting)
        self._bell.ring()
        return await future

    def post(self, message: SeatMessage) -> None:
        """Send a message to a helper."""
        with self._lock:
            self._outbox.append(message)
        self._bell.ring()

    def dismiss(self, seat_id: str) -> None:
        """Take a seat away."""
        self._links.pop(seat_id, None)
        self._dismissed.add(seat_id)
        with self._lock:
            self._leaving.append(seat_id)
        self._bell.ring()

    async def close(self) -> None:
        """Take all seats away."""
        self._over = True
        self._bell.ring()
        await asyncio.to_thread(self._thread.join)
        self._bell.close()

    def _work(self) -> None:
        """Exchange messages until the end. Runs on the thread."""
        received, heard = dict[str, int](), set[str]()
        try:
            self._seats.clear(self._run_id, self._holder)
            while not self._over:
                with self._lock:
                    posted, self._outbox = self._outbox, []
                    leaving, self._leaving = self._leaving, []
                self._seats.withdraw(leaving)
                known = {seat_id: number for seat_id, number in received.items() if seat_id in heard}
                news, messages = self._seats.exchange(self._run_id, self._holder, self._wanted, posted, known)
                heard = {message.seat_id for message in messages}
                self._tell(self._arrived, news, _new(messages, received))
                if not self._outbox:
                    self._bell.wait(self._poll_s)
            self._seats.clear(self._run_id, self._holder)
        except MesocosmError as error:
            self._tell(self._failed, error)

    def _tell(self, call: Callable[..., None], *given: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *given)

    def _arrived(self, news: Sequence[SeatNews], messages: Mapping[str, Sequence[bytes] | None]) -> None:
        """Take what the store told."""
        for one in news:
            if one.seat_id not in self._links and one.seat_id not in self._dismissed and not one.left:
                self._take(one)
        for seat_id, bodies in messages.items():
            if (link := self._links.get(seat_id)) is not None:
                link.take(bodies)
        there = {one.seat_id: one for one in news}
        for seat_id, link in self._links.items():
            if (seen := there.get(seat_id)) is None:
                link.end("it gives no sign of life")
            elif seen.left:
                link.end(seen.reason or "it has left")

    def _take(self, news: SeatNews) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            self._wanted = len(self._waiting)
            if not future.done():
                link = self._links[news.seat_id] = _SeatLink(self, news)
                future.set_result(link)
                return
        self.dismiss(news.seat_id)

    def _failed(self, error: MesocosmError) -> None:
        self._error = error
        for link in self._links.values():
            link.end(str(error))
        for future in self._waiting:
            if not future.done():
                future.set_exception(error)


class _SeatLink:
    """The link to a helper. Implements engine.executors.links.Link."""

    def __init__(self, desk: _Desk, news: SeatNews) -> None:
        self.name = news.name
        self._desk = desk
        self._seat_id = news.seat_id
        self._posted = 0
        self._inbox = asyncio.Queue[bytes | str]()
        self._ended = False

    def send(self, data: bytes) -> None:
        """Send a message."""
        self._posted += 1
        self._desk.post(SeatMessage(self._seat_id, self._posted, data))

    def take(self, bodies: Sequence[bytes] | None) -> None:
        """Take messages; None if some were lost."""
        if bodies is None:
            self.end("messages of it were lost")
            return
        for body in bodies:
            self._inbox.put_nowait(body)

    def end(self, reason: str) -> None:
        """End with a reason, once, after what was taken before."""
        if not self._ended:
            self._ended = True
            self._inbox.put_nowait(reason)

    async def receive(self) -> bytes:
        """Return the next message. Raises LinkLost."""
        item = await self._inbox.get()
        if isinstance(item, str):
            self._inbox.put_nowait(item)
            raise HelperGone(item)
        return item

    async def close(self) -> None:
        """Take the seat away from the helper."""
        self._desk.dismiss(self._seat_id)


def _new(messages: Sequence[SeatMessage], received: dict[str, int]) -> Mapping[str, Sequence[bytes] | None]:
    """Return what follows on the last `received` message of each seat, and count it; None where one is missing."""
    found = dict[str, list[bytes] | None]()
    for message in messages:
        last = received.get(message.seat_id, 0)
        if message.number <= last:
            continue
        if message.number > last + 1:
            found[message.seat_id] = None
            continue
        received[message.seat_id] = message.number
        bodies = found.setdefault(message.seat_id, [])
        if bodies is not None:
            bodies.append(message.body)
    return found


async def help_run(
    seats: SeatStore,
    seat: Seat,
    *,
    leaving: asyncio.Event | None = None,
    opened: PartsOpener = parts_of,
    lease_s: float = LEASE_S,
    poll_s: float = POLL_S,
) -> str:
    """Play episodes in a seat until it is taken away; return why this process could not, or an empty string.

    Once `leaving` is set, start no further episode, and give the seat back when the running ones have ended.
    """
    link = _HelperLink(seats, seat, lease_s, poll_s)
    problem = "it was ended"
    try:
        problem = await serve(link, opened, leaving)
    finally:
        await link.close(problem)
    return problem


class _HelperLink:
    """The helper's end. Implements engine.executors.links.WorkerLink.

    A thread renews the lease and exchanges messages, also while an episode blocks the event loop.
    """

    def __init__(self, seats: SeatStore, seat: Seat, lease_s: float, poll_s: float) -> None:
        self._seats = seats
        self._seat = seat
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._outbox: list[tuple[SeatMessage, asyncio.Future[None]]] = []
        self._posted = 0
        self._inbox = asyncio.Queue[bytes | None]()
        self._lost: asyncio.Event = asyncio.Event()
        self._over = False
        self._bell = seats.bell(seat.id)
        self._thread = threading.Thread(target=self._work, name="seat in a run", daemon=True)
        self._thread.start()

    async def receive(self) -> bytes:
        """Return the next message. Raises LinkLost."""
        if (data := await self._inbox.get()) is None:
            self._inbox.put_nowait(None)
            raise LinkLost("the seat is lost")
        return data

    async def send(self, data: bytes) -> None:
        """Send a message, and wait until the store has it. Raises LinkLost."""
        if self._lost.is_set():
            raise LinkLost("the seat is lost")
        self._posted += 1
        delivered: asyncio.Future[None] = self._loop.create_future()
        with self._lock:
            self._outbox.append((SeatMessage(self._seat.id, self._posted, data), delivered))
        self._bell.ring()
        await delivered

    async def close(self, problem: str) -> None:
        """Give the seat back."""
        self._over = True
        self._bell.ring()
        await asyncio.to_thread(self._thread.join)
        self._bell.close()
        if not self._lost.is_set():
            with suppress(InfrastructureError):
                await asyncio.to_thread(self._seats.leave, self._seat, problem)

    def _work(self) -> None:
        """Exchange messages until the end. Runs on the thread."""
        received: dict[str, int] = {}
        posted: list[tuple[SeatMessage, asyncio.Future[None]]] = []
        with suppress(InfrastructureError):
            while True:
                with self._lock:
                    posted, self._outbox = self._outbox, []
                known = received.get(self._seat.id, 0)
                found = self._seats.visit(self._seat, self._lease_s, [message for message, _ in posted], known)
                bodies = None if found is None else _new(found, received).get(self._seat.id, ())
                if bodies is None:
                    break
                self._tell(self._arrived, bodies, [delivered for _, delivered in posted])
                if self._over and not self._outbox:
                    return
                if not self._outbox:
                    self._bell.wait(self._poll_s)
        self._tell(self._end, posted)

    def _tell(self, call: Callable[..., None], *given: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *given)

    def _arrived(self, bodies: Sequence[bytes], delivered: Sequence[asyncio.Future[None]]) -> None:
        for body in bodies:
            self._inbox.put_nowait(body)
        for future in delivered:
            if not future.done():
                future.set_result(None)

    def _end(self, posted: Sequence[tuple[SeatMessage, asyncio.Future[None]]]) -> None:
        """The seat is lost, and what was posted last."""
        self._lost.set()
        self._inbox.put_nowait(None)
        with self._lock:
            waiting, self._outbox = self._outbox, []
        for _, future in (*posted, *waiting):
            if not future.done():
                future.set_exception(LinkLost("the seat is lost"))
