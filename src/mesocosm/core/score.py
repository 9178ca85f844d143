"""Scores of episodes and metrics of runs."""

import math
from typing import Annotated, Any

import msgspec

from mesocosm.core.failure import Cause
from mesocosm.core.task import Task

MALFORMED = "malformed_replies"
"""Name of the score that counts the malformed replies of an episode that were passed to the environment unchanged.

Episodes without any have no such score. Also the key of this number in the episode's terminal info.
"""

STDERR, COUNT = "_stderr", "_n"
"""Ends of the names of scores that hold the standard error of a program's score, and the number of its items."""


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """One named value of one episode.

    Without a value it is either missing for a cause, or `worst`: the agent caused the failure, and the metric takes
    its worst value for this episode.

    Of the primary score, the engine stores three more facts with the episode, not with the score: `answer` is what the
    grader read from the reply, `expected` the right answer if the task's target is not what a person would read, and
    `mistake` a short name for the kind of mistake, by which wrong answers are grouped.

    >>> Score("exact", 1.0, explanation="the same text").value
    1.0
    """

    name: str
    value: float | None = None
    missing: Cause | None = None
    worst: bool = False
    explanation: str = ""
    answer: Any = None
    expected: Any = None
    mistake: str = ""


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """How scores named `score` become one number of the run.

    `aggregation` is one of mean, median, max, min, sum, pass_rate (share of values above `threshold`, or also equal to
    it if `inclusive`). `low` and `high` are the bounds that the benchmark declares, None if it declares none; they give
    the worst value. A metric that is not `directed` does not declare whether higher is better: higher is assumed, and
    comparisons only report which is higher. With `where`, the metric covers only tasks with all these metadata values;
    other tasks have no such score. The values of a `lone` metric are totals of whole programs: one alone has no
    interval but that of the scores `NAME_stderr` or `NAME_n` beside it, and neither 0 nor 1 is a failure or a pass.

    >>> Metric("solved", "correct", "pass_rate", threshold=0.5, primary=True).bar
    0.5
    """

    name: str
    score: str
    aggregation: str = "mean"
    threshold: float = 0.0
    higher_is_better: bool = True
    low: float | None = None
    high: float | None = None
    primary: bool = False
    directed: bool = True
    where: dict[str, str] = {}
    inclusive: bool = False
    lone: bool = False

    @property
    def bar(self) -> float:
        """The number that a value must exceed to pass; just below `threshold` if `inclusive`."""
        return math.nextafter(self.threshold, -math.inf) if self.inclusive else self.threshold

    def covers(self, task: Task) -> bool:
        """Return whether the metric applies to this task."""
        return all(task.metadata.get(name) == value for name, value in self.where.items())


class MetricTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the metrics of a run are computed: a part of its benchmark's description (`Run.info`).

    `unscored` planned episodes have no score by design. With `discovers`, each score without a metric becomes a mean of
    its own. `parts` maps each metric that covers only some tasks to its number of planned episodes.
    """

    metrics: tuple[Metric, ...] = ()
    unscored: Annotated[int, msgspec.Meta(ge=0)] = 0
    discovers: bool = False
    parts: dict[str, Annotated[int, msgspec.Meta(ge=0)]] = {}


WHOLE = "whole"
"""Aggregation of a number that only the benchmark can make, of all episodes at once; it has no interval."""


class WholeNumber(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number of a whole run that is no mean of its episodes, such as the BLEU of a corpus; `count` episodes made it.

    With `where` it covers only tasks with all these metadata values.
    """

    name: str
    value: float | None
    count: int
    higher_is_better: bool = True
    directed: bool = True
    where: dict[str, str] = {}


class MetricResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric of a run, with interval and counts.

    `value [low, high]` leaves missing episodes out; `pessimistic` counts every missing one as worst.
    `n_planned = n_scored + sum(missing.values())`; in `n_worst` of the scored episodes the agent itself failed. None
    means that a number does not exist (nothing scored, no interval for this aggregation). In `n_malformed` of the
    scored episodes a reply without a valid action was passed to the environment unchanged; `strict` counts each of
    these as worst. A `weak` interval rests on few values, so that it may contain the truth less or more often than
    `level` says.
    """

    name: str
    aggregation: str
    value: float | None
    low: float | None
    high: float | None
    method: str
    n_planned: int
    n_scored: int
    n_tasks: int
    missing: dict[str, int] = {}
    n_worst: int = 0
    worst_value: float | None = None
    pessimistic: float | None = None
    pessimistic_low: float | None = None
    pessimistic_high: float | None = None
    higher_is_better: bool = True
    primary: bool = False
    level: float = 0.95
    directed: bool = True
    n_malformed: int = 0
    strict: float | None = None
    strict_low: float | None = None
    strict_high: float | None = None
    weak: bool = False


_ROUNDING, _SMALL, _LARGE, _HUGE = 1e-12, 1e-4, 1e3, 1e12
"""Sizes at which scores are written in another form; below the first they are errors of rounding."""


def number_text(value: float, *, signed: bool = False) -> str:
    """Return a score as people read it: with four decimals, or with a power of ten if it is tiny or huge.

    >>> number_text(0.5), number_text(12345.67), number_text(2e-5), number_text(0.5, signed=True)
    ('0.5000', '12,345.7', '2.00e-05', '+0.5000')
    """
    size = abs(value)
    if size < _ROUNDING:
        text = "0.0000"
    elif size < _SMALL or size >= _HUGE:
        text = f"{value:.2e}"
    else:
        text = f"{value:.4f}" if size < _LARGE else f"{value:,.1f}"
    return f"+{text}" if signed and not text.startswith("-") else text


def interval_text(low: float | None, high: float | None, *, weak: bool = False, signed: bool = False) -> str:
    """Return `[low, high]`, followed by `weak` if it is, or an empty text without an interval.

    Bounds that differ never look the same.
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    ends = [number_text(end, signed=signed) for end in (low, high)]
    if ends[0] == ends[1] and low < high:
        digits = next((count for count in range(5, 17) if f"{low:.{count}g}" != f"{high:.{count}g}"), 17)
        ends = [f"{end:{'+' * signed}.{digits}g}" for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]{' weak' * weak}"
