"""Answers of the API: documents as bytes, made where the route runs, and what caches may do with them."""

from typing import Any

from fastapi import Request, Response

from mesocosm.core.ids import digest_bytes
from mesocosm.server.schemas.document import Document

MOVING = "no-store"
"""For what may be different the next moment."""

SETTLED = "private, no-cache"
"""For what has ended: kept, but asked for again with its tag, because it can be rescored or deleted."""

FOREVER = "private, max-age=31536000, immutable"
"""For what has its digest in its name."""

TAGGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "What the client has, by its `If-None-Match`, is still what there is."}
}
"""What routes of settled things may answer beside their document."""


async def not_cached(response: Response) -> None:
    """Forbid caches to keep an answer; a dependency of routes about accounts."""
    response.headers["Cache-Control"] = MOVING


def answer(document: Document, tag: str | None = None) -> Response:
    """Return a document, as `raw` does."""
    return raw(document.__pydantic_serializer__.to_json(document), tag)


def raw(data: bytes, tag: str | None = None) -> Response:
    """Return JSON that may be different the next moment; with a `tag` it may be kept and asked for again."""
    response = Response(data, media_type="application/json")
    response.headers["Cache-Control"] = MOVING if tag is None else SETTLED
    if tag is not None:
        response.headers["ETag"] = tag
    return response


def settled(request: Request, document: Document) -> Response:
    """Return a document of something that has ended: 304 when the client has just this one."""
    data = document.__pydantic_serializer__.to_json(document)
    tag = f'W/"{digest_bytes(data)}"'
    return known(request, tag) or raw(data, tag)


def known(request: Request, tag: str | None) -> Response | None:
    """Return 304 when the client says that it has what `tag` names."""
    given = request.headers.get("if-none-match")
    if tag is None or given is None:
        return None
    names = {name.strip().removeprefix("W/") for name in given.split(",")}
    if tag.removeprefix("W/") not in names and "*" not in names:
        return None
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": SETTLED})
