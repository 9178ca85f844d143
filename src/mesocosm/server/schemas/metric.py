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
    level: float
    n_planned: int
    n_scored: int
    n_tasks: int
    n_worst: int
    worst_value: float | None
    missing: dict[str, int]
    pessimistic: float | None
    pessimistic_low: float | None
    pessimistic_high: float | None
    higher_is_better: bool
    directed: bool = Field(description="whether the direction is known; else more is only taken for better")
    primary: bool
    n_malformed: int = Field(
        default=0, description="scored episodes with a reply without a valid action that the environment was given"
    )
    strict: float | None = Field(default=None, description="the number if each of these were the worst")
    strict_low: float | None = Field(default=None, description="lower end of the interval of that")
    strict_high: float | None = Field(default=None, description="upper end of the interval of that")


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
