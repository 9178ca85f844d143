"""Documents of submitted environments."""

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

CheckState = Literal["passed", "failed", "outdated", "unchecked"]
"""State of an environment's check."""

_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
_SOURCE = "https://github.com/you/word-game"


class EnvironmentInput(BaseModel):
    """An environment to submit. Submitting the same source and folder again creates the next version."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Word game", "github_url": _SOURCE, "ref": "main", "folder": "env"}]}
    )

    name: str = Field(min_length=1, max_length=200, description="title, shown until the manifest gives one")
    description: str = Field(default="", max_length=10_000, description="what it is about")
    github_url: str = Field(
        min_length=1,
        max_length=2_000,
        description="where its repository is: an https URL of an allowed host, OWNER/REPO on GitHub, or a …/tree/REF "
        "address; where the operator allows it also a path or file:// URL of the platform's machine",
    )
    team_id: str | None = Field(default=None, description="the team that it belongs to; none: the submitter alone")
    ref: str | None = Field(default=None, max_length=250, description="branch, tag or commit; none: the default branch")
    folder: str | None = Field(default=None, max_length=500, description="folder in the repository; none: its root")


class EnvironmentCheck(BaseModel):
    """The result of `mesocosm check`, as submitted by the author. The server does not repeat the check."""

    state: CheckState = Field(
        default="unchecked",
        description="passed or failed; outdated: the content was changed after its check; unchecked: no verdict was "
        "submitted",
    )
    summary: str = Field(default="not checked", description="the verdict in one line")
    problems: list[str] = Field(default=[], description="what was found wrong")

    @classmethod
    def read(cls, verdict: str) -> Self:
        """Return a stored verdict; an empty one, from before verdicts were stored, counts as unchecked."""
        return cls.model_validate_json(verdict or "{}")


class SubmittedEnvironment(BaseModel):
    """A submitted environment."""

    id: str = Field(description="identity", examples=[_ID])
    owner_id: int | None = Field(description="number of the member who submitted it; none: they are gone")
    name: str = Field(description="title", examples=["Word game"])
    description: str = Field(default="", description="what it is about")
    github_url: str = Field(description="its repository, spelled in one way", examples=[_SOURCE])
    status: Literal["pending", "cloning", "ready", "failed"] = Field(
        description="of its newest version: waiting, being built, can be run, could not be built"
    )
    domain_id: str | None = Field(default=None, description="the domain that runs are started on, once it was built")
    env_url: str | None = Field(
        default=None, description="always none: submitted environments have no address of their own"
    )
    error_message: str | None = Field(
        default=None, description="why the newest version could not be built, and what to do"
    )
    created_at: datetime | None = Field(default=None, description="time of the first submission")
    scope: Literal["solo", "team"] = Field(default="solo", description="whose it is: the submitter's, or their team's")
    team_id: str | None = Field(default=None, description="the team that it belongs to")
    submission_version: int = Field(default=1, description="number of the newest version, from 1 on")
    domain_history: list[dict[str, Any]] = Field(default=[], description="domains that it had before")
    resubmitted_at: datetime | None = Field(default=None, description="time of the newest submission, if not the first")
    ref: str | None = Field(
        default=None, description="branch, tag or commit that was asked for; none: the default branch"
    )
    folder: str | None = Field(default=None, description="folder in the repository; none: its root")
    stage: str = Field(
        default="", description="of its newest version: queued, cloning, checking, installing, testing, …"
    )
    ready_version: int | None = Field(
        default=None, description="the version that runs use: the newest that could be built"
    )
    check: EnvironmentCheck | None = Field(
        default=None, description="the author's check of this version; none: no version can be run yet"
    )


class UsageSummary(BaseModel):
    """Usage counts. Scores are those of the primary metric of finished runs."""

    total_runs: int = Field(default=0, description="runs of it")
    total_episodes: int = Field(default=0, description="episodes of these runs that are over")
    avg_score: float | None = Field(
        default=None, description="mean of the scores of finished runs; none: there is none"
    )
    best_score: float | None = Field(default=None, description="best of them, in the direction that is better")
    leaderboard_entries: int = Field(default=0, description="rows that it has on its leaderboard")
    by_status: dict[str, int] = Field(
        default={}, description="number of runs in each status", examples=[{"completed": 4}]
    )
    gallery_eligible: int = Field(default=0, description="finished runs that everybody may see")
    leaderboard_eligible: int = Field(default=0, description="those among them that have a score")


class DomainUsage(UsageSummary):
    """Usage counts of a domain."""

    domain_id: str = Field(description="the domain")


class EnvironmentDetail(SubmittedEnvironment):
    """A submitted environment with its usage counts."""

    usage: UsageSummary = Field(description="how much it was used")


class EnvironmentPoll(BaseModel):
    """Build state of an environment."""

    id: str = Field(description="identity", examples=[_ID])
    status: Literal["pending", "cloning", "ready", "failed"] = Field(description="as in the environment itself")
    domain_id: str | None = Field(default=None, description="the domain that runs are started on, once it was built")
    env_url: str | None = Field(default=None, description="always none")
    error_message: str | None = Field(
        default=None, description="why the newest version could not be built, and what to do"
    )
    stage: str = Field(default="", description="as in the environment itself")
    submission_version: int = Field(default=1, description="number of the newest version")


class EnvironmentVersion(BaseModel):
    """One version (submission) of an environment."""

    environment_id: str = Field(description="the environment", examples=[_ID])
    version: int = Field(description="counts submissions, from 1 on")
    state: Literal["queued", "cloning", "checking", "installing", "testing", "ready", "failed"] = Field(
        description="what is being done with it, or what came of that"
    )
    github_url: str = Field(description="its repository", examples=[_SOURCE])
    ref: str | None = Field(
        default=None, description="branch, tag or commit that was asked for; none: the default branch"
    )
    folder: str | None = Field(default=None, description="folder in the repository; none: its root")
    commit: str | None = Field(
        None, description="the commit that was built", examples=["9fceb02d0ae598e95dc970b74767f1"]
    )
    manifest_path: str | None = Field(default=None, description="place of the manifest in the repository")
    vow_version: str | None = Field(default=None, description="version of the binding vow in the manifest")
    digest: str | None = Field(default=None, description="changes with anything that can change its behaviour")
    error_message: str | None = Field(default=None, description="why it could not be built, and what to do")
    submitted_by: int | None = Field(default=None, description="number of the member who submitted it")
    created_at: datetime | None = Field(default=None, description="time of the submission")
    ended_at: datetime | None = Field(default=None, description="when its build was over")
    current: bool = Field(default=False, description="whether runs use this version")
    check: EnvironmentCheck = Field(default=EnvironmentCheck(), description="the author's check of this version")


class EnvironmentVersionDetail(EnvironmentVersion):
    """One version of an environment, with its manifest."""

    manifest: dict[str, Any] | None = Field(default=None, description="the manifest as it was at that commit")
    notes: list[str] = Field(default=[], description="what its author should act on, though it could be built")


class EnvironmentLogs(BaseModel):
    """The build log of a version, and the later output of its adapter."""

    environment_id: str = Field(description="the environment", examples=[_ID])
    version: int = Field(description="the version")
    state: str = Field(description="what is being done with it, or what came of that")
    build: str = Field(default="", description="log of the build; the beginning of a long one is left out")
    adapter: str = Field(
        default="", description="last lines of what its adapter wrote when it was last run on this machine"
    )
