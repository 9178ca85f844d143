"""Rank the runs of a benchmark, as far as pairwise comparisons can distinguish them."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Limits, Run
from mesocosm.core.score import Metric, MetricResult
from mesocosm.engine.comparison.pair import Winner, better
from mesocosm.engine.comparison.runs import Rows, metrics_of
from mesocosm.engine.comparison.sample import Sample, Tasks, read_sample
from mesocosm.engine.rerun_decision import lacks_too_much

Reference = Literal["", "floor", "ceiling"]

_REFERENCES: dict[str, Reference] = {
    "builtin/random": "floor",
    "builtin/empty": "floor",
    "builtin/oracle": "ceiling",
}

MAX_MISSING = Limits().max_missing
"""Maximum share of missing values of a ranked run."""

_TURNED: dict[Winner, Winner] = {"a": "b", "b": "a", "tie": "tie"}

Scored = tuple[Run, MetricResult]


class Duels:
    """A thread-safe LRU cache of winners of pairwise comparisons, with at most `most` entries.

    The keys must change with the values of a run.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._won: dict[tuple[str, str], Winner] = {}
        self._lock = threading.Lock()

    def get(self, a: str, b: str) -> Winner | None:
        """Return the winner, None if it is not cached."""
        with self._lock:
            # Move the entry to the end: the first ones are evicted first.
            for pair in ((a, b), (b, a)):
                if pair in self._won:
                    found = self._won[pair] = self._won.pop(pair)
                    return found if pair == (a, b) else _TURNED[found]
        return None

    def keep(self, a: str, b: str, winner: Winner) -> None:
        """Store the winner of a comparison."""
        with self._lock:
            self._won[a, b] = winner
            if len(self._won) > self._most:
                del self._won[next(iter(self._won))]


@dataclass(frozen=True, slots=True)
class RankedRun:
    """A run on a leaderboard by its primary metric, with any rank from `rank` to `rank_last`.

    A reference (random agent, empty agent, oracle) has no rank: it illustrates the scale and does not compete.
    `unranked` says why another run has no rank. `uncompared` is the number of ranked runs that it cannot be compared
    with, because their content or scoring rules differ: any of them may be better.
    """

    run: Run
    metric: MetricResult
    rank: int | None
    rank_last: int | None
    reference: Reference
    unranked: str = ""
    uncompared: int = 0


def leaderboard(
    runs: Sequence[Run], rows: Rows, *, max_missing: float = MAX_MISSING, duels: Duels | None = None
) -> tuple[RankedRun, ...]:
    """Return scored runs, best first, including references; of equal values the newer run comes first.

    `rank` is one more than the number of runs that win a pairwise comparison (`runs`) against this one, and `rank_last`
    leaves room for all runs that do not lose one, so runs whose difference could be chance share ranks. Each comparison
    is made separately, without joint correction (Mogstad, Romano, Shaikh & Wilhelm 2024, Rev. Econ. Stud. 91:476).
    `rows` reads the scores of a run.

    Runs without a value are left out. A run with a larger share of missing values than `max_missing` gets no rank,
    whatever its own limit was. `duels` caches results, so that adding one run does not recompute the whole board.
    """
    listed = _by_value(runs)
    why = {run.id: _unranked(run, metric, max_missing) for run, metric in listed}
    contestants = [_Contestant(run, metric) for run, metric in listed if not (reference(run.model) or why[run.id])]
    winners = _Winners(rows, duels or Duels())
    ranked: dict[str, RankedRun] = {}
    for one in contestants:
        others = [winners.of(one, other) for other in contestants if other is not one]
        ranked[one.run.id] = RankedRun(
            one.run,
            one.metric,
            rank=1 + others.count("b"),
            rank_last=len(contestants) - others.count("a"),
            reference="",
            uncompared=sum(other.terms != one.terms for other in contestants),
        )
    return tuple(
        ranked.get(run.id) or RankedRun(run, metric, None, None, reference(run.model), why[run.id])
        for run, metric in listed
    )


def unplaced(runs: Sequence[Run]) -> tuple[RankedRun, ...]:
    """Return the leaderboard without ranks, for which no scores need to be read."""
    return tuple(RankedRun(run, metric, None, None, reference(run.model)) for run, metric in _by_value(runs))


def best(runs: Sequence[Run]) -> RankedRun | None:
    """Return the best run eligible for a rank, without its rank; None if there is none.

    A rescored run is returned only if there is no other: its rules may differ from those of the benchmark.
    """
    able = [
        (run, metric)
        for run, metric in _by_value(runs)
        if not (reference(run.model) or _unranked(run, metric, MAX_MISSING))
    ]
    first = next((item for item in able if not item[0].regraded), next(iter(able), None))
    return None if first is None else RankedRun(*first, None, None, "")


def _unranked(run: Run, metric: MetricResult, max_missing: float) -> str:
    """Return why a run gets no rank; missing values are judged by the same limit for all runs, not by their own."""
    if reference(run.model) or not (run.doubt or lacks_too_much(run, max_missing)):
        return ""
    return run.doubt or f"{sum(metric.missing.values()):,} of {metric.n_planned:,} episodes have no value"


def _by_value(runs: Sequence[Run]) -> list[Scored]:
    """Return runs that have a value, with their primary metric, best first, of equal ones the newer first."""
    scored = [(run, run.primary) for run in runs]
    listed = [(run, metric) for run, metric in scored if metric is not None and metric.value is not None]
    # Sorting is stable, so equal values keep the newer run first.
    listed.sort(key=lambda item: item[0].created_at, reverse=True)
    listed.sort(key=lambda item: _quality(item[1]), reverse=True)
    return listed


def reference(model: str) -> Reference:
    """Return whether a model is a reference on every leaderboard: the floor, the ceiling, or neither (empty)."""
    return _REFERENCES.get(model, "")


class _Contestant:
    """A run eligible for a rank; it can only be compared with runs of equal `terms`."""

    def __init__(self, run: Run, metric: MetricResult) -> None:
        self.run = run
        self.metric = metric
        self.declared: Metric = metrics_of(run)[metric.name]
        self.terms = run.rules, self.declared
        numbers = metric.value, metric.low, metric.high, metric.n_tasks, metric.n_scored, metric.n_planned
        self.key = digest_bytes(repr((run.id, self.terms, numbers)).encode())
        """Changes with the run's values."""


class _Winners:
    """Winners of pairwise comparisons; the scores of a run are read when first needed."""

    def __init__(self, rows: Rows, duels: Duels) -> None:
        self._rows = rows
        self._duels = duels
        self._tasks = Tasks()
        self._samples: dict[str, Sample] = {}

    def of(self, a: _Contestant, b: _Contestant) -> Winner:
        if a.terms != b.terms:
            return "tie"
        found = self._duels.get(a.key, b.key)
        if found is None:
            found = self._compared(a, b)
            self._duels.keep(a.key, b.key, found)
        return found

    def _compared(self, a: _Contestant, b: _Contestant) -> Winner:
        try:
            return better(self._sample(a), self._sample(b), self._tasks, higher_is_better=a.declared.higher_is_better)
        except ValueError:
            return "tie"

    def _sample(self, one: _Contestant) -> Sample:
        if one.run.id not in self._samples:
            rows = self._rows(one.run.id, one.declared.score)
            self._samples[one.run.id] = read_sample(rows, one.declared, self._tasks)
        return self._samples[one.run.id]


def _quality(metric: MetricResult) -> float:
    value = metric.value or 0.0
    return value if metric.higher_is_better else -value
