"""Errors of a platform as documents, in the shape that its older clients read."""

import json
import logging
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError

from mesocosm.core.failure import InfrastructureError, MesocosmError
from mesocosm.server import errors
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import Document

_log = logging.getLogger(__name__)

_WORDS = {400: "usage", 401: "unauthenticated", 403: "forbidden", 404: "unknown", 409: "conflict", 422: "invalid"}
_WORDS |= {429: "too_many", 503: "infrastructure"}
_UNUSABLE = (
    "the platform cannot use its database at the moment; try again later, and tell those who run it when it stays so"
)


class RefusalDocument(Document):
    """Why something was refused: a kind, and what happened, on which object, and what to do next."""

    error: str
    detail: str | dict[str, Any]


class InvalidDocument(Document):
    """What is wrong with the input: every problem with its place."""

    error: str
    detail: str | list[dict[str, Any]]


WHY = {
    400: "What was asked cannot be done so.",
    401: "It is not known who asks, or the name and the password do not fit.",
    403: "Who asks may not do that.",
    404: "There is no such thing, or none that who asks may know of.",
    409: "It does not fit what is there.",
    413: "The body is too large.",
    416: "There is nothing in that range.",
    422: "The input is wrong; the document says where.",
    429: "Too many tries, or too much at once; `Retry-After` says when to try again.",
    503: "The platform is too busy, or something that it needs does not work.",
    504: "It takes longer than the platform waits, and goes on.",
}
"""What each refusal means."""

RESPONSES: dict[int | str, dict[str, Any]] = {
    422: {"model": InvalidDocument, "description": "The input is wrong; the document says where."},
    "4XX": {"model": RefusalDocument, "description": "The request is refused; the document says why."},
    "5XX": {"model": RefusalDocument, "description": "Something the platform needs does not work."},
}
"""What every route may answer beside its document."""


def refused(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the refusals of a route for its documentation, beside those that follow from its rule."""
    documents: dict[int | str, dict[str, Any]] = {
        status: {"model": RefusalDocument, "description": WHY[status]} for status in statuses
    }
    return {**documents, 422: {"model": InvalidDocument, "description": WHY[422]}}


def add_handlers(app: FastAPI) -> None:
    """Let `app` answer every error with a document."""
    errors.add_handlers(app)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(InfrastructureError, _unusable)
    app.add_exception_handler(RequestValidationError, _invalid)


def error_document(status: int, detail: Any, headers: dict[str, str] | None = None) -> Response:
    """Return an error that nobody keeps."""
    document = {"error": _WORDS.get(status, "refused"), "detail": detail}
    kept = {"Cache-Control": "no-store", **(headers or {})}
    return Response(json.dumps(document), status, kept, media_type="application/json")


async def _unusable(request: Request, error: Exception) -> Response:
    """Answer where something does not work; where the store lies and how it fails is for those who run the platform."""
    store = request.app.state.store
    if errors.status_of(cast("MesocosmError", error)) != 503 or store is None or store.database.place not in str(error):
        return await errors.ours(request, error)
    _log.error("%s %s: %s", request.method, request.url.path, error)
    return error_document(503, _UNUSABLE)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error_document(error.status, error.detail, error.headers)


async def _invalid(_request: Request, error: Exception) -> Response:
    found = cast("RequestValidationError", error).errors()
    listed = [{**item, "ctx": {key: str(value) for key, value in item.get("ctx", {}).items()}} for item in found]
    for item in listed:
        if not item["ctx"]:
            del item["ctx"]
        # What was sent may hold a password, and lone surrogates that cannot be sent back.
        item.pop("input", None)
    return error_document(422, jsonable_encoder(listed))
