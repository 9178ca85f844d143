"""How often the 95 % intervals contain the truth, over synthetic evaluations whose truth is known.

Run `python perf/coverage.py [EVALUATIONS] [CASE ...]`; 10,000 evaluations of every case take about a minute.
`python perf/coverage.py table [EVALUATIONS]` simulates the hard regimes too, and writes their table into
docs/statistics.md: about a quarter of an hour for 4,000 evaluations of each cell.
"""

import math
import random
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mesocosm import stats
from mesocosm.stats.distribution import binomial_cdf, binomial_pmf
from mesocosm.stats.rates import critical_flips

Evaluation = tuple[stats.Interval, float]
Case = Callable[[random.Random], Evaluation]


def pass_rate(rng: random.Random) -> Evaluation:
    """Twenty to two hundred tasks of one pass probability, which is anything between 0.02 and 0.98."""
    truth, n = rng.uniform(0.02, 0.98), rng.randint(20, 200)
    return stats.wilson(sum(rng.random() < truth for _ in range(n)), n), truth


def mean_of_few(rng: random.Random) -> Evaluation:
    """Three to twenty-nine normal rewards."""
    return stats.mean_interval([rng.gauss(3, 2) for _ in range(rng.randint(3, 29))]), 3.0


def mean_of_many(rng: random.Random) -> Evaluation:
    """Fifty to two hundred uniform rewards."""
    return stats.mean_interval([rng.random() for _ in range(rng.randint(50, 200))]), 0.5


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
    return stats.paired_rate_difference(*cells), 0.1


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
    return stats.rate_difference(passes[0], 60, passes[1], 90), 0.1


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


# Hard regimes

LOWEST, HIGHEST = 0.93, 0.985
"""Between these lies the coverage of every cell whose intervals are not weak."""
SIZES = (5, 10, 20, 50, 100, 200)


@dataclass(frozen=True)
class Regime:
    """Evaluations of one kind; `case` makes one of them with so many values (or tasks)."""

    kind: str
    name: str
    case: Callable[[random.Random, int], Evaluation]


@dataclass(frozen=True)
class Cell:
    """How often the intervals contain the truth, and the shares of those that are weak and that say nothing."""

    contains: float
    weak: float
    none: float

    @property
    def told(self) -> str:
        """Whether most of its intervals say themselves that they are weak or none."""
        if self.none >= 0.5:
            return "none"
        return "weak" if self.weak + self.none >= 0.5 else ""

    @property
    def holds(self) -> bool:
        """Whether it is within the limits, or says that it may not be."""
        return bool(self.told) or LOWEST <= round(self.contains, 3) <= HIGHEST

    def __str__(self) -> str:
        """Return the coverage in percent, in brackets if it is weak, a dash if there is no interval."""
        if self.told == "none":
            return "–"
        shown = f"{100 * self.contains:.1f}"
        return f"({shown})" if self.told else shown


Draw = Callable[[random.Random], float]


def _rate(p: float) -> Regime:
    def case(rng: random.Random, n: int) -> Evaluation:
        return stats.wilson(sum(rng.random() < p for _ in range(n)), n), p

    return Regime("pass rate", f"{p:g}", case)


def _rewards(name: str, draw: Draw, truth: float, *, bounded: bool) -> Regime:
    bounds = (0.0, 1.0) if bounded else None

    def case(rng: random.Random, n: int) -> Evaluation:
        return stats.mean_interval([draw(rng) for _ in range(n)], bounds=bounds), truth

    return Regime("mean between 0 and 1" if bounded else "mean without bounds", name, case)


def _sparse(p: float, draw: Draw, rest: float = 0.0) -> Draw:
    return lambda rng: draw(rng) if rng.random() < p else rest


def _trials(pattern: Sequence[int], a: float, b: float) -> Regime:
    def case(rng: random.Random, n: int) -> Evaluation:
        counts = []
        for task in range(n):
            size, p = pattern[task % len(pattern)], rng.betavariate(a, b)
            counts.append((size, sum(rng.random() < p for _ in range(size))))
        return stats.proportion_clustered(counts), a / (a + b)

    return Regime("pass rate over trials", f"{', '.join(map(str, pattern))} trials, rates Beta({a:g}, {b:g})", case)


def _clusters(pattern: Sequence[int], own: float) -> Regime:
    def case(rng: random.Random, n: int) -> Evaluation:
        tasks = [(rng.gauss(0, own), pattern[task % len(pattern)]) for task in range(n)]
        return stats.clustered([[rng.gauss(center, 1) for _ in range(size)] for center, size in tasks]), 0.0

    return Regime("mean over trials", f"{', '.join(map(str, pattern))} trials, sd of tasks {own:g}, of trials 1", case)


def _passes(trials: int, k: int, a: float, b: float, *, hat: bool = False) -> Regime:
    of = stats.pass_hat_k if hat else stats.pass_at_k
    other = math.prod(((a if hat else b) + i) / (a + b + i) for i in range(k))

    def case(rng: random.Random, n: int) -> Evaluation:
        rates = (rng.betavariate(a, b) for _ in range(n))
        counts = [(trials, sum(rng.random() < p for _ in range(trials))) for p in rates]
        return of(counts, k).interval, other if hat else 1 - other

    return Regime("pass@k, pass^k", f"pass{'^' if hat else '@'}{k} of {trials}, rates Beta({a:g}, {b:g})", case)


def _median(name: str, draw: Draw, truth: float) -> Regime:
    return Regime("median", name, lambda rng, n: (stats.median_interval([draw(rng) for _ in range(n)]), truth))


def _flips(share: float, gain: float) -> Regime:
    def case(rng: random.Random, n: int) -> Evaluation:
        flips = [rng.random() for _ in range(n)]
        only_a, only_b = (share + gain) / 2, (share - gain) / 2
        a, b = sum(u < only_a for u in flips), sum(u > 1 - only_b for u in flips)
        both = sum(rng.random() < 0.6 for _ in range(n - a - b))
        return stats.paired_rate_difference(both, a, b, n - a - b - both), gain

    return Regime("difference on the same tasks", f"{gain:g}, {share:g} of the tasks flip", case)


def _two_rates(a: float, b: float) -> Regime:
    def case(rng: random.Random, n: int) -> Evaluation:
        passes = (sum(rng.random() < p for _ in range(n)) for p in (a, b))
        return stats.rate_difference(next(passes), n, next(passes), n), a - b

    return Regime("difference on other tasks", f"rates {a:g} and {b:g}", case)


def regimes() -> Iterator[Regime]:
    """Yield all kinds of hard evaluations."""
    yield from map(_rate, (0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.99, 0.999))
    for name, draw, truth in (
        ("uniform", random.Random.random, 0.5),
        ("Beta(2, 8)", lambda rng: rng.betavariate(2, 8), 0.2),
        ("Beta(0.2, 1.8)", lambda rng: rng.betavariate(0.2, 1.8), 0.1),
        ("Beta(0.05, 0.95)", lambda rng: rng.betavariate(0.05, 0.95), 0.05),
        ("Beta(20, 1)", lambda rng: rng.betavariate(20, 1), 20 / 21),
        ("Beta(0.1, 0.1)", lambda rng: rng.betavariate(0.1, 0.1), 0.5),
        ("0.70 ± 0.01", lambda rng: rng.gauss(0.7, 0.01), 0.7),
        ("four of four, 80 % each", lambda rng: sum(rng.random() < 0.8 for _ in range(4)) / 4, 0.8),
        ("0, but 2 % uniform", _sparse(0.02, random.Random.random), 0.01),
        ("0, but 5 % are 0.5", _sparse(0.05, lambda _rng: 0.5), 0.025),
        ("1, but 5 % uniform", _sparse(0.05, random.Random.random, 1.0), 0.975),
        ("1, but 30 % uniform", _sparse(0.3, random.Random.random, 1.0), 0.85),
        ("0.5, but 10 % uniform", _sparse(0.1, random.Random.random, 0.5), 0.5),
    ):
        yield _rewards(name, draw, truth, bounded=True)
    for name, draw, truth in (
        ("normal", lambda rng: rng.gauss(3, 1), 3.0),
        ("exponential", lambda rng: rng.expovariate(1), 1.0),
        ("5 − exponential", lambda rng: 5 - rng.expovariate(1), 4.0),
        ("Gamma(0.5)", lambda rng: rng.gammavariate(0.5, 1), 0.5),
        ("lognormal, σ 0.5", lambda rng: rng.lognormvariate(0, 0.5), math.exp(0.125)),
        ("lognormal, σ 1", lambda rng: rng.lognormvariate(0, 1), math.exp(0.5)),
        ("lognormal, σ 1.5", lambda rng: rng.lognormvariate(0, 1.5), math.exp(1.125)),
        ("all the same", lambda _rng: 7.0, 7.0),
    ):
        yield _rewards(name, draw, truth, bounded=False)
    for pattern in ((4,), (1, 2, 3), (1, 1, 2, 20)):
        for a, b in ((1, 2), (0.1, 0.9), (1, 30), (20, 1)):
            yield _trials(pattern, a, b)
    for pattern in ((4,), (1, 1, 2, 20)):
        for own in (0.5, 3.0):
            yield _clusters(pattern, own)
    for a, b in ((1, 1), (5, 1), (9, 1), (1, 9)):
        yield _passes(10, 5, a, b)
    for a, b in ((1, 1), (5, 1)):
        yield _passes(4, 2, a, b, hat=True)
    yield _median("lognormal", lambda rng: rng.lognormvariate(0, 1), 1.0)
    yield _median("normal", lambda rng: rng.gauss(0, 1), 0.0)
    for share, gain in ((0.05, 0.0), (0.2, 0.0), (0.2, 0.1), (0.5, 0.2)):
        yield _flips(share, gain)
    for a, b in ((0.05, 0.05), (0.3, 0.3), (0.5, 0.3), (0.95, 0.8)):
        yield _two_rates(a, b)


def simulated(regime: Regime, n: int, evaluations: int) -> Cell:
    """Return the cell of a regime, seeded by its name and n."""
    rng = random.Random(f"{regime.kind} {regime.name} {n}")
    contained = weak = none = 0
    for _ in range(evaluations):
        interval, truth = regime.case(rng, n)
        contained += not interval.excludes(truth)
        none += not interval.bounded
        weak += interval.bounded and interval.weak
    return Cell(contained / evaluations, weak / evaluations, none / evaluations)


# False alarms

ALARMS = (20, 50, 100, 200, 500)
"""Numbers of tasks of comparisons without a difference."""
FEWEST_ALARMS, MOST_ALARMS = 0.035, 0.055

Alarms = Callable[[int, int], float]
"""The share of comparisons of equal runs over so many tasks that are called different, of so many evaluations."""


def _equal_flips(share: float) -> Alarms:
    def alarms(n: int, _evaluations: int) -> float:
        critical = critical_flips(n, 0.95)
        return math.fsum(
            binomial_pmf(flips, n, share)
            * 2
            * binomial_cdf(math.floor((flips - critical * math.sqrt(flips)) / 2), flips, 0.5)
            for flips in range(1, n + 1)
        )

    return alarms


def _equal_rates(rate: float) -> Alarms:
    def alarms(n: int, _evaluations: int) -> float:
        chances = [binomial_pmf(passes, n, rate) for passes in range(n + 1)]
        likely = [passes for passes, chance in enumerate(chances) if chance > 1e-7]
        found = 0.0
        for few in likely:
            # The more the other run passes, the rarer: search for the first number that is rejected.
            many = bisect_left(range(few, n + 1), True, key=lambda b, a=few: stats.barnard(a, n, b, n).p_value <= 0.05)
            found += 2 * chances[few] * math.fsum(chances[few + many :])
        return found

    return alarms


def _simulated(called: Callable[[random.Random, int], stats.DifferenceTest]) -> Alarms:
    def alarms(n: int, evaluations: int) -> float:
        rng = random.Random(n)
        return sum(called(rng, n).verdict != "tie" for _ in range(evaluations)) / evaluations

    return alarms


def _drawn(draw: Draw, rng: random.Random, n: int, name: str = "") -> dict[str, list[float]]:
    return {f"{name}{i}": [draw(rng)] for i in range(n)}


def _equal_rewards(draw: Draw) -> Alarms:
    return _simulated(
        lambda rng, n: stats.paired_difference(_drawn(draw, rng, n), _drawn(draw, rng, n), resamples=1_000)
    )


def _equal_means(draw: Draw) -> Alarms:
    return _simulated(lambda rng, n: stats.unpaired_difference(_drawn(draw, rng, n, "a"), _drawn(draw, rng, n, "b")))


VERDICTS: Mapping[str, Alarms] = {
    "same tasks, 5 % flip": _equal_flips(0.05),
    "same tasks, 20 % flip": _equal_flips(0.2),
    "same tasks, 40 % flip": _equal_flips(0.4),
    "same tasks, all flip": _equal_flips(1 - 1e-9),
    "other tasks, rates 0.05": _equal_rates(0.05),
    "other tasks, rates 0.2": _equal_rates(0.2),
    "other tasks, rates 0.5": _equal_rates(0.5),
    "same tasks, normal rewards": _equal_rewards(lambda rng: rng.gauss(0, 1)),
    "same tasks, exponential rewards": _equal_rewards(lambda rng: rng.expovariate(1)),
    "same tasks, rewards 0, 0.5 and 1": _equal_rewards(lambda rng: rng.randrange(3) / 2),
    "same tasks, 80 % of rewards are 0": _equal_rewards(_sparse(0.2, random.Random.random)),
    "other tasks, normal rewards": _equal_means(lambda rng: rng.gauss(0, 1)),
    "other tasks, exponential rewards": _equal_means(lambda rng: rng.expovariate(1)),
}


def false_alarms(evaluations: int) -> tuple[list[str], int]:
    """Return the table of false alarms of final comparisons, and how many cells are outside the limits."""
    heads = " | ".join(f"{n} tasks" for n in ALARMS)
    lines, outside = [f"| comparison of equal runs | {heads} |", f"|---|{'--:|' * len(ALARMS)}"], 0
    for name, alarms in VERDICTS.items():
        shares = [alarms(n, evaluations) for n in ALARMS]
        outside += sum(not FEWEST_ALARMS <= share <= MOST_ALARMS for share in shares)
        lines.append(f"| {name} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |")
        print(lines[-1], flush=True)
    return lines, outside


# Comparisons that somebody looks at while they go on

LOOK, TASKS = 20, 1_000
Differences = Callable[[random.Random], Iterator[list[float]]]
"""The differences that are there at each look, of one comparison."""


def _growing(one: Draw) -> Differences:
    def looks(rng: random.Random) -> Iterator[list[float]]:
        found: list[float] = []
        while len(found) < TASKS:
            found += [one(rng) for _ in range(LOOK)]
            yield found

    return looks


def _flip(gain: float, share: float = 0.2) -> Draw:
    def draw(rng: random.Random) -> float:
        u = rng.random()
        return 1.0 if u < (share + gain) / 2 else -1.0 if u < share else 0.0

    return draw


def _trial_after_trial(rng: random.Random) -> Iterator[list[float]]:
    """Yield the mean differences of 100 tasks with four trials; their differences are even on average."""
    own = [0.4 * rng.choice((-1, 1)) for _ in range(100)]
    sums, sizes = [0.0] * 100, [0] * 100
    for _ in range(4):
        for task in range(100):
            a, b = rng.random() < 0.5 + own[task] / 2, rng.random() < 0.5 - own[task] / 2
            sums[task] += a - b
            sizes[task] += 1
            if task % LOOK == LOOK - 1:
                yield [total / size for total, size in zip(sums, sizes, strict=True) if size]


def _mcnemar_rejects(differences: Sequence[float]) -> bool:
    flips = sum(map(abs, differences))
    return abs(sum(differences)) > critical_flips(len(differences), 0.95) * math.sqrt(flips) if flips else False


def _bets_reject(differences: Sequence[float]) -> bool:
    return stats.always_valid(differences, 1.0).p_value <= 0.05


Rule = Callable[[Sequence[float]], bool]
LIVE: Sequence[tuple[str, Rule, Differences]] = (
    ("no difference, McNemar's test", _mcnemar_rejects, _growing(_flip(0.0))),
    ("no difference, always valid", _bets_reject, _growing(_flip(0.0))),
    ("no difference, 5 % flip, always valid", _bets_reject, _growing(_flip(0.0, 0.05))),
    ("no difference, all flip, always valid", _bets_reject, _growing(_flip(0.0, 1.0))),
    ("no difference, 400 trials of 100 unequal tasks, always valid", _bets_reject, _trial_after_trial),
    ("6 points, always valid", _bets_reject, _growing(_flip(0.06))),
    ("10 points, always valid", _bets_reject, _growing(_flip(0.1))),
    ("20 points, always valid", _bets_reject, _growing(_flip(0.2))),
)


def live_comparisons(evaluations: int) -> tuple[list[str], int]:
    """Return the table of comparisons that are looked at every 20 tasks, and how many always valid alarm too often."""
    lines = ["| looked at every 20 of 1,000 tasks, 20 % flip | called | after |", "|---|--:|--:|"]
    wrong = 0
    for name, rule, looks in LIVE:
        rng, called, after = random.Random(name), 0, 0
        for _ in range(evaluations):
            for look, found in enumerate(looks(rng), 1):
                if rule(found):
                    called += 1
                    after += look * LOOK
                    break
        share = called / evaluations
        wrong += name.startswith("no ") and "always" in name and share > MOST_ALARMS
        mean = f"{after / called:.0f} tasks" if called and not name.startswith("no ") else ""
        lines.append(f"| {name} | {100 * share:.1f} % | {mean} |")
        print(lines[-1], flush=True)
    return lines, wrong


def write_tables(evaluations: int, place: Path) -> int:
    """Simulate everything and put the tables between marks of a page; return how many cells do not hold."""
    cells, wrong = coverage_table(evaluations)
    alarms, outside = false_alarms(evaluations)
    live, often = live_comparisons(max(evaluations, 10_000))
    note = f"Percent of {evaluations:,} evaluations each."
    counted = f"Percent; of pass or fail computed, of rewards {evaluations:,} simulated comparisons each."
    page = place.read_text(encoding="utf-8")
    for mark, lines in (("simulated", [note, *cells]), ("false alarms", [counted, "", *alarms]), ("live", live)):
        before, rest = page.split(f"<!-- {mark} -->")
        after = rest.split(f"<!-- end of {mark} -->")[1]
        page = f"{before}<!-- {mark} -->\n{chr(10).join(lines)}\n\n<!-- end of {mark} -->{after}"
    place.write_text(page, encoding="utf-8")
    print(f"{wrong} intervals, {outside} final and {often} live comparisons are outside the limits")
    return wrong + often


def coverage_table(evaluations: int) -> tuple[list[str], int]:
    """Return the table of all regimes, and how many of its cells do not hold."""
    lines: list[str] = []
    kind, wrong = "", 0
    for regime in regimes():
        if regime.kind != kind:
            kind = regime.kind
            counted = "tasks" if kind.startswith(("pass rate over", "mean over", "pass@", "difference")) else "values"
            heads = " | ".join(f"{n} {counted}" for n in SIZES)
            lines += ["", f"| {kind} | {heads} |", f"|---|{'--:|' * len(SIZES)}"]
        cells = [simulated(regime, n, evaluations) for n in SIZES]
        wrong += sum(not cell.holds for cell in cells)
        lines.append(f"| {regime.name} | {' | '.join(map(str, cells))} |")
        outside = [n for n, cell in zip(SIZES, cells, strict=True) if not cell.holds]
        print(lines[-1], f"outside the limits: {outside}" if outside else "", flush=True)
    return lines, wrong


def main(arguments: list[str]) -> int:
    """Print one line for each case; return 1 if coverage lies outside 94 to 96 %, or one of the table's its limits."""
    if arguments[:1] == ["table"]:
        evaluations = int(arguments[1]) if arguments[1:] else 4_000
        return int(write_tables(evaluations, Path(__file__).parents[1] / "docs" / "statistics.md") > 0)
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
