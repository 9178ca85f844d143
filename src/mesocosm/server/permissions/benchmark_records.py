"""Benchmarks and leaderboards over all runs, for callers who see all runs."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

from mesocosm.core.group import Outcome, RunGroup
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import Run
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.principal import SERVER
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service, local_service
from mesocosm.store import Store
from mesocosm.store.benchmarks import BenchmarkContent, BenchmarkCounts, IndexedRun, MeasuredRun

Value = TypeVar("Value")


class BenchmarkRecords(GrantedObject):
    """Benchmarks, leaderboards and comparisons over all runs. Raises Refusal 403 unless the caller sees all runs."""

    def __init__(self, service: Service, viewer: Viewer) -> None:
        if not viewer.sees_all:
            raise Refusal(403, "only administrators see the benchmarks of all runs; look at runs of your own instead")
        super().__init__(service, viewer)

    @property
    def place(self) -> str:
        """Location of the store."""
        return self._store.place

    def contents(self) -> tuple[BenchmarkContent, ...]:
        """Return the contents of all benchmarks, newest first."""
        return self._store.benchmarks.contents()

    def counts(self) -> BenchmarkCounts:
        """Return the counts of runs and the times of their latest changes."""
        return self._store.benchmarks.counts()

    def lines(self, benchmarks: Collection[str]) -> dict[str, list[IndexedRun]]:
        """Return the indexed runs of some benchmarks, by benchmark id."""
        return self._store.benchmarks.lines(benchmarks)

    def runs(self, run_ids: Iterable[str], *, whole: bool = False) -> dict[str, Run]:
        """Return runs by id; with `whole` they include `info` and `provenance`."""
        return self._store.benchmarks.runs(run_ids, whole=whole)

    def measured(self, run_ids: Iterable[str]) -> dict[str, MeasuredRun]:
        """Return the measured scores of runs by id."""
        return self._store.benchmarks.measured(run_ids)

    def run(self, run_id: str) -> Run:
        """Return a run. Raises UnknownName."""
        return self._store.runs.get(run_id)

    def score_rows(self, run_id: str, name: str = "") -> Iterator[ScoreRow]:
        """Yield the scores of the finished episodes of a run, or only those named `name`."""
        return self._store.episodes.score_rows(run_id, name)

    def outcomes_of_comparison(self, comparison_id: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a stored comparison; empty if it is unknown."""
        return tuple(self._store.groups.outcomes_of_comparison(comparison_id))

    def group(self, group_id: str) -> RunGroup:
        """Return a group of runs. Raises UnknownName."""
        return self._store.groups.get(group_id)

    def viewer_data(self) -> dict[str, Any]:
        """Return the content of the former tool's viewer_data.json for the current runs."""
        from mesocosm.compat.viewer_data import viewer_data

        return viewer_data(self._store)

    def kept(self, name: str, make: Callable[[], Value]) -> Value:
        """Return the cached value of `name`; call `make` if it is missing."""
        found: Value = self._service.kept.get(name, make)
        return found


def local_records(store: Store) -> BenchmarkRecords:
    """Return the benchmark records of a store with full access."""
    service = local_service(store)
    return BenchmarkRecords(service, service.viewer(SERVER))
