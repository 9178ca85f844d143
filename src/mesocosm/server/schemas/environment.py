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

    name: str = Field(min_length=1, max_length=200, description="Title, used until a manifest provides one.")
    description: str = Field(default="", max_length=10_000, description="Description.")
    github_url: str = Field(
        min_length=1,
        max_length=2_000,
        description="Address of the repository: an https URL of an allowed host, OWNER/REPO on GitHub, or a "
        "…/tree/REF URL. If the operator allows it, also a path or file:// URL on the server's "
        "machine.",
    )
    team_id: str | None = Field(default=None, description="ID of the team that will own it; null: the submitter alone.")
    ref: str | None = Field(
        default=None, max_length=250, description="Branch, tag or commit; null: the default branch."
    )
    folder: str | None = Field(default=None, max_length=500, description="Folder in the repository; null: its root.")


class EnvironmentCheck(BaseModel):
    """The result of `mesocosm check`, as submitted by the author. The server does not repeat the check."""

    state: CheckState = Field(
        default="unchecked",
        description="`outdated`: the content was changed after the check; `unchecked`: no verdict was submitted.",
    )
    summary: str = Field(default="not checked", description="The verdict in one line.")
    problems: list[str] = Field(default=[], description="Problems that were found.")

    @classmethod
    def read(cls, verdict: str) -> Self:
        """Return a stored verdict; an empty one, from before verdicts were stored, counts as unchecked."""
        return cls.model_validate_json(verdict or "{}")


class SubmittedEnvironment(BaseModel):
    """A submitted environment."""

    id: str = Field(description="ID of the environment.", examples=[_ID])
    owner_id: int | None = Field(description="User ID of the submitter; null if the account no longer exists.")
    name: str = Field(description="Title.", examples=["Word game"])
    description: str = Field(default="", description="Description.")
    github_url: str = Field(description="Normalised URL of the repository.", examples=[_SOURCE])
    status: Literal["pending", "cloning", "ready", "failed"] = Field(
        description="Status of the newest version: waiting, being built, built, or failed to build."
    )
    domain_id: str | None = Field(
        default=None, description="ID of the domain that runs use; null until the first successful build."
    )
    env_url: str | None = Field(
        default=None, description="Always null: submitted environments have no URL of their own."
    )
    error_message: str | None = Field(
        default=None, description="Why the newest version could not be built, and what to do; null if it could."
    )
    created_at: datetime | None = Field(default=None, description="When it was first submitted.")
    scope: Literal["solo", "team"] = Field(
        default="solo", description="Whether it belongs to the submitter alone or to a team."
    )
    team_id: str | None = Field(default=None, description="ID of the team that owns it; null: the submitter alone.")
    submission_version: int = Field(default=1, description="Number of the newest version, counting from 1.")
    domain_history: list[dict[str, Any]] = Field(default=[], description="Former domains.")
    resubmitted_at: datetime | None = Field(
        default=None, description="When the newest version was submitted; null if it is the first."
    )
    ref: str | None = Field(
        default=None, description="Branch, tag or commit that was requested; null: the default branch."
    )
    folder: str | None = Field(default=None, description="Folder in the repository; null: its root.")
    stage: str = Field(
        default="", description="Build step of the newest version: queued, cloning, checking, installing, testing, …"
    )
    ready_version: int | None = Field(
        default=None, description="Version that runs use, the newest successfully built one; null if there is none."
    )
    check: EnvironmentCheck | None = Field(
        default=None, description="The author's check of this version; null if no version has been built."
    )


class UsageSummary(BaseModel):
    """Usage counts. Scores are those of the primary metric of finished runs."""

    total_runs: int = Field(default=0, description="Number of runs.")
    total_episodes: int = Field(default=0, description="Number of finished episodes.")
    avg_score: float | None = Field(default=None, description="Mean score of finished runs; null if none has a score.")
    best_score: float | None = Field(default=None, description="Best score of finished runs; null if none has a score.")
    leaderboard_entries: int = Field(default=0, description="Number of leaderboard entries.")
    by_status: dict[str, int] = Field(default={}, description="Number of runs by status.", examples=[{"completed": 4}])
    gallery_eligible: int = Field(default=0, description="Number of public finished runs.")
    leaderboard_eligible: int = Field(default=0, description="Number of public finished runs with a score.")


class DomainUsage(UsageSummary):
    """Usage counts of a domain."""

    domain_id: str = Field(description="ID of the domain.")


class EnvironmentDetail(SubmittedEnvironment):
    """A submitted environment with its usage counts."""

    usage: UsageSummary = Field(description="Usage counts.")


class EnvironmentPoll(BaseModel):
    """Build state of an environment."""

    id: str = Field(description="ID of the environment.", examples=[_ID])
    status: Literal["pending", "cloning", "ready", "failed"] = Field(
        description="Status of the newest version: waiting, being built, built, or failed to build."
    )
    domain_id: str | None = Field(
        default=None, description="ID of the domain that runs use; null until the first successful build."
    )
    env_url: str | None = Field(default=None, description="Always null.")
    error_message: str | None = Field(
        default=None, description="Why the newest version could not be built, and what to do; null if it could."
    )
    stage: str = Field(
        default="", description="Build step of the newest version: queued, cloning, checking, installing, testing, …"
    )
    submission_version: int = Field(default=1, description="Number of the newest version, counting from 1.")


class EnvironmentVersion(BaseModel):
    """One version (submission) of an environment."""

    environment_id: str = Field(description="ID of the environment.", examples=[_ID])
    version: int = Field(description="Number of the submission, counting from 1.")
    state: Literal["queued", "cloning", "checking", "installing", "testing", "ready", "failed"] = Field(
        description="Step of its build, or the outcome."
    )
    github_url: str = Field(description="URL of the repository.", examples=[_SOURCE])
    ref: str | None = Field(
        default=None, description="Branch, tag or commit that was requested; null: the default branch."
    )
    folder: str | None = Field(default=None, description="Folder in the repository; null: its root.")
    commit: str | None = Field(None, description="Commit that was built.", examples=["9fceb02d0ae598e95dc970b74767f1"])
    manifest_path: str | None = Field(default=None, description="Path of the manifest in the repository.")
    vow_version: str | None = Field(default=None, description="Version of the binding vow in the manifest.")
    digest: str | None = Field(
        default=None, description="Digest of everything that can change the environment's behaviour."
    )
    error_message: str | None = Field(
        default=None, description="Why it could not be built, and what to do; null if it could."
    )
    submitted_by: int | None = Field(default=None, description="User ID of the submitter.")
    created_at: datetime | None = Field(default=None, description="When it was submitted.")
    ended_at: datetime | None = Field(default=None, description="When its build ended.")
    current: bool = Field(default=False, description="Whether runs use this version.")
    check: EnvironmentCheck = Field(default=EnvironmentCheck(), description="The author's check of this version.")


class EnvironmentVersionDetail(EnvironmentVersion):
    """One version of an environment, with its manifest."""

    manifest: dict[str, Any] | None = Field(
        default=None, description="The manifest at that commit; null if it could not be read."
    )
    notes: list[str] = Field(default=[], description="Warnings for the author from a successful build.")


class EnvironmentLogs(BaseModel):
    """The build log of a version, and the later output of its adapter."""

    environment_id: str = Field(description="ID of the environment.", examples=[_ID])
    version: int = Field(description="Number of the version.")
    state: str = Field(description="Step of its build, or the outcome.")
    build: str = Field(default="", description="Build log; the beginning of a long one is omitted.")
    adapter: str = Field(
        default="", description="Last lines of the adapter's output when it last ran on the server's machine."
    )
