"""Error responses as problem details (RFC 9457), and the table from errors to statuses and codes."""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from mesocosm.compat.osmosis_platform.errors import osmosis_error
from mesocosm.compat.swecc.errors import older_error
from mesocosm.core.failure import InfrastructureError, InvalidInput, MesocosmError, RunLeased, UnknownName, UsageError
from mesocosm.server.refusal import CODES, Refusal
from mesocosm.server.schemas.problem import InputProblem, ProblemCode, ProblemDocument

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger(__name__)

_ERRORS: tuple[tuple[type[MesocosmError], int, ProblemCode], ...] = (
    (UnknownName, 404, ProblemCode.NOT_FOUND),
    (InvalidInput, 422, ProblemCode.INVALID_INPUT),
    (UsageError, 400, ProblemCode.BAD_REQUEST),
    (RunLeased, 409, ProblemCode.RUN_HELD),
    (InfrastructureError, 503, ProblemCode.UNAVAILABLE),
    (MesocosmError, 500, ProblemCode.INTERNAL),
)
"""Status and code of each error of the core. The first matching class applies."""

WHY = {
    400: "The request is invalid.",
    401: "The caller is not authenticated, or user name and password do not match.",
    403: "The caller lacks permission.",
    404: "The object does not exist or is not visible to the caller.",
    409: "The request conflicts with the current state of the object.",
    413: "The request body is too large.",
    416: "The range lies outside the content.",
    422: "The input is invalid; `problems` lists all problems.",
    429: "Too many requests; `Retry-After` says when to try again.",
    503: "The server is overloaded, or a component that it needs is unavailable.",
    504: "The operation did not end within the time that the server waits; it continues.",
}
"""Description of each status in the OpenAPI document."""

_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
_SHOWN = 200
"""Maximum length of a path in an error message."""
_UNUSABLE = (
    "the server cannot use its database at the moment; try again later, and tell its administrators if this persists"
)


def _described(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}}},
    }


RESPONSES: dict[int | str, dict[str, Any]] = {
    422: _described(WHY[422]),
    "4XX": _described("The request was refused; `detail` says why."),
    "5XX": _described("The server failed, or a component that it needs is unavailable."),
}
"""OpenAPI responses for the errors of every route."""


def refused(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return OpenAPI responses for errors of a route, in addition to those derived from its access rule."""
    return {status: _described(WHY[status]) for status in (*statuses, 422)}


def status_of(error: MesocosmError) -> int:
    """Return the HTTP status of an error of the core."""
    return next(status for kind, status, _ in _ERRORS if isinstance(error, kind))


def problem_response(
    status: int,
    detail: str,
    code: ProblemCode | None = None,
    problems: Sequence[InputProblem] = (),
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """Return an uncacheable response with a problem document."""
    found = code or CODES.get(status, ProblemCode.BAD_REQUEST)
    document = ProblemDocument(
        type=f"urn:mesocosm:problem:{found}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=_encodable(detail),
        code=found,
        problems=list(problems),
        **(more or {}),
    )
    kept = {"Cache-Control": "no-store", **(headers or {})}
    return Response(document.model_dump_json(), status, kept, media_type=MEDIA_TYPE)


def early_response(scope: Scope, status: int, detail: str, code: ProblemCode | None = None) -> Response:
    """Return the response of a middleware that refuses a request before it reaches a route."""
    return osmosis_error(Request(scope), problem_response(status, detail, code))


def add_handlers(app: FastAPI) -> None:
    """Install handlers in `app` that answer every error with a problem document."""
    app.add_exception_handler(Refusal, _refusal)
    app.add_exception_handler(MesocosmError, _core_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(SQLAlchemyError, _database)
    app.add_exception_handler(Exception, _unexpected)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    problems = [InputProblem(path=error.field, message=_encodable(error.detail))] if error.field else ()
    detail = _without_places(request, error.detail)
    response = problem_response(error.status, detail, error.code, problems, error.headers, error.more)
    return _shaped(request, response)


def _without_places(request: Request, text: str) -> str:
    """Return `text` without the path of the server's data directory; a laptop shows its own."""
    service = getattr(request.app.state, "service", None)
    if service is None or service.local:
        return text
    return text.replace(str(service.settings.data_dir.absolute()), "…")


async def _core_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MesocosmError)
    status, code = next((status, code) for kind, status, code in _ERRORS if isinstance(error, kind))
    detail = str(error)
    if status >= 500:
        _log.error("%s %s: %s", request.method, request.url.path, error)
        service = request.app.state.service
        # Location and error of the database are only for administrators, who can read the log.
        if service is not None and not service.local and service.store.database.place in detail:
            detail = _UNUSABLE
    detail = _without_places(request, detail)
    problems = [
        InputProblem(
            path=problem.path,
            message=_encodable(_without_places(request, problem.message)),
            fix=_encodable(problem.fix),
        )
        for problem in (error.problems if isinstance(error, InvalidInput) else ())
    ]
    return _shaped(request, problem_response(status, detail, code, problems))


async def _invalid(request: Request, error: Exception) -> Response:
    found = cast("RequestValidationError", error).errors()
    # Never repeat input values: they may contain a password.
    problems = [InputProblem(path=_path(item), message=_message(item)) for item in found]
    listed = "; ".join(f"{problem.path.removeprefix('body.')}: {problem.message}" for problem in problems[:5])
    response = problem_response(422, listed, None, problems)
    older = [{"type": item["type"], "loc": list(map(_word, item["loc"])), "msg": str(item["msg"])} for item in found]
    return _shaped(request, response, older)


def _path(item: Mapping[str, Any]) -> str:
    """Return the path of an invalid value: `query.limit`, `path.seq`, `body.tags.3`."""
    return _encodable(".".join(str(part) for part in item.get("loc", ())))[:_SHOWN] or "body"


def _message(item: Mapping[str, Any]) -> str:
    return _encodable(str(item.get("msg", "is wrong")).removeprefix("Value error, "))


def _word(part: str | int) -> str | int:
    return _encodable(part)[:_SHOWN] if isinstance(part, str) else part


def no_route(request: Request) -> Response:
    """Return the response if no route matches: 405 with `Allow` if the path has other methods, else 404."""
    allowed = _methods(request)
    path = request.url.path[:_SHOWN]
    if not allowed:
        detail = f"there is no route {path}; {request.app.openapi_url} lists all routes"
        return _shaped(request, problem_response(404, detail))
    methods = ", ".join(allowed)
    detail = f"{path} does not allow {request.method[:20]}; use {methods}"
    return _shaped(request, problem_response(405, detail, headers={"Allow": methods}))


def _methods(request: Request) -> list[str]:
    """Return the methods that API routes accept on a path. Page routes are ignored, as they match every path."""
    routes: tuple[BaseRoute, ...] = request.app.state.routes
    asked = {**request.scope, "path_params": {}}
    return [
        method
        for method in _METHODS
        if any(route.matches({**asked, "method": method})[0] is Match.FULL for route in routes)
    ]


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code in {404, 405}:
        return no_route(request)
    return _shaped(request, problem_response(error.status_code, str(error.detail), headers=error.headers))


async def _database(request: Request, error: Exception) -> Response:
    _log.error("%s %s: the database failed", request.method, request.url.path, exc_info=error)
    return _shaped(request, problem_response(503, "the results could not be read; see the server's log"))


async def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _shaped(request, problem_response(500, "an internal error; see the server's log"))


def _shaped(request: Request, response: Response, detail: Any = None) -> Response:
    """Return an error in the format of other clients for the paths that they call."""
    return osmosis_error(request, older_error(request, response, detail))


def _encodable(text: str) -> str:
    """Return text that can be encoded as UTF-8: query strings may contain lone surrogates."""
    return text.encode("utf-8", "replace").decode()
