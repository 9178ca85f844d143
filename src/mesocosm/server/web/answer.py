"""Responses of the API: documents serialised in the thread of the route, with their cache headers."""

from typing import Any

from fastapi import Request, Response

from mesocosm.core.ids import digest_bytes
from mesocosm.server.schemas.document import Document

MOVING = "no-store"
"""Cache-Control of data that may change at any time."""

SETTLED = "private, no-cache"
"""Cache-Control of ended objects: cached but revalidated by ETag, because they can be rescored or deleted."""

FOREVER = "private, max-age=31536000, immutable"
"""Cache-Control of content with its digest in its URL."""

TAGGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not modified since the version in `If-None-Match`."}}
"""Additional OpenAPI responses of routes that use `settled` or `known`."""


async def not_cached(response: Response) -> None:
    """Forbid caching of a response. A dependency of routes about accounts."""
    response.headers["Cache-Control"] = MOVING


def answer(document: Document, tag: str | None = None) -> Response:
    """Return a response with a document, with the cache headers of `raw`."""
    return raw(document.__pydantic_serializer__.to_json(document), tag)


def raw(data: bytes, tag: str | None = None) -> Response:
    """Return a response with JSON that must not be cached; with a `tag` it may be cached and revalidated."""
    response = Response(data, media_type="application/json")
    response.headers["Cache-Control"] = MOVING if tag is None else SETTLED
    if tag is not None:
        response.headers["ETag"] = tag
    return response


def settled(request: Request, document: Document) -> Response:
    """Return a response with the document of an ended object; 304 if the client has the same document."""
    data = document.__pydantic_serializer__.to_json(document)
    tag = f'W/"{digest_bytes(data)}"'
    return known(request, tag) or raw(data, tag)


def known(request: Request, tag: str | None) -> Response | None:
    """Return a 304 response if `If-None-Match` contains `tag` or `*`, else None."""
    given = request.headers.get("if-none-match")
    if tag is None or given is None:
        return None
    names = {name.strip().removeprefix("W/") for name in given.split(",")}
    if tag.removeprefix("W/") not in names and "*" not in names:
        return None
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": SETTLED})
