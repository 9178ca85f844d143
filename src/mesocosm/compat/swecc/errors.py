"""Errors in the format of the older server: `{"error": word, "detail": …}`."""

import json
from typing import Any

from fastapi import Request, Response

from mesocosm.server.schemas.problem import ProblemDocument

_PATHS = ("/v1/", "/auth/")
_WORDS = {
    400: "usage",
    401: "unauthenticated",
    403: "forbidden",
    404: "unknown",
    405: "method",
    409: "conflict",
    422: "invalid",
    429: "too_many",
    503: "infrastructure",
}


def older_error(request: Request, response: Response, detail: Any = None) -> Response:
    """Return an error in the older format for undocumented paths of the older server, otherwise unchanged."""
    documented = getattr(request.scope.get("route"), "include_in_schema", False)
    if documented or not request.scope["path"].startswith(_PATHS):
        return response
    problem = ProblemDocument.model_validate_json(bytes(response.body))
    words = detail or ({"message": problem.detail, **problem.more} if problem.more else problem.detail)
    document = {"error": _WORDS.get(problem.status, "refused"), "detail": words}
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return Response(json.dumps(document), problem.status, headers, media_type="application/json")
