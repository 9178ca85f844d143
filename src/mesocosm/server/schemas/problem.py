"""Errors of the API: problem details as defined in RFC 9457, each with a stable code."""

from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, Field

from mesocosm.server.schemas.document import Document


class ProblemCode(StrEnum):
    """Stable error codes: programs may depend on them, while the text of `detail` may change."""

    BAD_REQUEST = "bad_request"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    FOREIGN_PAGE = "foreign_page"
    MISSING_MARK = "missing_mark"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    RUN_HELD = "run_held"
    TOO_LARGE = "too_large"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    WRONG_HOST = "wrong_host"
    INVALID_INPUT = "invalid_input"
    TOO_MANY_REQUESTS = "too_many_requests"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"


class InputProblem(Document):
    """One problem of the input, and how to fix it."""

    path: str = Field(description="Location of the problem: `query.limit`, `body.tags.3`, or the key of a file.")
    message: str
    fix: str = ""


class ProblemDocument(Document):
    """An error: what happened, on which object, and what to do next."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="`urn:mesocosm:problem:` followed by the code.")
    title: str
    status: int
    detail: str
    code: ProblemCode
    problems: list[InputProblem] = Field(default=[], description="All problems of the input.")

    @property
    def more(self) -> dict[str, Any]:
        """Additional fields of the problem, such as the id of a conflicting object."""
        return dict(self.model_extra or {})
