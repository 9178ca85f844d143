"""Documents of metrics, scores and usage."""

from pydantic import Field

from mesocosm.server.schemas.document import Document


class MetricDocument(Document):
    """One metric of a run: `value [low, high] n=n_scored/n_planned`, and its value with missing ones counted as worst.

    A null `value` means that nothing was scored; null bounds mean that this aggregation has no interval.
    """

    name: str
    aggregation: str
    value: float | None
    low: float | None
    high: float | None
    method: str
    level: float = Field(description="Confidence level of the intervals, such as 0.95.")
    n_planned: int
    n_scored: int
    n_tasks: int
    n_worst: int
    worst_value: float | None
    missing: dict[str, int]
    pessimistic: float | None = Field(
        description="The value if missing episodes counted as worst; null without any, or without a worst value."
    )
    pessimistic_low: float | None
    pessimistic_high: float | None
    higher_is_better: bool
    directed: bool = Field(description="Whether the direction was declared; if not, higher is assumed to be better.")
    primary: bool
    n_malformed: int = Field(
        default=0,
        description="Number of scored episodes in which a reply without a valid action was passed to the environment.",
    )
    strict: float | None = Field(
        default=None,
        description="The value if these episodes counted as worst; null without any, or without a worst value.",
    )
    strict_low: float | None = Field(default=None, description="Lower bound of the interval of `strict`.")
    strict_high: float | None = Field(default=None, description="Upper bound of the interval of `strict`.")
    weak: bool = Field(
        default=False,
        description="Whether the interval rests on few values, and may contain the truth less or more often than "
        "`level` says.",
    )


class ScoreDocument(Document):
    """One named score of an episode: a number, `worst` (the agent's own failure), or `missing` with its cause."""

    name: str
    value: float | None
    missing: str | None
    worst: bool
    explanation: str


class UsageDocument(Document):
    """Tokens, calls and cost in US dollars; the cost is null if a price is unknown."""

    prompt: int
    completion: int
    cached: int
    reasoning: int
    total: int
    calls: int
    cost_usd: float | None
