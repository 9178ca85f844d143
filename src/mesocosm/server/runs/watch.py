"""What has changed in a store since the last look, whichever process changed it."""

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from mesocosm.core.failure import UnknownName
from mesocosm.core.run import Run
from mesocosm.server.permissions.visible_runs import VisibleRun, VisibleRuns
from mesocosm.server.runs.documents import state_of
from mesocosm.server.runs.run_list import summaries
from mesocosm.server.runs.running_metrics import GOING, RunningMetrics
from mesocosm.server.schemas.run import RunSummary
from mesocosm.store.changes import ChangeWatch as Poller
from mesocosm.store.filters import RunFilter

RECENT_S = 30.0
"""Seconds that a new listener is told of: longer than a page takes from its list to its stream."""
REMEMBERED = 5_000
"""Runs whose last told state is kept, so that nothing is told twice."""
MOST = 200
"""Runs that a new listener is told of at once."""


@dataclass(frozen=True, slots=True)
class Change:
    """The runs that changed, whole, and the ids of those that are gone."""

    runs: Sequence[RunSummary] = ()
    deleted: Sequence[str] = ()


class Watch:
    """Looks at a store again and again. Its methods block, and nothing is read before the first of them."""

    def __init__(self, runs: VisibleRuns) -> None:
        self._runs = runs
        self._scores = RunningMetrics(runs)
        self._states: dict[str, object] = {}
        self._told: dict[str, object] = {}
        self._gone: dict[str, None] = {}
        self._going: dict[str, VisibleRun] = {}
        self._changes: Poller | None = None
        self._closed = False
        self._lock = threading.Lock()

    def look(self) -> Change:
        """Return what has changed since the last look. Raises InfrastructureError."""
        with self._lock:
            return Change() if self._closed else self._look(self._changes or self._begin())

    def _begin(self) -> Poller:
        self._changes = self._runs.watch()
        for status in GOING:
            self._going.update((run.id, run) for run in self._runs.page(RunFilter((status,)), limit=MOST).items)
        return self._changes

    def _look(self, poller: Poller) -> Change:
        changes = poller.changes()
        found = {} if changes is None else self._read(changes.changed, changes.active)
        # A process may die, and a score be computed, without anybody writing.
        for run_id, run in self._going.items():
            found.setdefault(run_id, run)
        news = [run for run in found.values() if self._is_news(self._scored(run.record))]
        gone = [] if changes is None else self._newly_gone(changes.deleted)
        return Change(self._rows(news), gone)

    def recent(self) -> Change:
        """Return what changed in the last seconds, for somebody who begins to listen."""
        changes = self._runs.changes(time.time() - RECENT_S)
        runs = [run for run in map(self._run, changes.changed[:MOST]) if run is not None]
        return Change(self._rows(runs), changes.deleted)

    def present(self, run_id: str) -> Change:
        """Return one run as it is. Raises UnknownName."""
        return Change(self._rows([self._runs.get(run_id)]))

    def close(self) -> None:
        """Give up what is computed in the background, and the connection; waits for a look that is under way."""
        self._scores.close()
        with self._lock:
            self._closed = True
            if self._changes is not None:
                self._changes.close()

    def _read(self, changed: Iterable[str], active: tuple[str, ...]) -> dict[str, VisibleRun]:
        """Return the runs that were marked as changed, and of those that go on the ones that moved."""
        moved = []
        for state in self._runs.states(active):
            if self._states.get(state.id) != state:
                self._states[state.id] = state
                moved.append(state.id)
        self._states = {run_id: self._states[run_id] for run_id in active if run_id in self._states}
        found = {}
        for run_id in dict.fromkeys([*moved, *(name for name in changed if name not in self._states)]):
            run = self._run(run_id)
            if run is not None:
                found[run_id] = run
            if run is not None and run.record.status in GOING:
                self._going[run_id] = run
            elif self._going.pop(run_id, None) is not None:
                self._scores.forget(run_id)
        return found

    def _rows(self, runs: Sequence[VisibleRun]) -> list[RunSummary]:
        for run in runs:
            self._scored(run.record)
        return summaries(self._runs, runs)

    def _run(self, run_id: str) -> VisibleRun | None:
        try:
            return self._runs.get(run_id)
        except UnknownName:
            return None

    def _scored(self, run: Run) -> Run:
        """Return a run with its metrics so far while it goes on."""
        if run.status not in GOING:
            return run
        return msgspec.structs.replace(run, metrics=self._scores.of(run))

    def _is_news(self, run: Run) -> bool:
        """Return whether anything that is shown of a run differs from what was told last."""
        seen = (
            *(state_of(run), run.stop_requested, run.counts, run.metrics, run.usage, run.tags, run.error),
            *(run.started_at, run.ended_at),
        )
        before = self._told.pop(run.id, None)
        self._told[run.id] = seen
        if len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]
        return before != seen

    def _newly_gone(self, deleted: Iterable[str]) -> list[str]:
        found = [run_id for run_id in deleted if run_id not in self._gone]
        for run_id in found:
            self._told.pop(run_id, None)
            self._going.pop(run_id, None)
        self._gone = dict.fromkeys(deleted)
        return found
