"""Documents of the notifications of a workspace, and the messages that they send."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mesocosm.server.schemas.document import Document

NotificationEvent = Literal["finished", "failed", "stopped", "schedule"]
"""`failed` includes partial runs, whose results are of a part of their rows; `schedule`: a scheduled run was refused.
"""

MessageFormat = Literal["mesocosm", "slack"]
EndStatus = Literal["finished", "partial", "failed", "stopped"]
MessageVerdict = Literal["better", "worse", "tie"]
DeliveryStatus = Literal["pending", "delivered", "failed"]

NotificationName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


class NotificationInput(BaseModel):
    """An address to notify."""

    model_config = ConfigDict(
        hide_input_in_errors=True,
        json_schema_extra={
            "examples": [{"url": "https://hooks.example.org/services/T0/B0/x", "format": "slack", "events": ["failed"]}]
        },
    )

    url: SecretStr = Field(
        min_length=1, max_length=2_000, description="https URL that takes the messages. It is never shown again."
    )
    name: NotificationName | None = Field(
        default=None, description="Name, unique in the workspace; by default made of the host."
    )
    format: MessageFormat = Field(
        default="mesocosm",
        description="`mesocosm`: a signed JSON document; `slack`: text for Slack and what accepts its messages.",
    )
    events: Sequence[NotificationEvent] = Field(
        default=("finished", "failed", "stopped", "schedule"),
        min_length=1,
        max_length=10,
        description="What to tell. `failed` includes partial runs; `schedule`: a scheduled run was refused.",
    )


class DeliveryDocument(Document):
    """A message, and how its last attempt went."""

    id: str = Field(description="ID of the message, the same in every attempt: header `webhook-id`.")
    event: str = Field(description="finished, failed, stopped, schedule or test.")
    run_id: str | None = Field(description="Run that it is about.")
    status: DeliveryStatus = Field(description="`pending`: not sent yet, or tried again; `failed`: given up.")
    attempts: int = Field(description="Number of attempts.")
    answer_status: int | None = Field(description="HTTP status of the last answer; null if there was none.")
    answer: str = Field(description="Beginning of the last answer, or what went wrong.")
    created_at: datetime = Field(description="When it was queued.")
    next_at: datetime | None = Field(description="When it is tried next; null once it is over.")
    ended_at: datetime | None = Field(description="When it was delivered or given up.")


class NotificationDocument(Document):
    """An address that is notified. Its URL, which may be a credential, is not shown."""

    id: str = Field(description="ID.")
    name: str = Field(description="Name, unique in the workspace.")
    host: str = Field(description="Beginning of the URL: scheme and host.")
    format: MessageFormat = Field(description="Form of the messages.")
    events: Sequence[NotificationEvent] = Field(description="What is told.")
    created_at: datetime = Field(description="When it was added.")
    last: DeliveryDocument | None = Field(description="Its newest message; null if there was none.")


class NotificationSecretDocument(Document):
    """A notification that was added, with its secret, which is shown once."""

    notification: NotificationDocument
    secret: str = Field(
        repr=False,
        description="Secret that signs every message, by the scheme of Standard Webhooks: header `webhook-signature`.",
    )


class MessageScore(Document):
    """The primary metric of a run."""

    name: str
    value: float | None = Field(description="Null if nothing was scored.")
    low: float | None = Field(description="Lower bound of its confidence interval.")
    high: float | None = Field(description="Upper bound.")
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    n: int = Field(description="Number of scored episodes.")
    planned: int = Field(description="Number of planned episodes.")


class MessageComparison(Document):
    """The run compared with the last finished one of the same configuration."""

    run_id: str
    name: str
    metric: str
    delta: float = Field(description="Mean of this run minus that of the earlier one.")
    low: float | None = Field(description="Lower bound of its confidence interval; null without one.")
    high: float | None = Field(description="Upper bound.")
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    verdict: MessageVerdict = Field(description="`tie`: the difference could be chance.")
    note: str = Field(description="What limits the comparison; may be empty.")


class RunMessageData(Document):
    """What a message about a run says."""

    run_id: str
    name: str
    status: EndStatus
    link: str | None = Field(description="Page of the run; null if the server has no `public_url`.")
    workspace: str = Field(description="Name of the workspace.")
    configuration: str = Field(description="Path of the configuration; empty if it was not a file.")
    schedule: str = Field(description="Name of the schedule that submitted it; empty if none did.")
    model: str
    branch: str
    commit: str
    started_by: str = Field(description="Whose run it is.")
    error: str = Field(description="Why it did not finish; may be empty.")
    score: MessageScore | None
    compared: MessageComparison | None = Field(description="Null without an earlier run to compare with.")
    cost_usd: float | None = Field(description="Null if a price is unknown.")


class ScheduleMessageData(Document):
    """What a message about a scheduled run that was refused says."""

    schedule: str = Field(description="Name of the schedule.")
    workspace: str = Field(description="Name of the workspace.")
    configuration: str
    fault: str = Field(description="Why.")
    paused: bool = Field(description="Whether the schedule was paused for it.")


class NotificationTestData(Document):
    """What a test message says."""

    notification: str = Field(description="Name of the notification.")
    workspace: str = Field(description="Name of the workspace.")


class NotificationMessage(Document):
    """The body of a message in the format `mesocosm`."""

    type: Literal["run.finished", "run.failed", "run.stopped", "schedule.refused", "test"]
    timestamp: datetime = Field(description="When it happened.")
    data: RunMessageData | ScheduleMessageData | NotificationTestData
