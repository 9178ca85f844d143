"""Errors as documents: which status each kind has, and what a client may read of it."""

import logging
from collections.abc import Mapping
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from mesocosm.core.failure import InfrastructureError, InvalidInput, MesocosmError, RunHeld, UnknownName, UsageError
from mesocosm.server.schemas.document import ErrorDocument

_log = logging.getLogger(__name__)

_WORDS = {400: "usage", 404: "unknown", 405: "method", 409: "held", 422: "invalid", 503: "infrastructure"}
_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
_SHOWN = 200
"""Characters of a wrong value that are repeated to the one who sent it."""

RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorDocument, "description": "The request cannot be answered; the document says why."},
    "5XX": {"model": ErrorDocument, "description": "The store cannot be used, or a defect."},
}
"""What every route may answer beside its document."""


def error_response(status: int, error: str, detail: str, problems: list[dict[str, Any]] | None = None) -> Response:
    """Return an error as a document that nobody keeps."""
    document = ErrorDocument(error=error, detail=_clean(detail), problems=problems or [])
    headers = {"Cache-Control": "no-store"}
    return Response(document.model_dump_json(), status, headers, media_type="application/json")


def add_handlers(app: FastAPI) -> None:
    """Let `app` answer every error with a document."""
    app.add_exception_handler(MesocosmError, ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(SQLAlchemyError, _database)
    app.add_exception_handler(Exception, _unexpected)


def status_of(error: MesocosmError) -> int:
    """Return the HTTP status of one of our errors."""
    if isinstance(error, UnknownName):
        return 404
    if isinstance(error, InvalidInput):
        return 422
    if isinstance(error, UsageError):
        return 400
    return 409 if isinstance(error, RunHeld) else 503 if isinstance(error, InfrastructureError) else 500


async def ours(request: Request, error: Exception) -> Response:
    """Answer an error of ours with its own words."""
    assert isinstance(error, MesocosmError)
    status = status_of(error)
    if status >= 500:
        _log.error("%s %s: %s", request.method, request.url.path, error)
    problems = [
        {"path": problem.path, "message": _clean(problem.message), "fix": _clean(problem.fix)}
        for problem in (error.problems if isinstance(error, InvalidInput) else ())
    ]
    return error_response(status, _WORDS.get(status, "internal"), str(error), problems)


async def _invalid(_request: Request, error: Exception) -> Response:
    found = cast("RequestValidationError", error).errors()
    problems = [{"path": _path(item), "message": _message(item)} for item in found]
    listed = "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems[:5])
    return error_response(422, "invalid", f"the request cannot be understood: {listed}", problems)


def _path(item: Mapping[str, Any]) -> str:
    """Return where a wrong value stands: `query.limit`, `path.seq`, `body.tags.3`."""
    return _clean(".".join(str(part) for part in item.get("loc", ())))[:_SHOWN]


def _message(item: Mapping[str, Any]) -> str:
    given = item.get("input")
    shown = "" if given is None or isinstance(given, dict | list) else f", not {str(given)[:_SHOWN]!r}"
    return _clean(f"{item.get('msg', 'wrong')}{shown}")


def nothing_at(request: Request) -> str:
    """Return the words for an address that nothing answers to."""
    return f"there is nothing at {request.url.path[:_SHOWN]}; {request.app.openapi_url} lists what there is"


def unanswered(request: Request) -> Response:
    """Answer what no route takes: 405 where one takes the path with other methods, which are all named, else 404."""
    allowed = _methods(request)
    if not allowed:
        return error_response(404, _WORDS[404], nothing_at(request))
    methods = ", ".join(allowed)
    detail = f"{request.method[:20]} is not possible on {request.url.path[:_SHOWN]}; it takes {methods}"
    answer = error_response(405, _WORDS[405], detail)
    answer.headers["Allow"] = methods
    return answer


def _methods(request: Request) -> list[str]:
    """Return the methods that routes of the API take on a path; the pages' own routes take every path."""
    routes: tuple[BaseRoute, ...] = request.app.state.routes
    asked = {**request.scope, "path_params": {}}
    return [
        method
        for method in _METHODS
        if any(route.matches({**asked, "method": method})[0] is Match.FULL for route in routes)
    ]


async def refused(request: Request, error: Exception) -> Response:
    """Answer what no route takes, and what routes refuse by themselves."""
    assert isinstance(error, HTTPException)
    if error.status_code in {404, 405}:
        return unanswered(request)
    answer = error_response(error.status_code, _WORDS.get(error.status_code, "refused"), str(error.detail))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


async def _database(request: Request, error: Exception) -> Response:
    _log.error("%s %s: the store failed", request.method, request.url.path, exc_info=error)
    return error_response(503, "infrastructure", "the results could not be read; the server's log says why")


async def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_response(500, "internal", "a defect in mesocosm; the server's log has the details")


def _clean(text: str) -> str:
    """Return text that can be encoded: query strings may hold lone surrogates."""
    return text.encode("utf-8", "replace").decode()
