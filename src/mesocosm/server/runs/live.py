"""Changes in the store, sent to all listeners by one poller.

Runs may be processed by any process, so the store itself is polled. The poller starts with the first listener and
stops with the last one.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass

from mesocosm.core.failure import MesocosmError
from mesocosm.server.permissions.visible_runs import all_runs
from mesocosm.server.runs.watch import Change, Watch
from mesocosm.server.schemas.run import RunChange, RunSummary
from mesocosm.server.service import Service

EVERY_S = 0.5
"""Seconds between polls of the store."""
HEARTBEAT_S = 15.0
"""Seconds without changes after which a listener gets a heartbeat."""
MOST_BEHIND = 2_000
"""Maximum number of runs pending for a listener; a slower one is disconnected and has to read the lists again."""

_log = logging.getLogger(__name__)


class Listener:
    """Changes not yet delivered to one client: only the newest state of each run, which bounds the memory."""

    def __init__(self, run_id: str | None) -> None:
        self.run_id = run_id
        self.over = False
        self._runs: dict[str, RunSummary] = {}
        self._deleted: dict[str, None] = {}
        self._news = asyncio.Event()

    def tell(self, change: Change) -> None:
        """Add a change; it replaces the pending state of the same runs."""
        for run in change.runs:
            if self.run_id in {None, run.id}:
                self._runs[run.id] = run
                self._deleted.pop(run.id, None)
        for run_id in change.deleted:
            if self.run_id in {None, run_id}:
                self._runs.pop(run_id, None)
                self._deleted[run_id] = None
        if len(self._runs) + len(self._deleted) > MOST_BEHIND:
            self.over = True
        if self._runs or self._deleted or self.over:
            self._news.set()

    def end(self) -> None:
        """End this listener once it has received its pending changes."""
        self.over = True
        self._news.set()

    async def next(self, seconds: float) -> RunChange | None:
        """Return the next change; None if there was none for `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        if not (self._runs or self._deleted):
            return None
        change = RunChange(runs=list(self._runs.values()), deleted=list(self._deleted))
        self._runs, self._deleted = {}, {}
        self._news.clear()
        return change


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between polls of the store, and between heartbeats of a silent stream."""

    look: float = EVERY_S
    heartbeat: float = HEARTBEAT_S


class Live:
    """The changes of a server's store. Belongs to one event loop."""

    def __init__(self, service: Callable[[], Service], pace: Pace | None = None) -> None:
        self._service = service
        self._watched_service: Service | None = None
        self._pace = pace or Pace()
        self._listeners: set[Listener] = set()
        self._watch: Watch | None = None
        self._poller: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def listeners(self) -> int:
        """Number of listeners."""
        return len(self._listeners)

    async def changes(self, run_id: str | None = None) -> AsyncGenerator[RunChange | None]:
        """Yield changes of one run or of all, and None as a heartbeat.

        The first change is the current state of that run, or of all runs that changed in the last seconds, so that a
        client that reads a list and then listens misses nothing. Ends when the server does. Raises UnknownName.
        """
        if self._closed:
            return
        listener = Listener(run_id)
        self._listeners.add(listener)
        try:
            listener.tell(await asyncio.to_thread(_beginning, self._watched(), run_id))
            if self._poller is None:
                self._poller = asyncio.create_task(self._poll(), name="watching the store")
            while not listener.over:
                yield await listener.next(self._pace.heartbeat)
        finally:
            self._listeners.discard(listener)
            if not self._listeners:
                self._stop()

    def close(self) -> None:
        """End all streams; later ones end at once."""
        self._closed = True
        for listener in self._listeners:
            listener.end()

    def _watched(self) -> Watch:
        """Return the watch over the store, replaced if the service has changed."""
        service = self._service()
        if self._watch is None or self._watched_service is not service:
            self._leave()
            self._watch, self._watched_service = Watch(all_runs(service)), service
        return self._watch

    def _stop(self) -> None:
        if self._poller is not None:
            self._poller.cancel()
            self._poller = None
        self._leave()

    def _leave(self) -> None:
        if self._watch is not None:
            # close() may wait for a poll in progress, and must not block this loop.
            asyncio.get_running_loop().run_in_executor(None, self._watch.close)
            self._watch = None

    async def _poll(self) -> None:
        while True:
            await self._look(self._watched())
            await asyncio.sleep(self._pace.look)

    async def _look(self, watch: Watch) -> None:
        try:
            change = await asyncio.to_thread(watch.look)
        except MesocosmError as error:
            _log.warning("the store cannot be watched at the moment: %s", error)
            return
        if change.runs or change.deleted:
            for listener in self._listeners:
                listener.tell(change)


def _beginning(watch: Watch, run_id: str | None) -> Change:
    return watch.recent() if run_id is None else watch.present(run_id)


def encoded(change: RunChange | None) -> bytes:
    """Return an event of a stream, or a comment as a heartbeat."""
    if change is None:
        return b": nothing new\n\n"
    return b"event: runs\ndata: " + change.model_dump_json().encode() + b"\n\n"
