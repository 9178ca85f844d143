"""How the score of a run settled over its episodes, and what sets the passed ones apart."""

from collections.abc import Sequence
from statistics import median
from typing import Literal

import msgspec

from mesocosm.core.failure import Cause
from mesocosm.core.run import Run
from mesocosm.core.score import Metric
from mesocosm.engine.metrics import Collected, measure_one
from mesocosm.server.schemas.run import ContrastDocument, CumulativeBin
from mesocosm.store.series import Play

POINTS = 30
SLOTS = 20

SETTLING = frozenset({"mean", "pass_rate"})
"""Aggregations that more episodes bring closer to a value; a sum grows, an extreme jumps."""


def cumulative(run: Run, plays: Sequence[Play]) -> list[CumulativeBin]:
    """Return the primary metric over the first of the plays, the first two, ... at most POINTS times.

    Each value is computed as that of the whole run is, so the last one is the run's.
    """
    metric = _primary(run)
    if metric is None or metric.aggregation not in SETTLING:
        return []
    found: list[CumulativeBin] = []
    kept, numbers = Collected(), dict[str, int]()
    stops = {len(plays) * point // POINTS for point in range(1, POINTS + 1)}
    for place, play in enumerate(plays, 1):
        missing = Cause.SKIPPED if play.outcome == "skipped" else Cause.VALUE_MISSING
        cluster = numbers.setdefault(play.cluster, len(numbers))
        kept.take(cluster, play.score, missing, worst=play.outcome == "worst")
        if place not in stops:
            continue
        part = measure_one(metric, kept, None)
        if part.value is not None:
            found.append(
                CumulativeBin(
                    last=play.position,
                    n=part.n_scored,
                    value=part.value,
                    low=part.low,
                    high=part.high,
                    weak=part.weak,
                )
            )
    return found


def contrasts(run: Run, plays: Sequence[Play]) -> list[ContrastDocument]:
    """Return how steps and tokens of passed and not passed episodes are spread; what is equal in all is left out."""
    metric = run.passing
    if metric is None:
        return []
    judged = [(passed, play) for play in plays if (passed := _passed(play, metric)) is not None]
    found = (
        _contrast("steps", [(passed, play.steps) for passed, play in judged]),
        _contrast("tokens", [(passed, play.tokens) for passed, play in judged if play.tokens is not None]),
    )
    return [one for one in found if one is not None]


def _primary(run: Run) -> Metric | None:
    try:
        return next((metric for metric in run.terms.metrics if metric.primary), None)
    except msgspec.ValidationError:  # An imported run may declare anything.
        return None


def _passed(play: Play, metric: Metric) -> bool | None:
    """Return whether an episode passed as `core.verdict` decides it; None for one without such a verdict."""
    if play.outcome == "worst":
        return False
    if play.score is None:
        return None
    if metric.aggregation == "pass_rate":
        return play.score > metric.bar
    binary = metric.higher_is_better and metric.directed and metric.aggregation == "mean"
    return bool(play.score) if binary and play.score in {0.0, 1.0} else None


def _contrast(name: Literal["steps", "tokens"], values: Sequence[tuple[bool, int]]) -> ContrastDocument | None:
    sides = {side: [value for passed, value in values if passed is side] for side in (True, False)}
    if not all(sides.values()):
        return None
    low, high = min(value for _, value in values), max(value for _, value in values)
    if low == high:
        return None
    # Whole numbers that are few have a bin each.
    slots = min(SLOTS, high - low + 1)
    counts = {side: [0] * slots for side in sides}
    for passed, value in values:
        counts[passed][min((value - low) * slots // (high - low), slots - 1)] += 1
    return ContrastDocument(
        name=name,
        low=low,
        high=high,
        passed=counts[True],
        not_passed=counts[False],
        passed_median=median(sides[True]),
        not_passed_median=median(sides[False]),
    )
