"""Help for runs that other processes work on: by an idle worker, or by a process that was started for one run."""

import asyncio
import logging
import signal

from mesocosm.core.failure import UnknownName
from mesocosm.core.ids import new_id
from mesocosm.core.ports import Seat
from mesocosm.core.run import RunStatus
from mesocosm.engine.executors.queue import help_run
from mesocosm.server import adapters
from mesocosm.server.service import Service
from mesocosm.store.lease_owner import this_process

POLL_S = 2.0
"""Seconds between two looks for a seat when no bell rings."""

GRACE_S = 5.0
"""Seconds that running episodes have to end when the process does."""

_GOING = frozenset({RunStatus.PENDING, RunStatus.RUNNING})

_log = logging.getLogger(__name__)


class Helper:
    """Helps one run at a time, as the worker called `name`.

    Belongs to one event loop; what it opens is what `adapters.bind` was given.
    """

    def __init__(self, service: Service, name: str) -> None:
        self._service = service
        self._seats = service.store.seats
        self._lease_s = service.settings.lease_s
        self._name = name
        self._unfit: set[str] = set()
        self._leaving = asyncio.Event()
        self.busy = False

    async def take(self, run_id: str = "") -> Seat | None:
        """Return a seat in a run of the server, or in any run with this id; None if there is none.

        A run that this process could not open is not helped again.
        """
        take, hosted = self._seats.take, not run_id
        return await asyncio.to_thread(
            lambda: take(self._name, self._lease_s, run_id=run_id, without=tuple(self._unfit), hosted=hosted)
        )

    async def play(self, seat: Seat) -> str:
        """Play episodes in a seat until it is lost or left; return why this process could not, or an empty string."""
        self._leaving = asyncio.Event()
        self.busy = True
        try:
            await asyncio.to_thread(self._service.assign_model_keys)
            problem = await help_run(self._seats, seat, leaving=self._leaving, lease_s=self._lease_s)
        finally:
            self.busy = False
        if problem:
            self._unfit.add(seat.run_id)
            _log.warning("this process cannot help run %s: %s", seat.run_id, problem)
        return problem

    def leave(self) -> None:
        """Start no further episode, and give the seat back when the running ones have ended."""
        self._leaving.set()


def help_one(service: Service, run_id: str, *, once: bool = False) -> int:
    """Help a run until SIGTERM or SIGINT, with `once` until it has ended; return 1 if this process cannot, else 0.

    Raises UnknownName if there is no such run, UsageError if the database has no seats.
    """
    service.store.seats.check()
    run = service.store.runs.get(run_id)

    async def work() -> int:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        pool = adapters.AdapterPool(service)
        adapters.bind(service, pool)
        try:
            return await _help(service, run.id, once=once, stop=stop)
        finally:
            await pool.close()

    return asyncio.run(work())


async def _help(service: Service, run_id: str, *, once: bool, stop: asyncio.Event) -> int:
    # Traces of runs on a server name their workers, and may be public.
    hosted = service.store.run_requests.get(run_id) is not None
    helper = Helper(service, f"helper {new_id()}" if hosted else str(this_process()))
    bell = service.store.seats.bell()
    _log.info("this process helps run %s", run_id)
    try:
        while not stop.is_set():
            if (seat := await helper.take(run_id)) is not None:
                playing = asyncio.create_task(helper.play(seat))
                stopping = asyncio.create_task(stop.wait())
                await asyncio.wait({playing, stopping}, return_when=asyncio.FIRST_COMPLETED)
                stopping.cancel()
                if stop.is_set():
                    helper.leave()
                    await asyncio.wait({playing}, timeout=GRACE_S)
                    playing.cancel()
                    await asyncio.gather(playing, return_exceptions=True)
                elif await playing:
                    return 1
            elif once and not await asyncio.to_thread(_going, service, run_id):
                break
            else:
                stopping = asyncio.create_task(stop.wait())
                await bell.first(POLL_S, stopping)
                stopping.cancel()
    finally:
        bell.close()
    return 0


def _going(service: Service, run_id: str) -> bool:
    """Return whether somebody works on a run, or will."""
    try:
        run = service.store.runs.get(run_id)
    except UnknownName:
        return False
    request = service.store.run_requests.get(run_id)
    return run.status in _GOING or (request is not None and request.open)
