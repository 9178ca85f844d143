"""`/api/blobs`: large content by its digest."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import problem_response
from mesocosm.server.web.answer import FOREVER, TAGGED, known
from mesocosm.server.web.content import Content, byte_range, content_of, window

POLICY = "sandbox; default-src 'none'"

_BINARY = {"schema": {"type": "string", "format": "binary"}}

router = APIRouter(prefix="/api/blobs", tags=["blobs"])


@router.get(
    "/{digest}",
    response_class=Response,
    responses={
        200: {
            "description": "The content. `X-Mesocosm-Type` is its recorded type. With `from` or `bytes`, "
            "`X-Mesocosm-From`, `X-Mesocosm-Next` (absent at the end) and `X-Mesocosm-Total` are byte positions.",
            "content": {
                "text/plain": {"schema": {"type": "string"}},
                "image/*": _BINARY,
                "application/octet-stream": _BINARY,
            },
        },
        **TAGGED,
        206: {"description": "The part requested by the `Range` header."},
    },
    **access(Access.READER),
)
def get_blob(
    digest: str,
    request: Request,
    grant: Granted,
    start: Annotated[int, Query(alias="from", ge=0, description="Start at this byte.")] = 0,
    count: Annotated[
        int | None,
        Query(alias="bytes", ge=1, le=2**31, description="Maximum number of bytes; text is cut between characters."),
    ] = None,
    download: Annotated[str, Query(max_length=200, description="File name for a browser download.")] = "",
) -> Response:
    """Return content, in full or in part. HTML and SVG are returned as plain text, so that nothing in it can run."""
    tag = f'"{digest}"' if digest.isalnum() else None
    content = content_of(grant.runs().blob(digest))
    if (same := known(request, tag)) is not None:
        same.headers["Cache-Control"] = FOREVER
        return same
    headers = {
        "Cache-Control": FOREVER,
        "Content-Security-Policy": POLICY,
        "Accept-Ranges": "bytes",
        "X-Mesocosm-Type": content.recorded,
        **({"ETag": tag} if tag else {}),
        **({"Content-Disposition": f"attachment; filename*=UTF-8''{quote(download, safe='')}"} if download else {}),
    }
    if count is not None or start:
        return _window(content, start, count, headers)
    if (wanted := byte_range(request.headers.get("range"), len(content.data))) is not None:
        return _part(content, *wanted, headers)
    return Response(content.data, headers=headers, media_type=content.media_type)


def _window(content: Content, start: int, count: int | None, headers: dict[str, str]) -> Response:
    total = len(content.data)
    first, end = window(content.data, start, total if count is None else count)
    place = {"X-Mesocosm-From": str(first), "X-Mesocosm-Total": str(total)}
    if end < total:
        place["X-Mesocosm-Next"] = str(end)
    return Response(content.data[first:end], headers={**headers, **place}, media_type=content.media_type)


def _part(content: Content, begin: int, end: int, headers: dict[str, str]) -> Response:
    """Return the bytes requested by a `Range` header, or 416."""
    total = len(content.data)
    if begin >= end:
        answer = problem_response(416, f"the content has {total} bytes, none of them in the requested range")
        answer.headers["Content-Range"] = f"bytes */{total}"
        return answer
    placed = {**headers, "Content-Range": f"bytes {begin}-{end - 1}/{total}"}
    return Response(content.data[begin:end], 206, placed, content.media_type)
