"""Changes in a store since the last poll, made by any process."""

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
"""Seconds of changes sent to a new listener; longer than a page takes from its list to its stream."""
REMEMBERED = 5_000
"""Number of runs with a remembered last reported state, so that no state is reported twice."""
MOST = 200
"""Maximum number of runs sent to a new listener."""


@dataclass(frozen=True, slots=True)
class Change:
    """Changed runs, in full, and the ids of deleted ones."""

    runs: Sequence[RunSummary] = ()
    deleted: Sequence[str] = ()


class Watch:
    """Polls a store. Its methods block; nothing is read before the first call."""

    def __init__(self, runs: VisibleRuns) -> None:
        self._runs = runs
        self._scores = RunningMetrics(runs)
        self._states: dict[str, object] = {}
        self._sent: dict[str, object] = {}
        self._gone: dict[str, None] = {}
        self._going: dict[str, VisibleRun] = {}
        self._changes: Poller | None = None
        self._closed = False
        self._lock = threading.Lock()

    def look(self) -> Change:
        """Return the changes since the last poll. Raises InfrastructureError."""
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
        # A process may die, and a score be computed, without a write to the store.
        for run_id, run in self._going.items():
            found.setdefault(run_id, run)
        news = [run for run in found.values() if self._is_news(self._scored(run.record))]
        gone = [] if changes is None else self._newly_gone(changes.deleted)
        return Change(self._rows(news), gone)

    def recent(self) -> Change:
        """Return the changes of the last `RECENT_S` seconds, for a new listener."""
        changes = self._runs.changes(time.time() - RECENT_S)
        runs = [run for run in map(self._run, changes.changed[:MOST]) if run is not None]
        return Change(self._rows(runs), changes.deleted)

    def present(self, run_id: str) -> Change:
        """Return the current state of one run. Raises UnknownName."""
        return Change(self._rows([self._runs.get(run_id)]))

    def close(self) -> None:
        """Stop background work and close the connection; waits for a poll in progress."""
        self._scores.close()
        with self._lock:
            self._closed = True
            if self._changes is not None:
                self._changes.close()

    def _read(self, changed: Iterable[str], active: tuple[str, ...]) -> dict[str, VisibleRun]:
        """Return the runs marked as changed, and those of the active ones whose state changed."""
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
        """Return a run, with its metrics so far while it is in progress."""
        if run.status not in GOING:
            return run
        return msgspec.structs.replace(run, metrics=self._scores.of(run))

    def _is_news(self, run: Run) -> bool:
        """Return whether the shown fields of a run differ from the last reported ones; remember them."""
        seen = (
            *(state_of(run), run.stop_requested, run.counts, run.metrics, run.usage, run.tags, run.error),
            *(run.started_at, run.ended_at),
        )
        before = self._sent.pop(run.id, None)
        self._sent[run.id] = seen
        if len(self._sent) > REMEMBERED:
            del self._sent[next(iter(self._sent))]
        return before != seen

    def _newly_gone(self, deleted: Iterable[str]) -> list[str]:
        found = [run_id for run_id in deleted if run_id not in self._gone]
        for run_id in found:
            self._sent.pop(run_id, None)
            self._going.pop(run_id, None)
        self._gone = dict.fromkeys(deleted)
        return found
