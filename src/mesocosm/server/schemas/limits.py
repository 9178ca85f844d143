"""Documents of limits and budgets."""

from typing import Self

from pydantic import BaseModel, Field


class BudgetDocument(BaseModel):
    """Budget for models within 24 hours, in USD."""

    limit_usd: float | None = Field(description="Budget; null: unlimited.")
    spent_usd: float = Field(description="Amount spent in the last 24 hours, as far as prices are known.")
    left_usd: float | None = Field(description="Remaining budget; null: unlimited.")

    @classmethod
    def of_spent(cls, limit: float | None, spent: float) -> Self:
        """Return a budget by its limit (None: unlimited) and what was spent, in USD."""
        return cls(limit_usd=limit, spent_usd=spent, left_usd=None if limit is None else max(limit - spent, 0.0))


class LimitsDocument(BaseModel):
    """Limits of the caller, and how much of them is left."""

    episodes_per_run: int = Field(description="Maximum number of episodes per run, including trials.")
    steps_per_episode: int = Field(description="Maximum number of steps per episode.")
    tokens_per_episode: int = Field(description="Maximum number of tokens per episode.")
    episode_seconds: float = Field(description="Maximum duration of an episode in seconds.")
    run_seconds: float = Field(description="Maximum duration of a run in seconds.")
    run_usd: float | None = Field(description="Maximum cost of a run in US dollars; null: no limit per run.")
    may_run: bool = Field(description="Whether the caller may submit runs.")
    domains: list[str] | None = Field(description="IDs of the domains that the caller may run; null: all.")
    cooldown_seconds: float = Field(description="Minimum number of seconds between two runs of one person.")
    cooldown_left_seconds: float = Field(description="Seconds until the caller may submit the next run.")
    runs_per_day: int = Field(description="Maximum number of runs per person and day (UTC).")
    runs_left_today: int = Field(description="Number of runs that the caller may still submit today.")
    waiting_at_most: int = Field(description="Maximum number of waiting and running runs per person.")
    waiting: int = Field(description="Number of the caller's waiting and running runs.")
    queue_length: int = Field(description="Number of waiting runs of all users.")
    budget: BudgetDocument = Field(description="Budget of the caller.")
    team_budget: BudgetDocument | None = Field(description="Budget of the requested team; null if none was requested.")
    environments_per_owner: int = Field(description="Maximum number of environments of one member or team.")
    team_size: int = Field(description="Maximum number of members of a team.")
    sign_up: bool = Field(description="Whether anyone may create an account.")
    guests: bool = Field(description="Whether the server can be used without an account.")


class QueuePlace(BaseModel):
    """Position of a run in the queue, provided that no other run is submitted."""

    waiting: bool = Field(description="Whether the run is waiting.")
    position: int | None = Field(
        description="Position, 1 for the next one; null if the run is not waiting, or is far back."
    )
    length: int = Field(description="Number of waiting runs of all users.")
