"""`/api/run-imports`: runs that were played elsewhere, pushed to this server in parts."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.dataset import Sha256
from mesocosm.server.schemas.run_import import RunImportDocument, RunImportInput, RunImportPage, RunImportPart
from mesocosm.server.web.answer import not_cached
from mesocosm.server.web.requests import read_body

router = APIRouter(prefix="/api/run-imports", tags=["run imports"], dependencies=[Depends(not_cached)])

ImportId = Annotated[str, Path(max_length=100, description="ID of the import.")]
PartNumber = Annotated[int, Path(ge=1, lt=2**31, description="Number of the part, from 1.")]
_DRAINED = 8 << 20
"""Maximum number of bytes to read of a part that is refused; it is larger than any part."""
_PART = {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "examples": ["PK"]}}}


@router.post(
    "", status_code=201, response_model=RunImportDocument, responses=refused(404, 409, 413), **access(Access.MEMBER)
)
def begin_import(body: RunImportInput, grant: Granted) -> RunImportDocument:
    """Begin or continue the upload of a run that was played elsewhere, as the bundle that `mesocosm export` writes.

    The same bytes again are the same import: `present` lists the parts that need not be sent, and `run_id` is the run
    if it was imported already. 413 if there is no room.
    """
    return grant.run_imports().begin(body)


@router.get("", response_model=RunImportPage, **access(Access.MEMBER))
def list_imports(
    grant: Granted,
    limit: Annotated[int, Query(ge=1, le=100, description="Maximum number of items per page.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=200, description="ID of the last item of the previous page.")
    ] = None,
) -> RunImportPage:
    """List the caller's imports, newest first. Uploads that were given up and refused ones are kept for a day."""
    return grant.run_imports().list(limit, cursor)


@router.get("/{import_id}", response_model=RunImportDocument, responses=refused(404), **access(Access.OWNER))
def get_import(import_id: ImportId, grant: Granted) -> RunImportDocument:
    """Return an import: which parts are there, and after its check the run, or what is wrong with the bundle."""
    return grant.run_import(import_id).document()


@router.put(
    "/{import_id}/parts/{part}",
    response_model=RunImportPart,
    responses=refused(404, 409, 413),
    openapi_extra={"requestBody": {"required": True, "content": _PART}, "x-access": Access.OWNER.value},
    dependencies=access(Access.OWNER)["dependencies"],
)
async def put_import_part(
    import_id: ImportId,
    part: PartNumber,
    request: Request,
    response: Response,
    grant: Granted,
    digest: Annotated[
        Sha256 | None, Query(description="SHA-256 of the part, in hexadecimal; without it a damaged part is stored.")
    ] = None,
) -> RunImportPart:
    """Store a part of a bundle. Each has `part_size` bytes, except the last. It may be sent again.

    `ETag` is the digest of what was stored.
    """
    try:
        found = await run_in_threadpool(grant.run_import, import_id)
        size = await run_in_threadpool(found.part_size, part)
    except Refusal:
        # Clients see the reason only once they have sent everything.
        await read_body(request, _DRAINED)
        raise
    data = await read_body(request, size)
    if len(data) > size:
        raise Refusal(413, f"part {part} has {size:,} bytes, and more were sent; send exactly those")
    stored = await run_in_threadpool(found.add_part, part, bytes(data), digest)
    response.headers["ETag"] = f'"{stored.digest}"'
    return stored


@router.post(
    "/{import_id}/complete",
    status_code=202,
    response_model=RunImportDocument,
    responses=refused(404, 409),
    **access(Access.OWNER),
)
def complete_import(import_id: ImportId, grant: Granted) -> RunImportDocument:
    """End the upload of a bundle. A worker computes every number again and stores the run; `status` says the result.

    409 if parts are missing. May be repeated.
    """
    return grant.run_import(import_id).complete()


@router.delete(
    "/{import_id}", status_code=204, response_class=Response, responses=refused(404, 409), **access(Access.OWNER)
)
def delete_import(import_id: ImportId, grant: Granted) -> None:
    """Give an upload up and remove its parts. 409 if it is being checked, or was imported: then delete the run."""
    grant.run_import(import_id).abort()
