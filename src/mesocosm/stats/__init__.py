"""Intervals, tests, pass@k and power: pure functions, checked against published values and SciPy.

`aggregate` computes a metric of one run, `paired_difference` and `unpaired_difference` compare two runs, `holm` adjusts
the p values of several comparisons.
"""

from mesocosm.stats.aggregate import AGGREGATIONS, aggregate
from mesocosm.stats.agreement import (
    Agreement,
    ConfusionCounts,
    agreement,
    alpha_interval,
    cohen_kappa,
    corrected_rate,
    fit,
    krippendorff_alpha,
)
from mesocosm.stats.bootstrap import bootstrap, bootstrap_clustered
from mesocosm.stats.difference import (
    DifferenceTest,
    Flip,
    Verdict,
    paired_difference,
    unpaired_difference,
    welch_interval,
)
from mesocosm.stats.interval import Interval, wilson
from mesocosm.stats.mean import clustered, mean_interval, proportion_clustered
from mesocosm.stats.moments import LARGEST, Moments, Spread, moments, spread, usable
from mesocosm.stats.passk import PassK, pass_at_k, pass_hat_k
from mesocosm.stats.power import (
    fewest_pairs,
    paired_power,
    pairs_needed,
    samples_needed,
    smallest_difference,
    smallest_difference_unpaired,
    smallest_flip_difference,
    smallest_rate_difference,
)
from mesocosm.stats.quantile import median_clustered, median_interval, quantile_interval
from mesocosm.stats.rates import barnard, mcnemar, paired_rate_difference, rate_difference
from mesocosm.stats.significance import Significance, always_valid, holm, sign_flip, welch

__all__ = [
    "AGGREGATIONS",
    "LARGEST",
    "Agreement",
    "ConfusionCounts",
    "DifferenceTest",
    "Flip",
    "Interval",
    "Moments",
    "Spread",
    "PassK",
    "Significance",
    "Verdict",
    "aggregate",
    "agreement",
    "alpha_interval",
    "always_valid",
    "barnard",
    "bootstrap",
    "bootstrap_clustered",
    "clustered",
    "cohen_kappa",
    "corrected_rate",
    "fewest_pairs",
    "fit",
    "holm",
    "krippendorff_alpha",
    "mcnemar",
    "mean_interval",
    "median_clustered",
    "median_interval",
    "moments",
    "spread",
    "paired_difference",
    "paired_power",
    "paired_rate_difference",
    "pairs_needed",
    "pass_at_k",
    "pass_hat_k",
    "proportion_clustered",
    "quantile_interval",
    "rate_difference",
    "samples_needed",
    "sign_flip",
    "smallest_difference",
    "smallest_difference_unpaired",
    "smallest_flip_difference",
    "smallest_rate_difference",
    "unpaired_difference",
    "usable",
    "welch",
    "welch_interval",
    "wilson",
]
