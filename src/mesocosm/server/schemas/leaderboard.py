"""Documents of leaderboards."""

from typing import Literal

from pydantic import BaseModel, Field

from mesocosm.server.schemas.environment import CheckState
from mesocosm.server.schemas.metric import MetricDocument


class LeaderboardAgent(BaseModel):
    """Agent configuration of an entry. Prompts are not published."""

    custom_prompt: bool = Field(description="Whether it had a custom system prompt.")
    techniques: list[str] = Field(description="Techniques that were enabled or given parameters.")
    temperature: float = Field(description="Sampling temperature.")
    max_tokens: int = Field(description="Maximum number of tokens per reply.")


class LeaderboardEntry(BaseModel):
    """All finished runs of one model with one agent configuration, one vow version and one content.

    Content distinguishes versions of an environment. Episodes are pooled by task: two runs of the same seed are two
    trials of one task. Ranks apply among entries of one vow version. An entry may have any rank from `rank` to
    `rank_last`: it shares ranks with entries whose difference could be chance, and with entries that it cannot be
    compared with.
    """

    run_id: str = Field(description="ID of the newest run.")
    domain_id: str = Field(description="ID of the domain.")
    model: str = Field(description="The model.")
    binding_vow_version: str = Field(description="Version of the binding vow.")
    num_episodes: int = Field(description="Number of finished episodes of all runs.")
    primary_score: float | None = Field(
        description="Value of the primary metric over all runs; null if nothing was scored."
    )
    all_scores: dict[str, float] = Field(description="Values of all metrics over all runs, by name.")
    rank: int | None = Field(description="Best possible rank; null if it is not ranked.")
    rank_last: int | None = Field(description="Worst possible rank; null if it is not ranked.")
    tied: bool = Field(description="Whether it shares its ranks with other entries.")
    unranked: str = Field(default="", description="Why the entry is not ranked; empty if it is, and for references.")
    uncompared: int = Field(
        default=0,
        description="Number of ranked entries that it cannot be compared with, because they used another "
        "version of the environment or other scoring rules; it shares ranks with them.",
    )
    reference: Literal["", "floor", "ceiling"] = Field(
        description="Floor or ceiling of the scale (the random, empty and oracle agents), which is not "
        "ranked; otherwise empty."
    )
    primary: MetricDocument | None = Field(description="The primary metric with interval and denominators.")
    metrics: list[MetricDocument] = Field(description="All metrics with intervals and denominators.")
    agent: LeaderboardAgent = Field(description="Agent configuration.")
    runs: int = Field(description="Number of pooled runs.")
    published: int = Field(
        default=0, description="Number of public runs of the same owners with this model and vow version."
    )
    candidates: int = Field(
        default=0,
        description="Number of ended runs that `published` is counted out of, including deleted ones: those "
        "declared public before they started, or all of them if an owner published a run "
        "afterwards.",
    )
    run_ids: list[str] = Field(description="IDs of the newest runs, at most 20.")
    actors: int = Field(description="Number of people who submitted the runs.")
    n_tasks: int = Field(description="Number of different tasks among the scored episodes.")
    n_scored: int = Field(description="Number of episodes with a value.")
    n_planned: int = Field(description="Number of planned episodes.")
    missing: dict[str, int] = Field(description="Number of episodes without a value, by cause.")
    cost_usd: float | None = Field(description="Mean cost of an episode in US dollars; null if a price is unknown.")
    check: CheckState | None = Field(
        default=None,
        description="The author's checks of the environment versions that were used, the worst of them; null "
        "if the domain was registered with a URL.",
    )
    environment_version: int | None = Field(
        default=None, description="Environment version of the newest run; null if the domain was registered with a URL."
    )
    protocol: int | None = Field(
        default=None, description="Version of the domain's protocol that official runs use; null: not official."
    )


class TeamLeaderboardEntry(LeaderboardEntry):
    """Finished runs of a team, including private ones; ranks apply within a domain and a vow version."""

    domain_name: str = Field(description="Title of the domain.")


class DomainLeaderboards(BaseModel):
    """Leaderboards of several domains; those of unknown or unpublished domains are empty."""

    leaderboards: dict[str, list[LeaderboardEntry]] = Field(description="Entries by domain ID, best first.")
