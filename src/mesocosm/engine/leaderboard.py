"""Which of several runs of a benchmark is best, as far as comparisons of two can tell."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mesocosm.core.run import Limits, Run
from mesocosm.core.score import Metric, MetricResult
from mesocosm.engine.comparison import Rows, metrics_of
from mesocosm.engine.decision import lacks_too_much
from mesocosm.engine.pair import Winner, better
from mesocosm.engine.sample import Sample, Tasks, read_sample

Reference = Literal["", "floor", "ceiling"]

_REFERENCES: dict[str, Reference] = {
    "builtin/random": "floor",
    "builtin/empty": "floor",
    "builtin/oracle": "ceiling",
}

MAX_MISSING = Limits().max_missing
"""The share of values that a run on a leaderboard may lack."""

_TURNED: dict[Winner, Winner] = {"a": "b", "b": "a", "tie": "tie"}

Scored = tuple[Run, MetricResult]
Duel = tuple[tuple[object, ...], tuple[object, ...]]
"""Two runs with the values that they had."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A run on a leaderboard by its primary metric: it may have any place from `rank` to `rank_last`.

    A reference (the random agent, the silent one, the oracle) has no place: it shows what the scale means, and is no
    contestant. Nor has a run that lacks too many values, whose value is of a part of its episodes.
    """

    run: Run
    metric: MetricResult
    rank: int | None
    rank_last: int | None
    reference: Reference


def leaderboard(
    runs: Sequence[Run], rows: Rows, *, max_missing: float = MAX_MISSING, won: "dict[Duel, Winner] | None" = None
) -> tuple[Standing, ...]:
    """Return scored runs, best first: of equal values the newer one, references among them by their value.

    `rank` is one more than the number of contestants that win the comparison of two runs (`engine.comparison`) against
    this one, and `rank_last` leaves room for all that do not lose it, so runs whose difference could be chance share
    places. Each comparison is made by itself, as that of two runs is, and not for all of them together (Mogstad,
    Romano, Shaikh & Wilhelm 2024, Rev. Econ. Stud. 91:476). `rows` reads the scores of a run.

    Runs without a value are left out. One that lacks more than `max_missing` of its values takes no place, whatever
    its own limit was. `won` keeps what was found, so that a board with one new run is not computed as a whole.
    """
    listed = _by_value(runs)
    contestants = _contestants(listed, max_missing)
    ranked = {run.id for run, _ in contestants}
    winners = _Winners(rows, {} if won is None else won)
    standings: list[Standing] = []
    for run, metric in listed:
        kind = reference(run.model)
        if run.id not in ranked:
            standings.append(Standing(run, metric, None, None, kind))
            continue
        others = [winners.of((run, metric), other) for other in contestants if other[0] is not run]
        standings.append(Standing(run, metric, 1 + others.count("b"), len(contestants) - others.count("a"), kind))
    return tuple(standings)


def unplaced(runs: Sequence[Run]) -> tuple[Standing, ...]:
    """Return the leaderboard without places, which need the scores of all runs."""
    return tuple(Standing(run, metric, None, None, reference(run.model)) for run, metric in _by_value(runs))


def best(runs: Sequence[Run]) -> Standing | None:
    """Return the run with the best value of those that take a place on a leaderboard, without its place."""
    first = next(iter(_contestants(_by_value(runs), MAX_MISSING)), None)
    return None if first is None else Standing(*first, None, None, "")


def _contestants(listed: Sequence[Scored], max_missing: float) -> list[Scored]:
    """Return those that take a place: what they lack is judged alike for all, whatever a run allowed itself.

    Runs that were rescored by other rules are no contestants of those that were not; most rank.
    """
    able = [
        (run, metric)
        for run, metric in listed
        if not reference(run.model) and not run.doubt and not lacks_too_much(run, max_missing)
    ]
    terms = Counter(run.rules for run, _ in able)
    rules = max(terms, key=lambda one: terms[one], default="")
    return [item for item in able if item[0].rules == rules]


def _by_value(runs: Sequence[Run]) -> list[Scored]:
    """Return runs that have a value with their primary metric, best first, of equal ones the newer first."""
    scored = [(run, run.primary) for run in runs]
    listed = [(run, metric) for run, metric in scored if metric is not None and metric.value is not None]
    # Sorting is stable, and does not mind the sign of a value that is turned around.
    listed.sort(key=lambda item: item[0].created_at, reverse=True)
    listed.sort(key=lambda item: _quality(item[1]), reverse=True)
    return listed


def reference(model: str) -> Reference:
    """Return what a model stands for on every leaderboard: the floor, the ceiling, or nothing but itself."""
    return _REFERENCES.get(model, "")


class _Winners:
    """Who wins the comparison of two runs; the scores of a run are read when the first one needs them."""

    def __init__(self, rows: Rows, won: "dict[Duel, Winner]") -> None:
        self._rows = rows
        self._won = won
        self._tasks = Tasks()
        self._samples: dict[str, Sample] = {}

    def of(self, a: Scored, b: Scored) -> Winner:
        one, other = _key(*a), _key(*b)
        if (other, one) in self._won:
            return _TURNED[self._won[other, one]]
        if (one, other) not in self._won:
            self._won[one, other] = self._compared(a, b)
        return self._won[one, other]

    def _compared(self, a: Scored, b: Scored) -> Winner:
        declared, other = (metrics_of(run)[metric.name] for run, metric in (a, b))
        # Values that were measured by different rules say nothing about each other.
        if declared != other:
            return "tie"
        samples = self._sample(a[0], declared), self._sample(b[0], declared)
        try:
            return better(*samples, self._tasks, higher_is_better=declared.higher_is_better)
        except ValueError:
            return "tie"

    def _sample(self, run: Run, metric: Metric) -> Sample:
        if run.id not in self._samples:
            self._samples[run.id] = read_sample(self._rows(run.id, metric.score), metric, self._tasks)
        return self._samples[run.id]


def _key(run: Run, metric: MetricResult) -> tuple[object, ...]:
    return (run.id, metric.name, metric.value, metric.low, metric.high, metric.n_scored, metric.n_planned)


def _quality(metric: MetricResult) -> float:
    value = metric.value or 0.0
    return value if metric.higher_is_better else -value
