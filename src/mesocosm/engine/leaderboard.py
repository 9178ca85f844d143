"""Which of several runs of a benchmark is best, as far as their intervals can tell."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mesocosm.core.run import Limits, Run
from mesocosm.core.score import MetricResult
from mesocosm.engine.decision import lacks_too_much
from mesocosm.stats import fewest_pairs

Reference = Literal["", "floor", "ceiling"]

_REFERENCES: dict[str, Reference] = {
    "builtin/random": "floor",
    "builtin/empty": "floor",
    "builtin/oracle": "ceiling",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """A run on a leaderboard by its primary metric: it may have any place from `rank` to `rank_last`.

    A reference (the random agent, the silent one, the oracle) has no place: it shows what the scale means, and is no
    contestant. Nor has a run that lacks more than 2 % of its values, which is of a part of its episodes.
    """

    run: Run
    metric: MetricResult
    rank: int | None
    rank_last: int | None
    reference: Reference


def leaderboard(runs: Sequence[Run]) -> tuple[Standing, ...]:
    """Return scored runs, best first: of equal values the newer one, references among them by their value.

    `rank` is one more than the number of contestants that are better by a difference whose interval excludes 0, and
    `rank_last` leaves room for all that are not worse by one, so runs whose difference could be chance share places.
    Each interval holds for its own difference, not for all of them together (Goldstein & Spiegelhalter 1996, JRSS A
    159:385; Mogstad, Romano, Shaikh & Wilhelm 2024, Rev. Econ. Stud. 91:476). Runs without a value are left out.
    """
    scored = [(run, run.primary) for run in runs]
    listed = [(run, metric) for run, metric in scored if metric is not None and metric.value is not None]
    # Sorting is stable, and does not mind the sign of a value that is turned around.
    listed.sort(key=lambda item: item[0].created_at, reverse=True)
    listed.sort(key=lambda item: _quality(item[1]), reverse=True)
    # Runs that were rescored by other rules are no contestants of those that were not; most rank.
    terms = Counter(run.rules for run, _ in listed if _ranked(run))
    rules = max(terms, key=lambda one: terms[one], default="")
    contestants = [metric for run, metric in listed if _ranked(run) and run.rules == rules]
    return tuple(_standing(run, metric, contestants, ranked=run.rules == rules) for run, metric in listed)


def reference(model: str) -> Reference:
    """Return what a model stands for on every leaderboard: the floor, the ceiling, or nothing but itself."""
    return _REFERENCES.get(model, "")


def above(a: MetricResult, b: MetricResult) -> bool:
    """Return whether the value of `a` exceeds that of `b` by a difference whose interval excludes 0.

    The interval is made of both intervals by square-and-add: Zou & Donner 2008, Statist. Med. 27:1693 (MOVER), which
    for two Wilson intervals is Newcombe 1998, Statist. Med. 17:873. A run without an interval is above nothing.
    """
    if a.value is None or b.value is None or a.low is None or b.high is None or not (_tells(a) and _tells(b)):
        return False
    return a.value - b.value > math.hypot(a.value - a.low, b.high - b.value)


def _tells(metric: MetricResult) -> bool:
    """Return whether an interval says something: one without width does not while it is of a handful of tasks."""
    return metric.low != metric.high or metric.n_tasks >= fewest_pairs(metric.level)


def _standing(run: Run, metric: MetricResult, contestants: Sequence[MetricResult], *, ranked: bool) -> Standing:
    kind = reference(run.model)
    if not (ranked and _ranked(run)):
        return Standing(run, metric, None, None, kind)
    ahead = sum(_beats(other, metric) for other in contestants)
    behind = sum(_beats(metric, other) for other in contestants)
    return Standing(run, metric, 1 + ahead, len(contestants) - behind, "")


def _ranked(run: Run) -> bool:
    """Return whether a run may take a place: what it lacks is judged alike for all, whatever it allowed itself."""
    return not reference(run.model) and not run.unasked and not lacks_too_much(run, Limits().max_missing)


def _beats(a: MetricResult, b: MetricResult) -> bool:
    return above(a, b) if a.higher_is_better else above(b, a)


def _quality(metric: MetricResult) -> float:
    value = metric.value or 0.0
    return value if metric.higher_is_better else -value
