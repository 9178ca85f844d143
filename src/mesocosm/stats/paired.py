"""Two runs on the same tasks, compared task by task."""

import math
from collections.abc import Mapping, Sequence

from mesocosm.stats.comparison import DifferenceTest, Flip, scored
from mesocosm.stats.interval import Interval, student, wilson
from mesocosm.stats.moments import is_pass_fail, moments
from mesocosm.stats.power import fewest_pairs, smallest_difference, smallest_flip_difference
from mesocosm.stats.significance import Significance, mcnemar, sign_flip


def paired_difference(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    *,
    threshold: float | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> DifferenceTest:
    """Compare two runs by the tasks that both scored; each maps a task to the values of its trials.

    With a `threshold`, a value counts 1 when it exceeds it, else 0. Pass or fail, all trials of a task agreeing:
    Newcombe's paired interval and exact McNemar. Anything else: the interval of the mean difference of task means
    (Student below 30 tasks, else normal) and the sign-flip permutation test. Variants made from one item belong under
    one task, as its trials. A task without values counts as absent. Raises ValueError when no task is common or a value
    is not usable.
    """
    runs = scored(a, threshold), scored(b, threshold)
    common = [task for task in runs[0] if task in runs[1]]
    if not common:
        raise ValueError("the runs have no scored task in common; compare them with unpaired_difference")
    means = [[math.fsum(run[task]) / len(run[task]) for task in common] for run in runs]
    pass_fail = all(is_pass_fail(run[task]) for run in runs for task in common)
    smallest: float | None
    if pass_fail and is_pass_fail(means[0]) and is_pass_fail(means[1]):
        interval, found, smallest = _flips_between(means[0], means[1], level)
    else:
        differences = [x - y for x, y in zip(*means, strict=True)]
        interval, found = student(differences, level), sign_flip(differences, resamples=resamples, seed=seed)
        smallest = _smallest_shown(differences, level)
    return DifferenceTest(
        paired=True,
        mean_a=math.fsum(means[0]) / len(common),
        mean_b=math.fsum(means[1]) / len(common),
        difference=interval,
        p_value=found.p_value,
        test=found.test,
        n_a=len(common),
        n_b=len(common),
        only_a=tuple(task for task in runs[0] if task not in runs[1]),
        only_b=tuple(task for task in runs[1] if task not in runs[0]),
        flips=_flips(common, means[0], means[1]) if pass_fail else (),
        smallest_difference=smallest,
    )


def newcombe_paired(both: int, only_a: int, only_b: int, neither: int, level: float = 0.95) -> Interval:
    """Return the interval of the difference of two pass rates from the numbers of tasks passed by both, one, neither.

    Square-and-add of two Wilson intervals with the correlation of the table, method 10 of Newcombe 1998, Statist. Med.
    17:2635. Raises ValueError without tasks or for negative numbers.
    """
    n = both + only_a + only_b + neither
    if min(both, only_a, only_b, neither) < 0 or n == 0:
        raise ValueError(f"{(both, only_a, only_b, neither)} tasks are impossible; give numbers >= 0 with a sum >= 1")
    a, b = wilson(both + only_a, n, level), wilson(both + only_b, n, level)
    phi = _correlation(both, only_a, only_b, neither)
    difference = (only_a - only_b) / n
    down = _square_and_add(a.value - a.low, b.high - b.value, phi)
    up = _square_and_add(b.value - b.low, a.high - a.value, phi)
    return Interval(difference, difference - down, difference + up, n, "newcombe paired", level)


def _correlation(both: int, only_a: int, only_b: int, neither: int) -> float:
    product = (both + only_a) * (both + only_b) * (only_a + neither) * (only_b + neither)
    if product == 0:
        return 0.0
    determinant = both * neither - only_a * only_b
    half = (both + only_a + only_b + neither) / 2
    return (max(determinant - half, 0) if determinant > 0 else determinant) / math.sqrt(product)


def _square_and_add(x: float, y: float, phi: float) -> float:
    return math.sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))


def _flips_between(a: Sequence[float], b: Sequence[float], level: float) -> tuple[Interval, Significance, float]:
    both = sum(1 for x, y in zip(a, b, strict=True) if x and y)
    only_a, only_b, n = int(sum(a)) - both, int(sum(b)) - both, len(a)
    interval = newcombe_paired(both, only_a, only_b, n - both - only_a - only_b, level)
    smallest = smallest_flip_difference((only_a + only_b) / n, n, level=level)
    return interval, mcnemar(only_a, only_b), smallest


def _smallest_shown(differences: Sequence[float], level: float) -> float | None:
    sample = moments(differences)
    if sample.n < fewest_pairs(level):
        return math.inf
    return smallest_difference(sample.sd, sample.n, level=level) if sample.sd else None


def _flips(tasks: Sequence[str], a: Sequence[float], b: Sequence[float]) -> tuple[Flip, ...]:
    shares = zip(tasks, a, b, strict=True)
    return tuple(Flip(task, x, y) for task, x, y in shares if (x > 0.5) != (y > 0.5))
