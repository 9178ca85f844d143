"""The server of `mesocosm view`: results may appear later, and it can end after a time without visitors."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from mesocosm.cli.command import CommonOptions
from mesocosm.cli.render import GOING, abandoned
from mesocosm.cli.results import open_results
from mesocosm.cli.viewer_link import place_name
from mesocosm.core.failure import InfrastructureError, MesocosmError, UnknownName
from mesocosm.server.permissions.run_processes import Workplace, workplace
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.runs.live import Live
from mesocosm.server.service import local_service
from mesocosm.server.serving import Server, new_server
from mesocosm.store import Store, open_store
from mesocosm.store.revision import DATABASE_NAME

SECOND = 10
"""Ticks of the server's loop per second."""


class ViewedStore:
    """The store that a viewer shows; an empty one until the results appear."""

    def __init__(self, chosen: CommonOptions) -> None:
        self._chosen = chosen
        self._stand_in: tempfile.TemporaryDirectory[str] | None = None
        self._former: Store | None = None
        try:
            self.store = open_results(chosen, create=False)
        except UnknownName:
            self._stand_in = tempfile.TemporaryDirectory(prefix="mesocosm-")
            self.store = open_store(self._stand_in.name)

    @property
    def missing(self) -> bool:
        """Whether there are no results yet."""
        return self._stand_in is not None and self._former is None

    @property
    def name(self) -> str:
        """The name of the store that is shown or expected."""
        return str((self._chosen.results() / DATABASE_NAME).resolve()) if self.missing else place_name(self.store)

    @property
    def gone(self) -> bool:
        """Whether the results file existed and was removed."""
        place = self.store.place
        return not self.missing and "://" not in place and not Path(place).exists()

    @property
    def workplace(self) -> Workplace:
        """The location by which another process opens the store."""
        return workplace(self.store.place, self._chosen.database())

    def appeared(self) -> bool:
        """Open the results if they exist now; return whether they do."""
        try:
            found = open_results(self._chosen, create=False)
        except MesocosmError:
            return False  # not there yet, or being created at this moment
        # The placeholder store stays open until the end: current requests still read it.
        self._former, self.store = self.store, found
        return True

    def busy(self) -> bool:
        """Return whether a run is active."""
        try:
            going = [run for status in GOING for run in self.store.runs.list(status=status).items]
        except InfrastructureError:
            return True
        return any(not abandoned(run) for run in going)

    def close(self) -> None:
        """Close the store and its placeholder."""
        for store in (self.store, self._former):
            if store is not None:
                store.close()
        if self._stand_in is not None:
            self._stand_in.cleanup()
            self._stand_in = None


class IdleWatch:
    """Middleware that records when the server was last used; an open stream counts as use."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._open = 0
        self._last = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request."""
        counted = scope["type"] == "http"
        self._open += counted
        try:
            await self.app(scope, receive, send)
        finally:
            self._open -= counted
            if counted:
                self._last = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since the last use; 0 during use."""
        return 0.0 if self._open else time.monotonic() - self._last

    def refresh(self) -> None:
        """Count this moment as use."""
        self._last = time.monotonic()


class ViewerServer(Server):
    """A server of results that may appear later. It ends by itself when idle, if requested."""

    SIGNALS = (*Server.SIGNALS, "SIGHUP")

    def __init__(
        self,
        results: ViewedStore,
        host: str,
        idle_minutes: float | None,
        ready: Callable[[], None],
        appeared: Callable[[], None],
        benchmark_index: BenchmarkIndex,
    ) -> None:
        benchmark_index.known()  # reports a missing folder immediately
        made = new_server(results.store, host=host, benchmark_index=benchmark_index)
        assert isinstance(made.config.app, FastAPI)
        super().__init__(made.config.app, made.config, ready)
        self._results = results
        self._host = host
        self._appeared = appeared
        self._idle_s = None if idle_minutes is None else idle_minutes * 60
        self._use = IdleWatch(self._app)
        self.config.app = self._use
        self._app.state.live = Live(lambda: self._app.state.service)
        self._app.state.workplace = results.workplace

    async def on_tick(self, counter: int) -> bool:
        """Check once a second for new results, and for a reason to end; return whether to end."""
        if counter % SECOND == 0 and self._results.missing and await asyncio.to_thread(self._results.appeared):
            self._app.state.service = local_service(self._results.store, self._host)
            self._app.state.workplace = self._results.workplace
            self._appeared()
        if self._idle_s is not None and counter % SECOND == 0 and await self._is_over(self._idle_s):
            return True
        return await super().on_tick(counter)

    async def _is_over(self, idle_s: float) -> bool:
        """Return whether the server is idle and no run is active, or the results are gone."""
        if self._results.gone:
            return True
        if self._use.idle <= idle_s:
            return False
        if await asyncio.to_thread(self._results.busy):
            self._use.refresh()
            return False
        return True
