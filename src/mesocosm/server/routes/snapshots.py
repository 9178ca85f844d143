"""`/api/workspaces/{workspace}/snapshots`: directories that members upload, instead of a commit."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.concurrency import run_in_threadpool

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.permissions.snapshots import WorkingSnapshot
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.workspaces import WorkspaceReference
from mesocosm.server.schemas.snapshot import LARGEST_BODY, SnapshotDocument, SnapshotInput, SnapshotUploadDocument
from mesocosm.server.web.answer import not_cached
from mesocosm.server.web.requests import read_body

router = APIRouter(
    prefix="/api/workspaces/{workspace}/snapshots", tags=["snapshots"], dependencies=[Depends(not_cached)]
)

SnapshotId = Annotated[str, Path(max_length=100, description="ID of the snapshot.")]
_CONTENTS = {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "examples": ["\0\0\0\2[]"]}}}


@router.post(
    "", status_code=201, response_model=SnapshotUploadDocument, responses=refused(404, 409), **access(Access.INSIDER)
)
def begin_snapshot(workspace: WorkspaceReference, body: SnapshotInput, grant: Granted) -> SnapshotUploadDocument:
    """Begin the upload of a directory. For members, not viewers.

    The digest is that of the list of its files: JSON, without spaces, of an array sorted by path, of objects with
    `path`, `digest` (the first 32 hexadecimal digits of the SHA-256 of the content), `size`, `executable`, and `link`
    for a symbolic link, whose content is its target. `missing` says what to send. The same directory again is the
    same snapshot.
    """
    return grant.working_workspace(workspace).snapshots().begin(body)


@router.get("/{snapshot_id}", response_model=SnapshotDocument, responses=refused(404, 409), **access(Access.INSIDER))
def get_snapshot(workspace: WorkspaceReference, snapshot_id: SnapshotId, grant: Granted) -> SnapshotDocument:
    """Return a snapshot with what was found in it. 409 until all of it is there."""
    return grant.workspace(workspace).snapshot(snapshot_id).document()


@router.put(
    "/{snapshot_id}/contents",
    response_model=SnapshotUploadDocument,
    responses=refused(404, 409, 413),
    openapi_extra={"requestBody": {"required": True, "content": _CONTENTS}, "x-access": Access.INSIDER.value},
    dependencies=access(Access.INSIDER)["dependencies"],
)
async def put_contents(
    workspace: WorkspaceReference, snapshot_id: SnapshotId, request: Request, grant: Granted
) -> SnapshotUploadDocument:
    """Store missing contents. The body has each after its length in four bytes, the most significant first.

    The list of files is sent first, alone. `missing` in the answer says what to send then.
    """

    def find() -> WorkingSnapshot:
        return grant.working_workspace(workspace).snapshot(snapshot_id)

    try:
        found = await run_in_threadpool(find)
    except Refusal:
        # Clients see the reason only once they have sent everything.
        await read_body(request, LARGEST_BODY)
        raise
    body = await read_body(request, LARGEST_BODY)
    if len(body) > LARGEST_BODY:
        raise Refusal(413, f"the body has more than {LARGEST_BODY:,} bytes; send the contents in several requests")
    return await run_in_threadpool(found.add, bytes(body))


@router.post(
    "/{snapshot_id}/complete", response_model=SnapshotDocument, responses=refused(404, 409), **access(Access.INSIDER)
)
def complete_snapshot(workspace: WorkspaceReference, snapshot_id: SnapshotId, grant: Granted) -> SnapshotDocument:
    """End the upload, and return the snapshot with what was found in it. 409 if contents are missing."""
    return grant.working_workspace(workspace).snapshot(snapshot_id).complete()
