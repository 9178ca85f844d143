"""The exception for a refused request, independent of the web framework."""

from collections.abc import Mapping
from typing import Any

from mesocosm.core.failure import MesocosmError
from mesocosm.server.schemas.problem import ProblemCode

CODES = {
    400: ProblemCode.BAD_REQUEST,
    401: ProblemCode.UNAUTHENTICATED,
    403: ProblemCode.FORBIDDEN,
    404: ProblemCode.NOT_FOUND,
    405: ProblemCode.METHOD_NOT_ALLOWED,
    409: ProblemCode.CONFLICT,
    413: ProblemCode.TOO_LARGE,
    416: ProblemCode.RANGE_NOT_SATISFIABLE,
    421: ProblemCode.WRONG_HOST,
    422: ProblemCode.INVALID_INPUT,
    429: ProblemCode.TOO_MANY_REQUESTS,
    500: ProblemCode.INTERNAL,
    503: ProblemCode.UNAVAILABLE,
    504: ProblemCode.TIMEOUT,
}
"""Default problem code of each status."""

AUTH_STATE = "auth_problem"
"""The key in the state of a request of why its token was rejected: `expired` or `invalid`."""


class Refusal(MesocosmError):
    """A request that is refused with an HTTP status.

    `detail` says what happened, to which object, and what to do next; `field` is the part of the request that it is
    about, if it is one, and `more` are additional fields for programs.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: ProblemCode | None = None,
        field: str = "",
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.code = code or CODES[status]
        self.field = field
        self.more = dict(more or {})
        self.headers = dict(headers or {})
