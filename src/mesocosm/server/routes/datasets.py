"""`/api/workspaces/{workspace}/datasets`: datasets of a workspace, their versions and uploads."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from mesocosm.server.permissions.datasets import WorkingDataset
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import problem_response, refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.runs.promoted_rows import promoted_rows
from mesocosm.server.schemas.dataset import (
    DatasetChange,
    DatasetDocument,
    DatasetInput,
    DatasetItem,
    DatasetPage,
    DatasetPart,
    DatasetPreview,
    DatasetUpload,
    Sha256,
)
from mesocosm.server.schemas.dataset_rows import DatasetAddition, DatasetRowsInput
from mesocosm.server.web.answer import not_cached
from mesocosm.server.web.content import byte_range
from mesocosm.server.web.requests import read_body

router = APIRouter(prefix="/api/workspaces/{workspace}/datasets", tags=["datasets"], dependencies=[Depends(not_cached)])

Place = Annotated[str, Path(max_length=300, description="ID or name of the workspace.")]
Name = Annotated[str, Path(max_length=300, description="ID or name of the dataset.")]
Number = Annotated[int, Path(ge=1, lt=2**31, description="Number of the version.")]
Version = Annotated[
    int | None, Query(ge=1, lt=2**31, description="Number of a version; by default the newest uploaded one.")
]
PartNumber = Annotated[int, Path(ge=1, lt=2**31, description="Number of the part, from 1.")]
_DRAINED = 8 << 20
"""Maximum number of bytes to read of a part that is refused; it is larger than any part."""
_BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_PART = {
    "application/octet-stream": {"schema": {"type": "string", "format": "binary", "examples": ["question,answer"]}}
}


@router.post(
    "", status_code=201, response_model=DatasetUpload, responses=refused(404, 409, 413), **access(Access.INSIDER)
)
def begin_upload(workspace: Place, body: DatasetInput, grant: Granted) -> DatasetUpload:
    """Begin or continue the upload of a file as a dataset, or with `overwrite` as a new version of one.

    The same bytes again are the same version: `present` lists the parts that need not be sent. 409 with
    `existing_dataset_id` if the name exists, 413 if there is no room.
    """
    return grant.working_workspace(workspace).datasets().upload(body)


@router.get("", response_model=DatasetPage, responses=refused(404), **access(Access.INSIDER))
def list_datasets(
    workspace: Place,
    grant: Granted,
    limit: Annotated[int, Query(ge=1, le=100, description="Maximum number of items per page.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=200, description="ID of the last item of the previous page.")
    ] = None,
) -> DatasetPage:
    """List the datasets of a workspace, newest first."""
    return grant.workspace(workspace).datasets().list(limit, cursor)


@router.get("/{dataset}", response_model=DatasetDocument, responses=refused(404), **access(Access.INSIDER))
def get_dataset(workspace: Place, dataset: Name, grant: Granted, version: Version = None) -> DatasetDocument:
    """Return a dataset with its versions, and the columns of one version with their statistics, or its faults."""
    return grant.workspace(workspace).dataset(dataset).document(version)


@router.patch("/{dataset}", response_model=DatasetItem, responses=refused(404, 409), **access(Access.OWNER))
def rename_dataset(workspace: Place, dataset: Name, body: DatasetChange, grant: Granted) -> DatasetItem:
    """Rename a dataset. For its creator and admins of the workspace. 409 if the name is taken."""
    return grant.working_workspace(workspace).dataset(dataset).rename(body.name)


@router.delete("/{dataset}", status_code=204, response_class=Response, responses=refused(404), **access(Access.OWNER))
def delete_dataset(workspace: Place, dataset: Name, grant: Granted) -> None:
    """Delete a dataset. For its creator and admins of the workspace. Runs keep the versions that they used."""
    grant.working_workspace(workspace).dataset(dataset).delete()


@router.get("/{dataset}/preview", response_model=DatasetPreview, responses=refused(404, 409), **access(Access.INSIDER))
def preview_dataset(
    workspace: Place,
    dataset: Name,
    grant: Granted,
    version: Version = None,
    limit: Annotated[int, Query(ge=1, le=20, description="Maximum number of rows.")] = 5,
) -> DatasetPreview:
    """Return the first rows of a version; long cells are cut."""
    return grant.workspace(workspace).dataset(dataset).preview(version, limit)


@router.get(
    "/{dataset}/download",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file as it was uploaded.", "content": _BINARY},
        206: {"description": "The part requested by the `Range` header."},
        **refused(404, 409, 416),
    },
    **access(Access.INSIDER),
)
def download_dataset(
    workspace: Place, dataset: Name, request: Request, grant: Granted, version: Version = None
) -> Response:
    """Download the file of a version. Supports one range of bytes; `ETag` is the digest of the file."""
    found = grant.workspace(workspace).dataset(dataset)
    file = found.file(version)
    headers = {
        "Accept-Ranges": "bytes",
        "ETag": f'"{file.digest}"',
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.file_name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "X-Mesocosm-Version": str(file.version),
    }
    given = request.headers.get("range")
    if given is not None and request.headers.get("if-range", headers["ETag"]) != headers["ETag"]:
        given = None
    part = byte_range(given, file.size)
    begin, end = part or (0, file.size)
    if begin >= end:
        answer = problem_response(416, f"the file has {file.size} bytes, none of them in the requested range")
        answer.headers["Content-Range"] = f"bytes */{file.size}"
        return answer
    if part is not None:
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{file.size}"
    headers["Content-Length"] = str(end - begin)
    content = found.content(file.version, begin, end)
    return StreamingResponse(content, 206 if part else 200, headers, media_type="application/octet-stream")


@router.post(
    "/{dataset}/rows",
    status_code=202,
    response_model=DatasetAddition,
    responses=refused(404, 409, 413),
    **access(Access.INSIDER),
)
def add_rows(workspace: Place, dataset: Name, body: DatasetRowsInput, grant: Granted) -> DatasetAddition:
    """Add the tasks of a run's episodes as rows to a dataset: a new version, or a new dataset if the name is free.

    For those who see the prompts of the run. A row that the dataset has already is not added again. A worker does it;
    `source` of the version says how many are new, and it is `cancelled` if none is.
    """
    datasets = grant.working_workspace(workspace).datasets()
    run = grant.run(body.run)
    made = promoted_rows(run, body)
    begun = datasets.add_rows(dataset, run.id, made.lines, made.columns)
    return DatasetAddition(
        id=begun.id,
        name=begun.name,
        version=begun.version,
        status=begun.status,
        rows=made.count,
        without_task=made.without_task,
        altered=made.altered,
    )


@router.put(
    "/{dataset}/versions/{number}/parts/{part}",
    response_model=DatasetPart,
    responses=refused(404, 409, 413),
    openapi_extra={"requestBody": {"required": True, "content": _PART}, "x-access": Access.INSIDER.value},
    dependencies=access(Access.INSIDER)["dependencies"],
)
async def put_part(
    workspace: Place,
    dataset: Name,
    number: Number,
    part: PartNumber,
    request: Request,
    response: Response,
    grant: Granted,
    digest: Annotated[
        Sha256 | None, Query(description="SHA-256 of the part, in hexadecimal; without it a damaged part is stored.")
    ] = None,
) -> DatasetPart:
    """Store a part of a file. Each has `part_size` bytes, except the last. It may be sent again.

    `ETag` is the digest of what was stored.
    """
    place = await run_in_threadpool(grant.working_workspace, workspace)

    def find() -> tuple[WorkingDataset, int]:
        found = place.dataset(dataset)
        return found, found.part_size(number, part)

    try:
        found, size = await run_in_threadpool(find)
    except Refusal:
        # Clients see the reason only once they have sent everything.
        await read_body(request, _DRAINED)
        raise
    data = await read_body(request, size)
    if len(data) > size:
        raise Refusal(413, f"part {part} has {size:,} bytes, and more were sent; send exactly those")
    stored = await run_in_threadpool(found.add_part, number, part, bytes(data), digest)
    response.headers["ETag"] = f'"{stored.digest}"'
    return stored


@router.post(
    "/{dataset}/versions/{number}/complete",
    status_code=202,
    response_model=DatasetUpload,
    responses=refused(404, 409),
    **access(Access.INSIDER),
)
def complete_upload(workspace: Place, dataset: Name, number: Number, grant: Granted) -> DatasetUpload:
    """End the upload of a version. A worker checks the digest of the file, then every row; `status` says the result.

    409 if parts are missing. May be repeated.
    """
    return grant.working_workspace(workspace).dataset(dataset).complete(number)


@router.post(
    "/{dataset}/versions/{number}/abort",
    status_code=204,
    response_class=Response,
    responses=refused(404, 409),
    **access(Access.INSIDER),
)
def abort_upload(workspace: Place, dataset: Name, number: Number, grant: Granted) -> None:
    """Give an upload up and remove its parts. 409 if it has been completed."""
    grant.working_workspace(workspace).dataset(dataset).abort(number)
