"""Documents of schedules: evaluation runs that a workspace submits by itself."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.document import Document

TriggerKind = Literal["cron", "sync"]
"""`cron`: at times; `sync`: after each sync with a new commit of the branch."""

ScheduleName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=60)]
"""It begins the names of the runs, so it has the letters that those may have."""

_CRON = "Minute, hour, day of month, month and day of week, such as `0 3 * * 1-5`; or `@hourly`, `@daily`, `@weekly` …"
_ZONE = "IANA time zone of `cron`, such as `Europe/Berlin`."
_CONFIGURATION = "Path of a configuration in the workspace."
_BRANCH = "Branch whose newest synced commit is evaluated; empty for the one that the workspace follows."


class ScheduleOverrides(BaseModel):
    """What replaces settings of the configuration; null leaves one as it is there."""

    model_config = ConfigDict(extra="forbid")

    limit: int | None = Field(default=None, ge=1, le=10_000_000, description="Maximum number of rows.")
    model: str | None = Field(default=None, min_length=1, max_length=300, description="Model of `GET /api/models`.")
    tags: list[str] = Field(default=[], max_length=50, description="Tags of the runs.")


class ScheduleInput(BaseModel):
    """A schedule to create."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "nightly",
                    "configuration": "configs/eval/sums.toml",
                    "cron": "0 3 * * 1-5",
                    "timezone": "Europe/Berlin",
                }
            ]
        }
    )

    name: ScheduleName = Field(description="Name, unique in the workspace; its runs are called by it and their time.")
    configuration: str = Field(
        min_length=1, max_length=500, description=_CONFIGURATION, examples=["configs/eval/sums.toml"]
    )
    branch: str = Field(default="", max_length=250, description=_BRANCH)
    trigger: TriggerKind = Field(
        default="cron", description="`cron`: at times; `sync`: after each sync with a new commit of the branch."
    )
    cron: str = Field(default="", max_length=200, description=_CRON)
    timezone: str = Field(default="UTC", max_length=100, description=_ZONE)
    overrides: ScheduleOverrides = Field(default=ScheduleOverrides(), description="What to run differently.")


class ScheduleChange(BaseModel):
    """Changes of a schedule; fields that are left out remain unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"enabled": False}]})

    name: ScheduleName | None = Field(default=None, description="New name.")
    configuration: str | None = Field(default=None, min_length=1, max_length=500, description=_CONFIGURATION)
    branch: str | None = Field(default=None, max_length=250, description=_BRANCH)
    trigger: TriggerKind | None = Field(default=None, description="When it runs.")
    cron: str | None = Field(default=None, max_length=200, description=_CRON)
    timezone: str | None = Field(default=None, max_length=100, description=_ZONE)
    overrides: ScheduleOverrides | None = Field(default=None, description="Replaces all overrides.")
    enabled: bool | None = Field(default=None, description="`false` pauses it, `true` resumes it.")


class ScheduledRunDocument(Document):
    """A run that a schedule owed."""

    due_at: datetime = Field(description="When it was due.")
    status: Literal["pending", "submitted", "refused"] = Field(
        description="`pending`: not submitted yet; `refused`: it could not be submitted."
    )
    fault: str = Field(description="Why it was refused, or is tried again; otherwise empty.")
    commit: str = Field(description="Commit that it is of; empty until that is chosen.")
    run_id: str | None = Field(description="The run; null until it is submitted.")
    run_name: str = Field(description="Its name; empty if it was deleted.")
    run_status: str = Field(description="Its status; empty if it was deleted.")
    score: float | None = Field(description="Value of its primary metric; null until there is one.")
    score_low: float | None = Field(description="Lower bound of its confidence interval.")
    score_high: float | None = Field(description="Upper bound.")
    score_weak: bool = Field(default=False, description="Whether the interval rests on few values.")


class ScheduleDocument(Document):
    """A schedule, in listings."""

    id: str = Field(description="ID.")
    name: str = Field(description="Name, unique in the workspace.")
    configuration: str = Field(description=_CONFIGURATION)
    branch: str = Field(description=_BRANCH)
    trigger: TriggerKind = Field(description="When it runs.")
    cron: str = Field(description="Times; empty for syncs.")
    timezone: str = Field(description=_ZONE)
    overrides: ScheduleOverrides = Field(description="What it runs differently.")
    enabled: bool = Field(description="Whether it runs; otherwise it is paused.")
    fault: str = Field(description="Why its last run was refused, or why it is paused; empty if nothing is wrong.")
    owner: str | None = Field(description="User name of the member whose runs they are; null if that account is gone.")
    owned: bool = Field(description="Whether the caller may change it: its owner, and admins of the workspace.")
    created_at: datetime = Field(description="When it was created.")
    next_at: datetime | None = Field(description="When it runs next; null while it is paused, and for syncs.")
    last: ScheduledRunDocument | None = Field(description="The run that was due last; null if there was none.")


class ScheduleDetail(Document):
    """A schedule with its next times and its last runs."""

    schedule: ScheduleDocument
    next_times: Sequence[datetime] = Field(description="The next five times; none while it is paused, and for syncs.")
    runs: Sequence[ScheduledRunDocument] = Field(description="The last runs, newest first.")


class ScheduleTimes(Document):
    """The next times of a cron expression."""

    times: Sequence[datetime]
