"""Documents of runs."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document, Json
from mesocosm.server.schemas.metric import MetricDocument, UsageDocument
from mesocosm.server.schemas.run_import import Imported
from mesocosm.server.schemas.run_request import RunRequestDocument

State = Literal["pending", "running", "finished", "partial", "failed", "stopped", "interrupted"]


class CountsDocument(Document):
    """Episodes of a run by status and by outcome; `owed` counts the pending ones, and so does `missing`.

    `passed` scored above the threshold of the primary metric; `not_passed` are other scores and the agent's own
    failures; `errors` ended without a measurement. What was skipped on purpose is in none of them.
    """

    planned: int
    completed: int
    truncated: int
    timeout: int
    failed: int
    done: int
    owed: int
    passed: int
    not_passed: int
    errors: int
    missing: int


class NameDocument(Document):
    """The parts of a run's name: its own name, which may be empty, or benchmark, model and what sets it apart."""

    given: str
    benchmark: str
    model: str
    differs: str


class ScoreBinsDocument(Document):
    """Distribution of a run's primary scores: `counts` of equal bins from `low` to `high`."""

    low: float
    high: float
    counts: list[int]


class Published(Document):
    """The best published score for the same unit and split; `delta` is the run's score minus it."""

    label: str
    value: float
    source: str
    delta: float | None


class RunSummary(Document):
    """A run as a row of a list. `duration_s` is the time worked on it so far, without pauses."""

    id: str
    name: str = Field(description="The name that it was given; empty if it has none.")
    title: NameDocument
    benchmark: str
    benchmark_title: str
    benchmark_version: str
    benchmark_digest: str
    kind: str
    model: str
    agent: str
    state: State = Field(
        description="Status of the run; `interrupted`: it is recorded as running, but its process is gone."
    )
    stop_requested: bool
    attempt: int
    signature: str
    group_id: str | None
    tags: list[str]
    counts: CountsDocument
    bins: ScoreBinsDocument | None = Field(
        description="Null while the run goes on, and if all scores are 0 or 1 as `counts` has them."
    )
    primary: MetricDocument | None
    published: Published | None = Field(description="Null if no published score has the same unit and split.")
    usage: UsageDocument
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    duration_s: float | None
    error: str
    owner: str | None = Field(
        description="Who submitted the run to a server, only `member` or `guest` for outsiders; null on a laptop."
    )
    visibility: str | None = Field(description="`private` or `gallery_public`; null on a laptop.")
    team_id: str | None = Field(description="ID of the team that owns the run; null for outsiders.")
    workspace_id: str | None = Field(
        description="ID of the workspace that the run belongs to; null if it is in none, and on a laptop."
    )
    domain_id: str | None = Field(description="ID of the domain on the server; null on a laptop.")
    protocol: int | None = Field(
        description="Version of the domain's protocol that an official run uses; null: not official."
    )
    mine: bool | None = Field(description="Whether the caller submitted the run; null on a laptop.")
    may_change: bool | None = Field(
        description="Whether the caller may stop, repeat, delete and tag the run; null on a laptop."
    )
    may_work: bool | None = Field(
        default=None,
        description="Whether the caller may ask models about it: scan it, and ask its calls again; null on a laptop.",
    )
    request: RunRequestDocument | None = Field(description="The request for the run; null on a laptop.")
    imported: Imported | None = Field(
        description="Set if the run was played elsewhere and pushed to the server; null otherwise."
    )


class RunPage(Document):
    """A page of runs; `total` is exact or, if `total_exact` is false, a lower bound.

    If running and interrupted runs have to be distinguished, a page may hold fewer items than requested, with a cursor
    to continue from.
    """

    items: list[RunSummary]
    cursor: str | None
    total: int
    total_exact: bool


class FailureGroup(Document):
    """Failed episodes with one cause, and the first of them."""

    cause: str
    boundary: str
    count: int
    valid: bool = Field(description="Whether the agent caused the failure, which then counts as the worst value.")
    episode_id: str
    task_id: str
    message: str


class Ungraded(Document):
    """The first episode, for one cause, that did not fail but lacks the score of a metric."""

    metric: str
    cause: str
    episode_id: str
    task_id: str
    message: str = Field(description="Message of the grader, or of the server that it called.")


class Reproduction(Document):
    """Commands that show, continue or repeat a run; null if one does not apply."""

    repeat: str | None
    resume: str | None
    show: str


class ArtifactDocument(Document):
    """A file of a run; its content is at `/api/blobs/{digest}`."""

    id: str
    name: str
    digest: str
    episode_id: str | None
    created_at: datetime


class RunDetail(RunSummary):
    """A run in full."""

    metrics: list[MetricDocument]
    failures: list[FailureGroup]
    ungraded: list[Ungraded] = Field(
        description="Causes of missing scores in episodes that did not fail, each with its first episode: those of the "
        "primary metric, then those that only other metrics have."
    )
    mean_reward: float | None
    mean_steps: float | None
    warnings: list[str]
    rescored: str = Field(description="Caveat about the values if the run was rescored; otherwise empty.")
    spec: dict[str, Json] = Field(description="The specification: benchmark, model, agent, selection, limits.")
    info: dict[str, Json] = Field(description="The benchmark's own description at the start of the run.")
    provenance: dict[str, Json] = Field(description="Versions, host, command.")
    commands: Reproduction
    artifacts: list[ArtifactDocument]
    holder: str | None = Field(description="Process that owns the run's lease; null if there is none.")


class Facet(Document):
    """One value of a column, and how many runs have it."""

    value: str
    count: int


class RunFacetsDocument(Document):
    """Values that the list of runs can be filtered by, most frequent first, at most 200 per column.

    The last four are of runs on a server of which the caller sees all.
    """

    state: list[Facet]
    benchmark: list[Facet]
    model: list[Facet]
    agent: list[Facet]
    kind: list[Facet]
    tag: list[Facet]
    workspace: list[Facet] = Field(description="IDs of workspaces.")
    configuration: list[Facet] = Field(description="Paths of configurations of rollouts.")
    branch: list[Facet] = Field(description="Branches of the code of rollouts.")
    creator: list[Facet] = Field(description="User names of those who submitted runs.")


class HistogramDocument(Document):
    """Distribution of the primary score: `counts` of equal bins from `low` to `high`."""

    low: float
    high: float
    counts: list[int]
    missing: int
    worst: int


class PositionBin(Document):
    """Episodes `first`…`last` of the plan: mean primary score of the `n` scored ones, and the number of failed ones."""

    first: int
    last: int
    n: int
    mean: float | None
    failed: int


class TimeBinDocument(Document):
    """Episodes that ended within `seconds` from `at`."""

    at: datetime
    seconds: float
    episodes: int
    failed: int
    tokens: int
    cost_usd: float | None


class CumulativeBin(Document):
    """The primary metric over the episodes of the plan up to position `last`, of which `n` count, with its interval."""

    last: int
    n: int
    value: float
    low: float | None
    high: float | None
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")


class ContrastDocument(Document):
    """How many steps or tokens the passed and the other episodes took: counts of equal bins from `low` to `high`."""

    name: Literal["steps", "tokens"]
    low: float
    high: float
    passed: list[int]
    not_passed: list[int]
    passed_median: float
    not_passed_median: float


class RunSeriesDocument(Document):
    """Data of a run's charts; `sampled` is the number of episodes read, null if all were read."""

    score: str | None = Field(description="Name of the primary score; null if there is none.")
    histogram: HistogramDocument | None
    by_position: list[PositionBin]
    over_time: list[TimeBinDocument]
    cumulative: list[CumulativeBin] = Field(
        description="How the primary metric settled; empty unless asked for, and it is a mean or a pass rate."
    )
    contrasts: list[ContrastDocument] = Field(
        description="What sets passed episodes apart; empty unless asked for, and some pass and some do not."
    )
    sampled: int | None


class RunChange(Document):
    """An event of a live stream: changed runs, in full, and the ids of deleted ones."""

    runs: list[RunSummary]
    deleted: list[str]
