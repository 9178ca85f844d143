"""pass@k and pass^k, estimated from n >= k recorded trials of each task."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mesocosm.stats.aggregate import aggregate
from mesocosm.stats.interval import Interval


@dataclass(frozen=True, slots=True)
class PassK:
    """pass@k or pass^k with its interval over the `tasks` with k or more trials; `skipped` tasks had fewer."""

    k: int
    interval: Interval
    tasks: int
    skipped: int


def pass_at_k(
    counts: Sequence[tuple[int, int]], k: int, level: float = 0.95, clusters: Sequence[Hashable] | None = None
) -> PassK:
    """Return the probability that at least one of k trials passes: mean over tasks of 1 - C(n-c, k) / C(n, k).

    `counts` contains (trials n, passes c) of each task. Source: Chen et al. 2021, arXiv:2107.03374. The interval is
    over tasks, between 0 and 1. `clusters` names the item of each task if some are variants of one item; the interval
    is then clustered. Raise ValueError for impossible
    counts, k < 1, `clusters` of another length, or if no task has k trials.
    """
    return _over_tasks(counts, k, level, clusters, lambda n, c: 1 - _share(n - c, n, k))


def pass_hat_k(
    counts: Sequence[tuple[int, int]], k: int, level: float = 0.95, clusters: Sequence[Hashable] | None = None
) -> PassK:
    """Return the probability that all of k trials pass (pass^k): mean over tasks of C(c, k) / C(n, k).

    Source: Yao et al. 2024, arXiv:2406.12045. Parameters, interval and errors as in `pass_at_k`.
    """
    return _over_tasks(counts, k, level, clusters, lambda n, c: _share(c, n, k))


def _over_tasks(
    counts: Sequence[tuple[int, int]],
    k: int,
    level: float,
    clusters: Sequence[Hashable] | None,
    worth: Callable[[int, int], float],
) -> PassK:
    for n, c in counts:
        if not 0 <= c <= n:
            raise ValueError(f"{c} passes of {n} trials are impossible; give 0 <= passes <= trials")
    if k < 1:
        raise ValueError(f"k is {k}; it counts trials and must be at least 1")
    values = [worth(n, c) for n, c in counts if n >= k]
    if not values:
        most = max((n for n, _ in counts), default=0)
        raise ValueError(f"no task has {k} trials, the most is {most}; choose a smaller k or run more trials")
    items = None if clusters is None else [item for item, (n, _) in zip(clusters, counts, strict=True) if n >= k]
    interval = aggregate("mean", values, items, level=level, bounds=(0.0, 1.0))
    return PassK(k, interval, len(values), len(counts) - len(values))


@lru_cache(maxsize=4096)
def _share(part: int, whole: int, k: int) -> float:
    return math.comb(part, k) / math.comb(whole, k)
