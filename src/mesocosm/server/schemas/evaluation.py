"""Documents around evaluations of rollouts: code that can be run, the earlier run, files of samples."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.repository import RolloutDocument, SyncedConfigurationDocument
from mesocosm.server.schemas.run import ArtifactDocument, RunSummary


class CodeDocument(Document):
    """Code of a workspace that can be evaluated: the newest synced commit of a branch, or an upload."""

    kind: Literal["commit", "upload"]
    branch: str = Field(description="Branch of the commit, or that was checked out; may be empty for an upload.")
    commit: str = Field(description="Commit; empty for an upload from outside of a repository.")
    snapshot: str = Field(description="ID of the uploaded snapshot; empty for a commit.")
    dirty: bool = Field(description="Whether it was uploaded with changes that were not committed.")
    followed: bool = Field(description="Whether the branch is the one that is followed: what is run by default.")
    message: str = Field(description="Message of the commit; empty for an upload.")
    author: str = Field(description="Author of the commit, or the user who uploaded it.")
    at: datetime = Field(description="When it was synced or uploaded.")
    sync: int | None = Field(description="Number of the sync; null for an upload.")
    rollouts: list[RolloutDocument]
    configurations: list[SyncedConfigurationDocument]


class RunDifference(Document):
    """How a run did against an earlier one, paired by task if they share tasks: the run minus the earlier one."""

    metric: str
    delta: float
    low: float | None
    high: float | None
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    level: float
    p_value: float
    paired: bool
    n: int = Field(description="Number of tasks in both runs; of this run's if they share none.")
    verdict: Literal["better", "worse", "tie"] = Field(
        description="`tie` unless the interval excludes 0 and the test agrees."
    )


class PreviousRun(Document):
    """The last earlier run of the same configuration that finished, and the difference from it."""

    run: RunSummary | None = Field(description="Null if there is none.")
    change: RunDifference | None = Field(description="Null if the runs cannot be compared.")
    note: str = Field(description="Why there is no difference, or a caveat; otherwise empty.")


class SampleFile(ArtifactDocument):
    """A file that a sample of a run wrote; its content is at `/api/blobs/{digest}`."""

    size: int = Field(description="Size in bytes.")
    task_id: str = Field(description="Row or task of the sample; empty if the file is of the run itself.")
    trial: int = Field(description="Repetition of the row or task, from 0.")


class SampleFilePage(Document):
    """A page of the files of a run, in the order in which they were stored; those of a sample stand together."""

    items: list[SampleFile]
    cursor: str | None = Field(description="Where the next page begins; null on the last one.")
