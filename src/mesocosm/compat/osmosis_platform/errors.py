"""Errors in the format that the `osmosis` command line prints: `error`, `code`, `issues`."""

import json
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from mesocosm.server.refusal import AUTH_STATE
from mesocosm.server.schemas.problem import ProblemCode, ProblemDocument

PATHS = "/api/cli/"
CODE = "osmosis_code"
"""Additional field of a Refusal with the code that the command line knows."""
Model = TypeVar("Model", bound=BaseModel)
_EXPIRED = {"expired": "TOKEN_EXPIRED", "invalid": "TOKEN_INVALID"}


def osmosis_error(request: Request, response: Response) -> Response:
    """Return an error as the command line reads it, for its paths; otherwise unchanged.

    Invalid input has status 400: it takes 422 for a failure of the server.
    """
    if not request.scope["path"].startswith(PATHS):
        return response
    problem = ProblemDocument.model_validate_json(bytes(response.body))
    more = problem.more
    code: str = more.pop(CODE, problem.code.value)
    if problem.code is ProblemCode.UNAUTHENTICATED:
        code = _EXPIRED.get(getattr(request.state, AUTH_STATE, ""), "AUTH_HEADER_MISSING")
    document: dict[str, Any] = {"error": problem.detail, "code": code, **more}
    if problem.problems:
        document["error"] = "the input is invalid"
        document["issues"] = [{"key": one.path, "message": _words(one.message, one.fix)} for one in problem.problems]
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    status = 400 if problem.status == 422 else problem.status
    return Response(json.dumps(document), status, headers, media_type="application/json")


def _words(message: str, fix: str) -> str:
    return f"{message}; {fix}" if fix else message


def checked(model: type[Model], given: dict[str, Any]) -> Model:
    """Return the input of a granted object. Raises RequestValidationError."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False)) from error
