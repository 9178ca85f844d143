"""Documents of limits and budgets."""

from pydantic import BaseModel, Field


class BudgetDocument(BaseModel):
    """Budget for models within 24 hours, in USD."""

    limit_usd: float | None = Field(description="The budget; null: there is none.")
    spent_usd: float = Field(description="What was spent in the last 24 hours, as far as prices are known.")
    left_usd: float | None = Field(description="What is left; null where nothing is limited.")


class LimitsDocument(BaseModel):
    """Limits of the caller, and how much of them is left."""

    episodes_per_run: int = Field(description="Episodes of a run, with its trials.")
    steps_per_episode: int = Field(description="Steps after which an episode is cut.")
    tokens_per_episode: int = Field(description="Tokens after which an episode is cut.")
    episode_seconds: float = Field(description="Seconds that an episode may take.")
    run_seconds: float = Field(description="Seconds that a run may take.")
    run_usd: float | None = Field(description="What one run may cost in USD; null: no limit of its own.")
    may_run: bool = Field(description="Whether who asks may start runs at all.")
    domains: list[str] | None = Field(description="The domains that who asks may run; null: all.")
    cooldown_seconds: float = Field(description="Seconds between two runs of one person.")
    cooldown_left_seconds: float = Field(description="Seconds until the next run may be started.")
    runs_per_day: int = Field(description="Runs of one person in a day (UTC).")
    runs_left_today: int = Field(description="How many of them are left.")
    waiting_at_most: int = Field(description="Runs of one person that wait or are played.")
    waiting: int = Field(description="How many of who asks wait or are played now.")
    queue_length: int = Field(description="Runs of everybody that wait.")
    budget: BudgetDocument = Field(description="The budget of who asks.")
    team_budget: BudgetDocument | None = Field(description="The budget of the team that was asked about.")
    environments_per_owner: int = Field(description="Environments that one member or team may have.")
    team_size: int = Field(description="Members that a team may have.")
    sign_up: bool = Field(description="Whether people may make accounts themselves.")
    guests: bool = Field(description="Whether people may use the platform without an account.")


class QueuePlace(BaseModel):
    """Position of a run in the queue, provided that no other run is submitted."""

    waiting: bool = Field(description="Whether it waits to be played.")
    position: int | None = Field(description="1: it is next; null where it does not wait, or is far behind.")
    length: int = Field(description="Runs of everybody that wait.")
