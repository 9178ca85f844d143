"""Benchmarks and leaderboards over the runs that a caller may read: all of them for administrators and on a laptop."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

from mesocosm.core.group import Outcome, RunGroup
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import Run
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.principal import SERVER
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.visible_runs import VisibleRuns
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service, local_service
from mesocosm.store import Store
from mesocosm.store.benchmarks import BenchmarkContent, BenchmarkCounts, IndexedRun, MeasuredRun
from mesocosm.store.filters import VisibleTo

Value = TypeVar("Value")


class BenchmarkRecords(GrantedObject):
    """Benchmarks, leaderboards and comparisons over the runs that the caller may read. Raises Refusal 403 for guests.

    What is not known to be about such runs alone raises Refusal 403 unless the caller sees all runs.
    """

    def __init__(self, service: Service, viewer: Viewer) -> None:
        if not (viewer.sees_all or viewer.caller.member):
            raise Refusal(403, "the benchmarks are for members; sign in, or look at the leaderboards")
        super().__init__(service, viewer)
        self._runs = VisibleRuns(service, viewer)

    @property
    def place(self) -> str:
        """Location of the store. Raises Refusal 403 unless all runs are visible."""
        self._check_all()
        return self._store.place

    def contents(self) -> tuple[BenchmarkContent, ...]:
        """Return the contents of all benchmarks with such runs, newest first."""
        return self._store.benchmarks.contents(self._visible)

    def counts(self) -> BenchmarkCounts:
        """Return the counts of runs and the times of their latest changes."""
        return self._store.benchmarks.counts(self._visible)

    def lines(self, benchmarks: Collection[str]) -> dict[str, list[IndexedRun]]:
        """Return the indexed runs of some benchmarks, by benchmark id."""
        return self._store.benchmarks.lines(benchmarks, self._visible)

    def runs(self, run_ids: Iterable[str], *, whole: bool = False) -> dict[str, Run]:
        """Return runs by id, as the caller may see them; with `whole` they include `info` and `provenance`."""
        found = self._store.benchmarks.runs(run_ids, whole=whole)
        return found if self._viewer.sees_all else self._runs.shown(found)

    def measured(self, run_ids: Iterable[str]) -> dict[str, MeasuredRun]:
        """Return the measured scores of runs by id."""
        return self._store.benchmarks.measured(run_ids, self._visible)

    def run(self, run_id: str) -> Run:
        """Return a run. Raises UnknownName."""
        return self._store.runs.get(run_id) if self._viewer.sees_all else self._runs.get(run_id).record

    def score_rows(self, run_id: str, name: str = "") -> Iterator[ScoreRow]:
        """Yield the scores of the finished episodes of a run, or only those named `name`. Raises UnknownName."""
        if not self._viewer.sees_all:
            return self._runs.get(run_id).score_rows(name)
        return self._store.episodes.score_rows(run_id, name)

    def outcomes_of_comparison(self, comparison_id: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a stored comparison; empty if it is unknown. Raises Refusal 403."""
        self._check_all()
        return tuple(self._store.groups.outcomes_of_comparison(comparison_id))

    def group(self, group_id: str) -> RunGroup:
        """Return a group of runs. Raises UnknownName, Refusal 403."""
        self._check_all()
        return self._store.groups.get(group_id)

    def viewer_data(self) -> dict[str, Any]:
        """Return the content of the former tool's viewer_data.json for the current runs. Raises Refusal 403."""
        self._check_all()
        from mesocosm.compat.viewer_data import viewer_data

        return viewer_data(self._store)

    def kept(self, name: str, make: Callable[[], Value]) -> Value:
        """Return the cached value of `name` for callers who may read the same runs; call `make` if it is missing."""
        found: Value = self._service.kept.get((name, self._runs.view), make)
        return found

    @property
    def _visible(self) -> VisibleTo | None:
        return None if self._viewer.sees_all else self._runs.visible_to

    def _check_all(self) -> None:
        if not self._viewer.sees_all:
            raise Refusal(403, "only administrators see what is about all runs; look at runs of your own instead")


def server_records(service: Service) -> BenchmarkRecords:
    """Return the benchmark records of a server with full access."""
    return BenchmarkRecords(service, service.viewer(SERVER))


def local_records(store: Store) -> BenchmarkRecords:
    """Return the benchmark records of a store with full access."""
    return server_records(local_service(store))
