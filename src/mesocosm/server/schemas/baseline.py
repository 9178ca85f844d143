"""Documents of runs against a baseline."""

from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document


class BoundDocument(Document):
    """What a built-in agent reached: floor (random, empty) or ceiling (oracle) of a benchmark."""

    run_id: str
    model: str
    value: float
    n: int = Field(description="Number of scored tasks.")
    same_tasks: bool = Field(description="Whether it ran the tasks of the run, not others of the benchmark.")


class StandingDocument(Document):
    """A run against the baseline of its benchmark: `delta` = run − baseline over the tasks of both, with its interval.

    Trials are averaged by task first. `delta` is null in every state but `difference`.
    """

    run_id: str
    state: Literal[
        "baseline", "difference", "other_tasks", "few_tasks", "no_score", "no_baseline", "going_on", "builtin"
    ]
    baseline_id: str | None
    delta: float | None
    low: float | None
    high: float | None
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    level: float | None
    n: int | None = Field(description="Number of tasks that were paired.")
    better: bool | None = Field(description="Null if the interval includes 0, or no direction is declared.")
    why: str
    floor: BoundDocument | None
    ceiling: BoundDocument | None


class RunStandings(Document):
    """Runs against the baselines of their benchmarks, in the order in which they were asked for."""

    items: list[StandingDocument]
