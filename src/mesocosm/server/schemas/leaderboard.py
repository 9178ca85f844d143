"""Documents of leaderboards."""

from typing import Literal

from pydantic import BaseModel, Field

from mesocosm.server.schemas.environment import CheckState
from mesocosm.server.schemas.metric import MetricDocument


class LeaderboardAgent(BaseModel):
    """Agent configuration of an entry. Prompts are not published."""

    custom_prompt: bool = Field(description="whether it had a system prompt of its own")
    techniques: list[str] = Field(description="techniques that were switched on or given parameters")
    temperature: float = Field(description="temperature of sampling")
    max_tokens: int = Field(description="tokens of one answer at most")


class LeaderboardEntry(BaseModel):
    """All finished runs of one model with one agent configuration, one vow version and one content.

    Content distinguishes versions of an environment. Episodes are pooled by task: two runs of the same seed are two
    trials of one task. Ranks apply among entries of one vow version. An entry may have any rank from `rank` to
    `rank_last`: it shares ranks with entries whose difference could be chance, and with entries that it cannot be
    compared with.
    """

    run_id: str = Field(description="the newest of the runs")
    domain_id: str = Field(description="the domain that they are of")
    model: str = Field(description="the model")
    binding_vow_version: str = Field(description="the version of the binding vow")
    num_episodes: int = Field(description="finished episodes of all runs together")
    primary_score: float | None = Field(description="the primary metric over all runs; null: nothing was scored")
    all_scores: dict[str, float] = Field(description="every metric over all runs")
    rank: int | None = Field(description="the best place that it may have; null: it takes none")
    rank_last: int | None = Field(description="the last place that it may have")
    tied: bool = Field(description="whether it shares its places with others")
    unranked: str = Field(default="", description="why it takes no place; empty where it does, and for references")
    uncompared: int = Field(
        default=0,
        description="entries with a place that it cannot be compared with, since they were played in another version "
        "of the environment or scored by other rules; it shares places with them",
    )
    reference: Literal["", "floor", "ceiling"] = Field(
        description="floor or ceiling of the scale (random, empty, oracle agents), which take no place"
    )
    primary: MetricDocument | None = Field(description="the primary metric with interval and denominators")
    metrics: list[MetricDocument] = Field(description="every metric with interval and denominators")
    agent: LeaderboardAgent = Field(description="how the agent was configured")
    runs: int = Field(description="how many runs were taken together")
    published: int = Field(
        default=0, description="runs of the same people or teams with this model by this vow version that are public"
    )
    candidates: int = Field(
        default=0,
        description="out of how many that are over, deleted ones too: those that were declared public before they "
        "began; all of them where a public one was not declared",
    )
    run_ids: list[str] = Field(description="the newest of them, at most 20")
    actors: int = Field(description="how many people's runs they are")
    n_tasks: int = Field(description="different tasks among the scored episodes")
    n_scored: int = Field(description="episodes with a value")
    n_planned: int = Field(description="episodes that were to be played")
    missing: dict[str, int] = Field(description="episodes without a value, by cause")
    cost_usd: float | None = Field(description="mean cost of an episode; null where a price is not known")
    check: CheckState | None = Field(
        default=None,
        description="the author's checks of the versions of the environment that were played, the worst of them; "
        "none: it is at an address",
    )
    environment_version: int | None = Field(
        default=None, description="version of the environment that the newest was played in; null: it is at an address"
    )
    protocol: int | None = Field(
        default=None, description="version of the domain's protocol that they were played by; null: not official"
    )


class TeamLeaderboardEntry(LeaderboardEntry):
    """Finished runs of a team, including private ones; ranks apply within a domain and a vow version."""

    domain_name: str = Field(description="title of the domain")


class DomainLeaderboards(BaseModel):
    """Leaderboards of several domains; those of unknown or unpublished domains are empty."""

    leaderboards: dict[str, list[LeaderboardEntry]] = Field(description="entries by domain id, best first")
