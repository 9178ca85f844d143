"""The percentile bootstrap against SciPy's and against itself."""

import math
import random
import statistics
from collections.abc import Sequence

import numpy as np
import pytest

from mesocosm.stats import bootstrap, bootstrap_clustered


def ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(x for x, _ in pairs) / sum(y for _, y in pairs)


def test_the_bootstrap_of_a_mean_agrees_with_scipy() -> None:
    import scipy.stats

    rng = random.Random(1)
    values = [rng.expovariate(1) for _ in range(40)]
    ours = bootstrap(values, statistics.fmean, level=0.9)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, confidence_level=0.9, method="percentile", n_resamples=20_000, rng=np.random.default_rng(2)
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.015)
    assert (ours.value, ours.n, ours.method, ours.level) == (statistics.fmean(values), 40, "bootstrap", 0.9)


def test_a_ratio_is_resampled_by_pairs() -> None:
    rng = random.Random(3)
    pairs = [(10 * y + rng.gauss(0, 1), y) for y in (rng.uniform(1, 2) for _ in range(60))]
    ours = bootstrap(pairs, ratio, resamples=2_000)
    error = (
        statistics.stdev([x - ours.value * y for x, y in pairs]) / math.sqrt(60) / statistics.fmean(y for _, y in pairs)
    )
    assert ours.low == pytest.approx(ours.value - 1.96 * error, abs=0.2 * error)
    assert ours.high == pytest.approx(ours.value + 1.96 * error, abs=0.2 * error)


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [1.0, 5.0, 2.0, 8.0, 3.0]
    same = [bootstrap(values, statistics.fmean, resamples=500, seed=7) for _ in range(2)]
    assert same[0] == same[1]
    assert same[0] != bootstrap(values, statistics.fmean, resamples=37, seed=8)


def test_whole_clusters_are_drawn() -> None:
    clusters = [[0.0] * 30, [1.0] * 30, [1.0] * 30, [0.0] * 30]
    together = bootstrap_clustered(clusters, statistics.fmean, resamples=2_000)
    apart = bootstrap([x for cluster in clusters for x in cluster], statistics.fmean, resamples=500)
    assert (together.value, together.low, together.high, together.n) == (0.5, 0.0, 1.0, 120)
    assert apart.low > 0.35


def test_clusters_of_one_value_are_the_ordinary_bootstrap() -> None:
    values = [1.0, 5.0, 2.0, 8.0, 3.0]
    single = bootstrap_clustered([[x] for x in values], statistics.fmean, resamples=500, seed=7)
    assert single == bootstrap(values, statistics.fmean, resamples=500, seed=7)


def test_an_infinite_replicate_gives_an_infinite_bound() -> None:
    def cost_of_success(values: Sequence[float]) -> float:
        return len(values) / sum(values) if sum(values) else math.inf

    interval = bootstrap([1.0, 0.0, 0.0], cost_of_success, resamples=500)
    assert (interval.value, interval.low, interval.high) == (3.0, 1.0, math.inf)


def test_one_value_or_one_cluster_says_nothing() -> None:
    assert not bootstrap([4.0], statistics.fmean).bounded
    assert not bootstrap_clustered([[4.0, 5.0]], statistics.fmean).bounded


def test_a_statistic_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="is NaN"):
        bootstrap([1.0, 2.0], lambda _: math.nan, resamples=10)


def test_no_resamples_are_refused() -> None:
    with pytest.raises(ValueError, match="no resample"):
        bootstrap([1.0, 2.0], statistics.fmean, resamples=0)


def test_nothing_to_resample_is_refused() -> None:
    with pytest.raises(ValueError, match="no value to resample"):
        bootstrap([], statistics.fmean)
    with pytest.raises(ValueError, match="no value to resample"):
        bootstrap_clustered([[], []], statistics.fmean)
