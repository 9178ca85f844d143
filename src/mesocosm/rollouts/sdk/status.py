"""What state a rollout and its grading are in, and what kind of error ended them."""

from enum import StrEnum


class RolloutStatus(StrEnum):
    """Where a rollout stands. `pending` is what older rollouts call the time before its end."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    GRADING = "grading"
    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class GraderStatus(StrEnum):
    """Where the grading of a rollout stands."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


class RolloutErrorCategory(StrEnum):
    """The kind of an error, as the protocol names it."""

    TIMEOUT = "timeout"
    VALIDATION_ERROR = "validation_error"
    HTTP_ERROR = "http_error"
    AGENT_ERROR = "agent_error"


class MultiTurnMode(StrEnum):
    """Whether an older rollout leaves one sample or several; unused."""

    MULTI_SAMPLE = "multi_sample"
    SINGLE_SAMPLE = "single_sample"


def categorise(error: BaseException) -> RolloutErrorCategory:
    """Return the category under which the protocol reports `error`."""
    if isinstance(error, TimeoutError):
        return RolloutErrorCategory.TIMEOUT
    if isinstance(error, (ValueError, TypeError, AssertionError)):
        return RolloutErrorCategory.VALIDATION_ERROR
    return RolloutErrorCategory.AGENT_ERROR
