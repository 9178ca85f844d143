"""States of a rollout and of its grading, and categories of errors."""

from enum import StrEnum


class RolloutStatus(StrEnum):
    """The state of a rollout. `pending` is the older name for all states before the end."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    GRADING = "grading"
    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class GraderStatus(StrEnum):
    """The state of a rollout's grading."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


class RolloutErrorCategory(StrEnum):
    """The category of an error, as the protocol names it."""

    TIMEOUT = "timeout"
    LEASE_EXPIRED = "lease_expired"
    VALIDATION_ERROR = "validation_error"
    HTTP_ERROR = "http_error"
    AGENT_ERROR = "agent_error"
    INTERNAL_ERROR = "internal_error"


class MultiTurnMode(StrEnum):
    """Whether an older rollout creates one sample or several; unused."""

    MULTI_SAMPLE = "multi_sample"
    SINGLE_SAMPLE = "single_sample"


def categorise(error: BaseException) -> RolloutErrorCategory:
    """Return the protocol's category for `error`."""
    if isinstance(error, TimeoutError):
        return RolloutErrorCategory.TIMEOUT
    if isinstance(error, (ValueError, TypeError, AssertionError)):
        return RolloutErrorCategory.VALIDATION_ERROR
    return RolloutErrorCategory.AGENT_ERROR
