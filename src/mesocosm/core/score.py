"""Scores of episodes and metrics of runs."""

import math
from typing import Annotated

import msgspec

from mesocosm.core.failure import Cause
from mesocosm.core.task import Task

MALFORMED = "malformed_replies"
"""Score of an episode in which so many malformed replies were passed to the environment as they stood.

Others have none. It is also the key of the episode's terminal info that holds the number.
"""


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """One named value of one episode.

    Without a value it is either missing for a cause, or `worst`: the agent failed by its own doing, and the metric
    takes its worst value for this episode.
    """

    name: str
    value: float | None = None
    missing: Cause | None = None
    worst: bool = False
    explanation: str = ""


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """How scores named `score` become one number of the run.

    `aggregation` is one of mean, median, max, min, sum, pass_rate (share of values above `threshold`; where it is
    `inclusive` also of those that equal it). `low` and `high` bound the values where the benchmark declares it; they
    give the worst value. A metric that is not `directed` does not declare whether more or less is better: more is taken
    for better, and comparisons say only which is higher.
    With `where` it is the metric of a part: of tasks whose metadata hold all these values; others have no such score.
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

    @property
    def bar(self) -> float:
        """The number that a value must exceed to pass."""
        return math.nextafter(self.threshold, -math.inf) if self.inclusive else self.threshold

    def covers(self, task: Task) -> bool:
        """Return whether the metric is about this task."""
        return all(task.metadata.get(name) == value for name, value in self.where.items())


class MetricTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the metrics of a run are computed by: a part of its benchmark's description (`Run.info`).

    `unscored` planned episodes have no score by design. With `discovers`, scores that no metric is about are means of
    their own. `parts` is of how many planned episodes each metric of a part is.
    """

    metrics: tuple[Metric, ...] = ()
    unscored: Annotated[int, msgspec.Meta(ge=0)] = 0
    discovers: bool = False
    parts: dict[str, Annotated[int, msgspec.Meta(ge=0)]] = {}


class MetricResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """One number of a run with everything needed to trust it.

    `value [low, high]` is the reading without missing episodes; `pessimistic` counts every missing one as worst.
    `n_planned = n_scored + sum(missing.values())`; `n_worst` of the scored ones were failures of the agent itself.
    None stands for a number that does not exist (nothing scored, no interval for this aggregation).
    `n_malformed` of the scored ones hold a reply without a valid action that the environment was given as it stood;
    `strict` is the reading in which each of these counts as worst.
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
