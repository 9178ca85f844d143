"""Benchmarks of stored runs: their contents, the index rows of their runs, and measured scores."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec
from sqlalchemy import Connection, Select, func, select

from mesocosm.core.run import Run, Selection
from mesocosm.core.score import MetricResult
from mesocosm.store.database import Database
from mesocosm.store.filters import VisibleTo
from mesocosm.store.rows import SUMMARY, record_of, run_from
from mesocosm.store.schema import benchmarks, run_index, runs
from mesocosm.store.tenancy import requests

_FEW = 5
"""Up to this many benchmarks, select their index rows by name; above, read the whole index in one pass."""

_metrics = msgspec.json.Decoder(tuple[MetricResult, ...])

LATEST = 2_000
"""Changes kept in `BenchmarkCounts.latest`: a row is noticed however late it is committed, unless as many follow."""


@dataclass(frozen=True, slots=True)
class BenchmarkContent:
    """One version of a benchmark's content, identified by its digest. Times are UNIX seconds."""

    id: str
    digest: str
    version: str
    title: str
    kind: str
    first_run_at: float


class IndexedRun(NamedTuple):
    """A run as listed in leaderboards, with long names shortened; `score` is its primary metric or None."""

    run_id: str
    digest: str
    model: str
    agent: str
    status: str
    created_at: float
    score: float | None


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """The measurements of a run: `planned` episodes of at most `count` tasks (None: all), each run `trials` times."""

    run_id: str
    model: str
    agent: str
    created_at: float
    digest: str
    planned: int
    metric: MetricResult | None
    count: int | None
    trials: int

    @property
    def tasks(self) -> int:
        """The number of tasks, not counting those without a score by design."""
        planned = self.planned if self.metric is None else self.metric.n_planned
        return planned // max(self.trials, 1)


class _Spec(msgspec.Struct, frozen=True):
    """The part of a run's specification that says how much of a benchmark was selected."""

    selection: Selection = Selection()


_specs = msgspec.json.Decoder(_Spec)

# Faster than _make, which checks lengths in Python: that adds up over 100,000 rows.
_line = cast("Callable[[Iterable[Any]], IndexedRun]", partial(tuple.__new__, IndexedRun))


class ChangedRun(NamedTuple):
    """A run of a benchmark (by its name in listings) and when it was last written, in UNIX seconds."""

    benchmark: str
    run_id: str
    changed_at: float


@dataclass(frozen=True, slots=True)
class BenchmarkCounts:
    """The number of runs of each benchmark (by its name in listings) and the latest `LATEST` changes of index rows."""

    runs: dict[str, int]
    latest: frozenset[ChangedRun]

    def changed(self, before: "BenchmarkCounts") -> set[str] | None:
        """Return the benchmarks whose index rows may have changed since `before`. None: any may have."""
        if len(self.latest) >= LATEST and not self.latest & before.latest:
            return None
        counted = {name for name, _ in self.runs.items() ^ before.runs.items()}
        return counted | {change.benchmark for change in self.latest - before.latest}


class BenchmarkRow(msgspec.Struct, frozen=True):
    """A benchmark that was run: one row per content digest, with the number of stored runs."""

    id: str
    digest: str
    version: str
    title: str
    kind: str
    first_run_at: float
    runs: int


def _seen(wanted: Select[Any], visible_to: VisibleTo | None) -> Select[Any]:
    """Return a selection from the index, narrowed to visible runs."""
    if visible_to is None:
        return wanted
    # All rows are counted, so select the visible runs at once.
    return wanted.where(run_index.c.run_id.in_(select(requests.c.run_id).where(visible_to.sees())))


class Benchmarks:
    """Benchmarks that have stored runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def contents(self, visible_to: VisibleTo | None = None) -> tuple[BenchmarkContent, ...]:
        """Return all contents of all benchmarks, or of those runs that are visible, ordered by id, newest first."""
        names = ("id", "digest", "version", "title", "kind", "first_run_at")
        newest = (benchmarks.c.id, benchmarks.c.first_run_at.desc(), benchmarks.c.digest)
        wanted = select(*(benchmarks.c[name] for name in names)).order_by(*newest)
        if visible_to is not None:
            line = run_index.c
            wanted = wanted.where(benchmarks.c.digest.in_(_seen(select(line.benchmark_digest), visible_to)))
        return tuple(BenchmarkContent(**row) for row in self._database.all(wanted))

    def counts(self, visible_to: VisibleTo | None = None) -> BenchmarkCounts:
        """Return the number of (visible) runs of each benchmark and the latest changes.

        All 100,000 runs of a store take about 10 ms.
        """
        line = run_index.c
        numbers = _seen(select(line.benchmark, func.count()).group_by(line.benchmark), visible_to)
        newest = (line.changed_at.desc(), line.run_id.desc())
        latest = _seen(select(line.benchmark, line.run_id, line.changed_at), visible_to)
        latest = latest.order_by(*newest).limit(LATEST)

        def work(connection: Connection) -> BenchmarkCounts:
            counted = {str(name): int(count) for name, count in connection.execute(numbers)}
            return BenchmarkCounts(counted, frozenset(map(ChangedRun._make, connection.execute(latest))))

        return self._database.read(work)

    def lines(self, benchmarks: Collection[str], visible_to: VisibleTo | None = None) -> dict[str, list[IndexedRun]]:
        """Return the index rows of all (visible) runs of the given benchmarks (by their names in listings), unordered.

        10,000 rows take about 30 ms. For more than a few benchmarks the whole index is read: 100,000 rows take about
        250 ms.
        """
        line = run_index.c
        columns = (line.run_id, line.benchmark_digest, line.model, line.agent, line.status, line.created_at, line.score)
        wanted = _seen(select(line.benchmark, *columns), visible_to)
        if len(benchmarks) <= _FEW:
            wanted = wanted.where(line.benchmark.in_(benchmarks))

        def work(connection: Connection) -> dict[str, list[IndexedRun]]:
            found: dict[str, list[IndexedRun]] = {name: [] for name in benchmarks}
            for name, *facts in connection.execute(wanted):
                if name in found:
                    found[name].append(_line(facts))
            return found

        return self._database.read(work)

    def runs(self, ids: Iterable[str], *, whole: bool = False) -> dict[str, Run]:
        """Return runs by id, with `info` and `provenance` if `whole`. Deleted runs are left out."""
        rows = self._database.among(select(*(runs.c if whole else SUMMARY)), runs.c.id, list(ids))
        return {row["id"]: run_from(row) for row in rows}

    def measured(self, ids: Iterable[str], visible_to: VisibleTo | None = None) -> dict[str, MeasuredRun]:
        """Return the measurements of (visible) runs by id; deleted runs are left out. 1,000 take about 15 ms."""
        columns = ("id", "model", "agent", "created_at", "benchmark_digest", "planned", "metrics", "spec")
        found: dict[str, MeasuredRun] = {}
        wanted = select(*(runs.c[name] for name in columns))
        if visible_to is not None:
            wanted = wanted.where(visible_to.runs(runs.c.id))
        for row in self._database.among(wanted, runs.c.id, list(ids)):
            primary = next((metric for metric in _metrics.decode(row["metrics"]) if metric.primary), None)
            chosen, names = _specs.decode(row["spec"]).selection, columns[:-2]
            facts: tuple[Any, ...] = (*(row[name] for name in names), primary, chosen.count, chosen.trials)
            found[row["id"]] = MeasuredRun(*facts)
        return found

    def list(self) -> tuple[BenchmarkRow, ...]:
        """Return the benchmarks that have stored runs, ordered by id.

        Of each, the version first run most recently comes first.
        """
        same = (runs.c.benchmark == benchmarks.c.id) & (runs.c.benchmark_digest == benchmarks.c.digest)
        number = select(func.count()).where(same).scalar_subquery().label("runs")
        wanted = select(*benchmarks.c, number).order_by(benchmarks.c.id, benchmarks.c.first_run_at.desc())
        return tuple(record_of(BenchmarkRow, row) for row in self._database.all(wanted))
