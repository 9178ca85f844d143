"""Agreement on nominal judgements: between two people, among several, and of a judge with people.

Judgements of the trials of one task are dependent, so items come in clusters, which the bootstrap draws whole.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from mesocosm.stats.bootstrap import bootstrap_clustered
from mesocosm.stats.interval import Interval, critical_value, wilson

RESAMPLES = 2_000
"""Resamples of the intervals of this module."""

UNDEFINED = 0.05
"""Share of the resamples that may have one category only, so that agreement beyond chance does not exist in them."""

Item = TypeVar("Item")
Pair = tuple[Hashable, Hashable]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two people, or of people and a judge, on the `n` items that both judged.

    `observed` is the share of equal judgements. `kappa` is None where it does not exist: both used one and the same
    category for every item, so agreement by chance was certain.
    """

    n: int
    observed: float
    kappa: Interval | None


def cohen_kappa(pairs: Iterable[Pair]) -> float | None:
    """Return Cohen's kappa (1960, Educational and Psychological Measurement 20:37); None where it does not exist."""
    counts = Counter(pairs)
    n = counts.total()
    if not n:
        return None
    left, right = Counter[Hashable](), Counter[Hashable]()
    for (one, other), count in counts.items():
        left[one] += count
        right[other] += count
    # In whole numbers, so that certainty is noticed exactly.
    chance = sum(count * right[category] for category, count in left.items())
    if chance == n * n:
        return None
    equal = sum(count for (one, other), count in counts.items() if one == other)
    return (equal * n - chance) / (n * n - chance)


def agreement(
    pairs_by_cluster: Sequence[Sequence[Pair]], *, resamples: int = RESAMPLES, seed: int = 0, level: float = 0.95
) -> Agreement | None:
    """Return the agreement on pairs of judgements with a bootstrap interval of kappa; None without pairs.

    The interval is `[-inf, inf]` for a single cluster, and if kappa does not exist in one of 20 resamples. Where all
    pairs are equal, every resample says 1; the lower end is kappa at the lower end of Wilson's interval of the
    agreement then.
    """
    groups = [group for group in pairs_by_cluster if group]
    pairs = list(chain.from_iterable(groups))
    if not pairs:
        return None
    observed = sum(one == other for one, other in pairs) / len(pairs)
    if cohen_kappa(pairs) is None:
        return Agreement(len(pairs), observed, None)
    found = bootstrap_clustered(
        groups, _or_nan(cohen_kappa), resamples=resamples, seed=seed, level=level, undefined=UNDEFINED
    )
    if observed == 1:
        shares = Counter(one for one, _ in pairs).values()
        chance = sum((count / len(pairs)) ** 2 for count in shares)
        found = _all_equal(found, len(groups), chance)
    return Agreement(len(pairs), observed, found)


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Return Krippendorff's alpha of nominal judgements; None where it does not exist.

    A unit has the judgements of one item, without those that are missing; a unit of less than two says nothing.
    Krippendorff, Content Analysis, 2004, chapter 11.
    """
    totals = Counter[Hashable]()
    disagreement = 0.0
    for unit in units:
        size = len(unit)
        if size < 2:
            continue
        counts = Counter(unit)
        totals += counts
        disagreement += (size * size - sum(count * count for count in counts.values())) / (size - 1)
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    if not expected:
        return None
    return 1 - (n - 1) * disagreement / expected


def alpha_interval(
    units_by_cluster: Sequence[Sequence[Sequence[Hashable]]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval | None:
    """Return `krippendorff_alpha` with a bootstrap interval over units; None where alpha does not exist.

    Its interval is unknown, or has another lower end, in the same cases as that of `agreement`.
    """
    groups = [pairable for group in units_by_cluster if (pairable := [unit for unit in group if len(unit) > 1])]
    units = list(chain.from_iterable(groups))
    if krippendorff_alpha(units) is None:
        return None
    found = bootstrap_clustered(
        groups, _or_nan(krippendorff_alpha), resamples=resamples, seed=seed, level=level, undefined=UNDEFINED
    )
    if all(len(set(unit)) == 1 for unit in units):
        totals = Counter(chain.from_iterable(units))
        chance = sum((count / totals.total()) ** 2 for count in totals.values())
        found = _all_equal(found, len(groups), chance)
    return found


@dataclass(frozen=True, slots=True)
class ConfusionCounts:
    """How often a judge and people say right (`yes`) or wrong (`no`) of the same items; the judge's word comes first.

    >>> ConfusionCounts(yes_yes=12, yes_no=5, no_yes=2, no_no=21).bias
    0.075
    """

    yes_yes: int
    yes_no: int
    no_yes: int
    no_no: int

    @property
    def n(self) -> int:
        """The number of items."""
        return self.yes_yes + self.yes_no + self.no_yes + self.no_no

    @property
    def sensitivity(self) -> Interval | None:
        """The share of what people call right that the judge calls right; None if people call nothing right."""
        n = self.yes_yes + self.no_yes
        return wilson(self.yes_yes, n) if n else None

    @property
    def specificity(self) -> Interval | None:
        """The share of what people call wrong that the judge calls wrong; None if people call nothing wrong."""
        n = self.no_no + self.yes_no
        return wilson(self.no_no, n) if n else None

    @property
    def bias(self) -> float:
        """The judge's share of right minus that of people; positive for a lenient judge. The `n` must not be 0."""
        return (self.yes_no - self.no_yes) / self.n


def corrected_rate(yes: int, n: int, judged: ConfusionCounts, level: float = 0.95) -> Interval | None:
    """Return the share that people would call right of `n` items, of which the judge calls `yes` right.

    `judged` are items that both judged, drawn at random. The value is the estimate of Rogan & Gladen (1978, American J.
    Epidemiology 107:71), the interval that of Lang & Reiczigel (2014, Preventive Veterinary Medicine 113:13), both cut
    to [0, 1]. None if people called nothing right or nothing wrong, or if the judge does no better than chance. Raise
    ValueError unless 0 <= yes <= n and n >= 1.
    """
    if not 0 <= yes <= n or n < 1:
        raise ValueError(f"{yes} of {n} items are impossible; give 0 <= yes <= n and n >= 1")
    positives, negatives = judged.yes_yes + judged.no_yes, judged.no_no + judged.yes_no
    if not positives or not negatives:
        return None
    youden = judged.yes_yes / positives + judged.no_no / negatives - 1
    if youden <= 0:
        return None
    value = (yes / n + judged.no_no / negatives - 1) / youden
    z = critical_value(level)
    size = n + z * z
    rate = (yes + z * z / 2) / size
    sensitivity, specificity = (judged.yes_yes + 1) / (positives + 2), (judged.no_no + 1) / (negatives + 2)
    gain = sensitivity + specificity - 1
    if gain <= 0:
        return None
    centre = (rate + specificity - 1) / gain
    of_sensitivity = sensitivity * (1 - sensitivity) / (positives + 2)
    of_specificity = specificity * (1 - specificity) / (negatives + 2)
    variance = rate * (1 - rate) / size + centre**2 * of_sensitivity + (1 - centre) ** 2 * of_specificity
    shift = 2 * z * z * (centre * of_sensitivity - (1 - centre) * of_specificity)
    margin = z * math.sqrt(variance) / gain
    value = min(max(value, 0.0), 1.0)
    low, high = (min(max(end, 0.0), 1.0) for end in (centre + shift - margin, centre + shift + margin))
    return Interval(value, min(low, value), max(high, value), n, "lang-reiczigel", level)


def fit(found: Agreement | None, bar: float) -> bool:
    """Return whether a judge agrees with people so well that it may judge alone: kappa's lower end is at the bar."""
    return found is not None and found.kappa is not None and found.kappa.low >= bar


def _or_nan(statistic: Callable[[Sequence[Item]], float | None]) -> Callable[[Sequence[Item]], float]:
    def found(values: Sequence[Item]) -> float:
        value = statistic(values)
        return math.nan if value is None else value

    return found


def _all_equal(found: Interval, clusters: int, chance: float) -> Interval:
    """Return the interval with the lower end for judgements that are all equal."""
    if clusters == 1:
        return found
    low = (wilson(clusters, clusters, found.level).low - chance) / (1 - chance)
    return replace(found, low=min(low, found.value), high=found.value, method="wilson")
