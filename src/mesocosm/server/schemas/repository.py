"""Documents of the repository of a workspace and its syncs."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.git_credential import GitCredentialDocument, GitCredentialInput

SyncStatus = Literal["pending", "syncing", "success", "failed"]
SyncTrigger = Literal["push", "poll", "hand", "submit"]


class RepositoryInput(BaseModel):
    """A repository to connect."""

    model_config = ConfigDict(hide_input_in_errors=True)

    url: str = Field(
        min_length=1,
        max_length=500,
        description="https or SSH URL of a repository on an allowed host; a path, if the server allows local ones.",
        examples=["https://github.com/you/evals"],
    )
    folder: str = Field(
        default="", max_length=500, description="Folder of the workspace in the repository; empty for its root."
    )
    branch: str = Field(
        default="", max_length=250, description="Branch to follow; empty for the default branch of the repository."
    )
    credentials: GitCredentialInput | None = Field(
        default=None, description="Token or deploy key of a private repository; an SSH URL needs a key."
    )


class RepositoryDocument(Document):
    """The repository of a workspace."""

    id: str = Field(description="ID of the connection.")
    identity: str = Field(description="`host/owner/repo`; the host is in lower case.")
    url: str = Field(description="URL of the repository.")
    folder: str = Field(description="Folder of the workspace in it; empty for its root.")
    branch: str = Field(description="Branch that is followed; empty until the default branch is known.")
    credentials: list[GitCredentialDocument] = Field(
        default_factory=list, description="Token and deploy key, without their values."
    )
    checked_at: datetime | None = Field(default=None, description="When polling last asked for new commits.")
    error: str = Field(default="", description="What went wrong then; empty if nothing did.")
    statuses: bool = Field(
        default=False, description="Whether the Git host is told of runs: its kind is known, and there is a token."
    )
    status_error: str = Field(default="", description="Why that did not work the last time; empty if it did.")
    created_at: datetime = Field(description="When it was connected.")


class RepositoryHookDocument(Document):
    """The webhook of a repository. The secret is shown once."""

    url: str = Field(description="URL that the Git host calls after a push.")
    secret: str = Field(repr=False, description="Secret to enter at the Git host; a new one replaces it.")


class RepositoryHookAnswer(Document):
    """What a webhook did."""

    sync: int | None = Field(description="Number of the queued sync; null if there is nothing new to sync.")


class SyncInput(BaseModel):
    """What to sync."""

    branch: str = Field(
        default="",
        max_length=250,
        description="Branch whose newest commit to sync; by default the one that is followed.",
        examples=["main"],
    )
    commit: str = Field(
        default="",
        max_length=64,
        pattern=r"^([0-9a-f]{40}([0-9a-f]{24})?)?$",
        description="All digits of a commit to sync instead.",
    )
    reuse: bool = Field(
        default=False,
        description="Return the sync of this commit or branch that is waiting, running or successful, if there is one.",
    )


class RolloutDocument(Document):
    """A rollout in a synced commit."""

    name: str = Field(description="Name of its folder below `rollouts/`.")
    entrypoints: list[str] = Field(description="Entry points that configurations name, else the likely one.")
    requirements: list[str] = Field(description="Dependencies that its pyproject.toml declares.")
    requires_python: str = Field(description="Versions of Python that it declares; empty for any.")


class SyncedRolloutDocument(RolloutDocument):
    """A rollout of a workspace, with the commit that it was synced at."""

    commit: str = Field(description="Commit of the last successful sync.")
    branch: str = Field(description="Branch of that sync.")
    synced_at: datetime = Field(description="When that sync ended.")


class SyncedConfigurationDocument(Document):
    """A configuration in a synced commit."""

    path: str = Field(description="Path in the workspace, `configs/eval/NAME.toml`.")
    valid: bool = Field(description="Whether it can be run; `faults` of the sync say what is wrong otherwise.")
    rollout: str = Field(description="Rollout that it evaluates; empty if it is not valid.")
    entrypoint: str = Field(description="Entry point of the rollout.")
    model: str = Field(description="Model that it names.")
    dataset: str = Field(description="Dataset that it names.")
    secrets: list[str] = Field(default=[], description="Names of the secrets that it requires.")


class SyncFaultDocument(Document):
    """Something to mend in a file of the workspace."""

    path: str = Field(description="File in the workspace; empty if it concerns the repository.")
    line: int | None = Field(description="Line in it, if known.")
    message: str = Field(description="What is wrong.")
    fix: str = Field(description="What to do; may be empty.")


class SyncDocument(Document):
    """A sync of a repository, in listings."""

    number: int = Field(description="Number of the sync in its repository, from 1.")
    status: SyncStatus = Field(description="pending, syncing, success or failed.")
    trigger: SyncTrigger = Field(description="What asked for it: push, poll, hand or submit.")
    branch: str = Field(description="Branch; empty until the default branch is known.")
    commit: str = Field(description="Commit; empty until it is known.")
    author: str = Field(description="Author of the commit.")
    message: str = Field(description="Message of the commit.")
    committed_at: datetime | None = Field(description="Time of the commit.")
    rollouts: int = Field(description="Number of rollouts found.")
    configurations: int = Field(description="Number of configurations found.")
    faults: int = Field(description="Number of things to mend.")
    error: str = Field(description="Why it failed; empty otherwise.")
    snapshot: str | None = Field(description="Digest of the workspace directory at the commit; null until it is kept.")
    requested_by: int | None = Field(description="User ID of who asked for it by hand or by a submission.")
    created_at: datetime = Field(description="When it was asked for.")
    started_at: datetime | None = Field(description="When a worker first began it.")
    ended_at: datetime | None = Field(description="When it ended.")


class SyncDetail(Document):
    """A sync with everything that it found."""

    sync: SyncDocument
    rollouts: list[RolloutDocument]
    configurations: list[SyncedConfigurationDocument]
    faults: list[SyncFaultDocument]
