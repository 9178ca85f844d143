"""Where runs stand: what was played of some tasks, and the lines of a benchmark's runs."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec
from sqlalchemy import Connection, func, select

from mesocosm.core.episode import FINISHED
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import Run, Selection
from mesocosm.core.score import MetricResult
from mesocosm.store.database import Database
from mesocosm.store.rows import SUMMARY, record_of, run_from
from mesocosm.store.schema import benchmarks, run_index, runs

_FINISHED = sorted(status.value for status in FINISHED)
_BATCH = 500
_FEW = 5
"""Benchmarks up to which their lines are looked up one by one."""

_metrics = msgspec.json.Decoder(tuple[MetricResult, ...])

LATEST = 2_000
"""Changes that a census remembers: a line is noticed however late it was written, unless so many came after it."""


@dataclass(frozen=True, slots=True)
class BenchmarkContent:
    """One content of a benchmark, by its digest. Times are UNIX seconds."""

    id: str
    digest: str
    version: str
    title: str
    kind: str
    first_run_at: float


class IndexedRun(NamedTuple):
    """A run as leaderboards and listings need it, with long names shortened; `score` is its primary metric or None."""

    run_id: str
    digest: str
    model: str
    agent: str
    status: str
    created_at: float
    score: float | None


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run of a history: `planned` episodes, `count` tasks at most (None: all), each played `trials` times."""

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
        """The number of tasks that it is made of, without those that have no score by design."""
        planned = self.planned if self.metric is None else self.metric.n_planned
        return planned // max(self.trials, 1)


class _Spec(msgspec.Struct, frozen=True):
    """What of a run's specification says how much of a benchmark it takes."""

    selection: Selection = Selection()


_specs = msgspec.json.Decoder(_Spec)

# Their _make checks lengths in Python, which counts for a hundred thousand of them.
_score_row = cast("Callable[[Iterable[Any]], ScoreRow]", partial(tuple.__new__, ScoreRow))
_line = cast("Callable[[Iterable[Any]], IndexedRun]", partial(tuple.__new__, IndexedRun))


class ChangedRun(NamedTuple):
    """A run of a benchmark (as listings name it) and when it was written last."""

    benchmark: str
    run_id: str
    changed_at: float


@dataclass(frozen=True, slots=True)
class BenchmarkCounts:
    """How many runs each benchmark has, as listings name it, and the latest `LATEST` changes of lines."""

    runs: dict[str, int]
    latest: frozenset[ChangedRun]

    def changed(self, before: "BenchmarkCounts") -> set[str] | None:
        """Return the benchmarks whose lines may differ from those at an earlier census; None: any may."""
        if len(self.latest) >= LATEST and not self.latest & before.latest:
            return None
        counted = {name for name, _ in self.runs.items() ^ before.runs.items()}
        return counted | {change.benchmark for change in self.latest - before.latest}


class BenchmarkRow(msgspec.Struct, frozen=True):
    """A benchmark that was run: one row for each digest of its content, with the number of stored runs."""

    id: str
    digest: str
    version: str
    title: str
    kind: str
    first_run_at: float
    runs: int


class Benchmarks:
    """Benchmarks that runs were made of."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def contents(self) -> tuple[BenchmarkContent, ...]:
        """Return all contents of all benchmarks, by id, the newest first."""
        names = ("id", "digest", "version", "title", "kind", "first_run_at")
        newest = (benchmarks.c.id, benchmarks.c.first_run_at.desc(), benchmarks.c.digest)
        wanted = select(*(benchmarks.c[name] for name in names)).order_by(*newest)
        return tuple(BenchmarkContent(**row) for row in self._database.all(wanted))

    def census(self) -> BenchmarkCounts:
        """Return the numbers of runs and the latest changes; 100,000 runs take some 10 ms."""
        line = run_index.c
        numbers = select(line.benchmark, func.count()).group_by(line.benchmark)
        newest = (line.changed_at.desc(), line.run_id.desc())
        latest = select(line.benchmark, line.run_id, line.changed_at).order_by(*newest).limit(LATEST)

        def work(connection: Connection) -> BenchmarkCounts:
            counted = {str(name): int(count) for name, count in connection.execute(numbers)}
            return BenchmarkCounts(counted, frozenset(map(ChangedRun._make, connection.execute(latest))))

        return self._database.read(work)

    def lines(self, benchmarks: Collection[str]) -> dict[str, list[IndexedRun]]:
        """Return the index rows of all runs of some benchmarks, in no order; 10,000 rows take some 30 ms."""
        line = run_index.c
        columns = (line.run_id, line.benchmark_digest, line.model, line.agent, line.status, line.created_at, line.score)
        wanted = select(line.benchmark, *columns)
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
        """Return runs by id, `whole` ones with their `info` and `provenance`; those that are gone are left out."""
        rows = self._database.among(select(*(runs.c if whole else SUMMARY)), runs.c.id, list(ids))
        return {row["id"]: run_from(row) for row in rows}

    def measured(self, ids: Iterable[str]) -> dict[str, MeasuredRun]:
        """Return the measured scores of runs by id; those that are gone are left out. 1,000 take some 15 ms."""
        columns = ("id", "model", "agent", "created_at", "benchmark_digest", "planned", "metrics", "spec")
        found: dict[str, MeasuredRun] = {}
        for row in self._database.among(select(*(runs.c[name] for name in columns)), runs.c.id, list(ids)):
            primary = next((metric for metric in _metrics.decode(row["metrics"]) if metric.primary), None)
            chosen, names = _specs.decode(row["spec"]).selection, columns[:-2]
            facts: tuple[Any, ...] = (*(row[name] for name in names), primary, chosen.count, chosen.trials)
            found[row["id"]] = MeasuredRun(*facts)
        return found

    def list(self) -> tuple[BenchmarkRow, ...]:
        """Return the benchmarks that runs were made of, by id, the version used latest first."""
        same = (runs.c.benchmark == benchmarks.c.id) & (runs.c.benchmark_digest == benchmarks.c.digest)
        number = select(func.count()).where(same).scalar_subquery().label("runs")
        wanted = select(*benchmarks.c, number).order_by(benchmarks.c.id, benchmarks.c.first_run_at.desc())
        return tuple(record_of(BenchmarkRow, row) for row in self._database.all(wanted))
