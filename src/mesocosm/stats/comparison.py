"""The outcome of comparing two runs, paired or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mesocosm.stats.interval import Interval
from mesocosm.stats.moments import check_values

Verdict = Literal["a", "b", "tie"]


@dataclass(frozen=True, slots=True)
class Flip:
    """A task that one run passed and the other failed: its pass shares in both (a majority of trials decides)."""

    task: str
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class DifferenceTest:
    """Run a against run b.

    `difference` is mean of a minus mean of b over `n_a` and `n_b` tasks, each task counting once. When `paired`,
    n_a = n_b tasks are common, and `only_a` and `only_b` were left out; unpaired, every task counts and both lists
    are empty. `flips` is empty unless the scores are pass or fail and paired. `smallest_difference` is what this many
    tasks could have shown with 80 % power, infinite when nothing could have been shown, None when the scores do not
    vary, so that it cannot be told.
    """

    paired: bool
    mean_a: float
    mean_b: float
    difference: Interval
    p_value: float
    test: str
    n_a: int
    n_b: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    flips: tuple[Flip, ...]
    smallest_difference: float | None

    @property
    def verdict(self) -> Verdict:
        """The run with the larger mean, or "tie" unless the interval excludes 0 and the test rejects at its level.

        Intervals of few or discrete values are approximate, the tests are exact: three tasks won out of three are no
        proof, whatever a formula says. Among several comparisons, put Holm's p value in place first (`holm`).
        """
        if not self.difference.excludes(0) or self.p_value > 1 - self.difference.level:
            return "tie"
        return "a" if self.difference.value > 0 else "b"


def scored(run: Mapping[str, Sequence[float]], threshold: float | None) -> dict[str, Sequence[float]]:
    """Return the tasks that have values, as pass (1) or fail (0) when there is a `threshold` to exceed.

    Raises ValueError when a value is not usable.
    """
    tasks = {task: values for task, values in run.items() if len(values)}
    for values in tasks.values():
        check_values(values)
    if threshold is None:
        return tasks
    return {task: [float(value > threshold) for value in values] for task, values in tasks.items()}
