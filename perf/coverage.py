"""How often the 95 % intervals contain the truth, over synthetic evaluations whose truth is known.

Run `python perf/coverage.py [EVALUATIONS] [CASE ...]`; 10,000 evaluations of every case take about a minute.
"""

import math
import random
import sys
import time
from collections.abc import Callable

from mesocosm import stats

Evaluation = tuple[stats.Interval, float]
Case = Callable[[random.Random], Evaluation]


def pass_rate(rng: random.Random) -> Evaluation:
    """Twenty to two hundred tasks of one pass probability, which is anything between 0.02 and 0.98."""
    truth, n = rng.uniform(0.02, 0.98), rng.randint(20, 200)
    return stats.wilson(sum(rng.random() < truth for _ in range(n)), n), truth


def mean_of_few(rng: random.Random) -> Evaluation:
    """Three to twenty-nine normal rewards."""
    return stats.student([rng.gauss(3, 2) for _ in range(rng.randint(3, 29))]), 3.0


def mean_of_many(rng: random.Random) -> Evaluation:
    """Fifty to two hundred uniform rewards."""
    return stats.student([rng.random() for _ in range(rng.randint(50, 200))]), 0.5


def mean_over_trials(rng: random.Random) -> Evaluation:
    """Forty tasks of their own difficulty with two to five trials each."""
    tasks = [(rng.gauss(0, 1), rng.randint(2, 5)) for _ in range(40)]
    return stats.clustered([[rng.gauss(center, 1) for _ in range(n)] for center, n in tasks]), 0.0


def pass_rate_over_trials(rng: random.Random) -> Evaluation:
    """Fifty tasks of their own difficulty, four trials each, passed by a third on average."""
    tasks = [rng.betavariate(1, 2) for _ in range(50)]
    counts = [(4, sum(rng.random() < p for _ in range(4))) for p in tasks]
    return stats.proportion_clustered(counts), 1 / 3


def median(rng: random.Random) -> Evaluation:
    """Sixty to two hundred skewed values."""
    return stats.median_interval([rng.lognormvariate(0, 1) for _ in range(rng.randint(60, 200))]), 1.0


def median_over_trials(rng: random.Random) -> Evaluation:
    """Sixty tasks of their own difficulty, four trials each."""
    tasks = [rng.gauss(0, 1) for _ in range(60)]
    return stats.median_clustered([[rng.gauss(center, 1) for _ in range(4)] for center in tasks]), 0.0


def pass_hat(rng: random.Random) -> Evaluation:
    """pass^2 of fifty tasks with four trials each; their pass probability is uniform, so the truth is 1/3."""
    tasks = [rng.random() for _ in range(50)]
    counts = [(4, sum(rng.random() < p for _ in range(4))) for p in tasks]
    return stats.pass_hat_k(counts, 2).interval, 1 / 3


def paired_pass_fail(rng: random.Random) -> Evaluation:
    """A hundred common tasks of their own difficulty, run a ten points better."""
    cells = [0, 0, 0, 0]
    for p in (rng.uniform(0, 0.9) for _ in range(100)):
        a, b = rng.random() < p + 0.1, rng.random() < p
        cells[2 * (not a) + (not b)] += 1
    return stats.newcombe_paired(*cells), 0.1


def paired_rewards(rng: random.Random) -> Evaluation:
    """Twelve common tasks of their own difficulty with normal rewards."""
    tasks = [rng.gauss(0, 3) for _ in range(12)]
    a = {str(i): [rng.gauss(center + 1, 1)] for i, center in enumerate(tasks)}
    b = {str(i): [rng.gauss(center, 1)] for i, center in enumerate(tasks)}
    return stats.paired_difference(a, b, resamples=1).difference, 1.0


def unpaired_pass_fail(rng: random.Random) -> Evaluation:
    """Sixty tasks against ninety others."""
    p = rng.uniform(0.1, 0.8)
    passes = sum(rng.random() < p + 0.1 for _ in range(60)), sum(rng.random() < p for _ in range(90))
    return stats.newcombe(passes[0], 60, passes[1], 90), 0.1


def unpaired_rewards(rng: random.Random) -> Evaluation:
    """Ten rewards against twenty-five others that vary less."""
    a = stats.moments([rng.gauss(1, 3) for _ in range(10)])
    b = stats.moments([rng.gauss(0, 1) for _ in range(25)])
    return stats.welch_interval(a, b), 1.0


CASES: tuple[Case, ...] = (
    pass_rate,
    mean_of_few,
    mean_of_many,
    mean_over_trials,
    pass_rate_over_trials,
    median,
    median_over_trials,
    pass_hat,
    paired_pass_fail,
    paired_rewards,
    unpaired_pass_fail,
    unpaired_rewards,
)


def coverage(case: Case, evaluations: int, seed: int = 0) -> float:
    """Return the share of seeded synthetic evaluations whose interval contains the truth."""
    rng = random.Random(seed)
    return (
        sum(not interval.excludes(truth) for interval, truth in (case(rng) for _ in range(evaluations))) / evaluations
    )


def main(arguments: list[str]) -> int:
    """Print one line for each case; return 1 when a coverage lies outside 94 to 96 %."""
    evaluations = int(arguments[0]) if arguments else 10_000
    cases = [case for case in CASES if not arguments[1:] or case.__name__ in arguments[1:]]
    error = math.sqrt(0.95 * 0.05 / evaluations)
    print(f"{evaluations:,} evaluations each; the simulation itself is uncertain by ±{1.96 * error:.2%}")
    shares = []
    for case in cases:
        started = time.perf_counter()
        shares.append(coverage(case, evaluations))
        print(f"{case.__name__:<24} {shares[-1]:7.2%}   {time.perf_counter() - started:6.1f} s", flush=True)
    return int(not all(0.94 <= share <= 0.96 for share in shares))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
