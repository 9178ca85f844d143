"""`/api/workspaces/{workspace}/repository`, `…/syncs` and `…/rollouts`: Git Sync of a workspace."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.routes.workspaces import WorkspaceReference
from mesocosm.server.schemas.evaluation import CodeDocument
from mesocosm.server.schemas.git_credential import CredentialKind, GitCredentialInput
from mesocosm.server.schemas.repository import (
    RepositoryDocument,
    RepositoryHookAnswer,
    RepositoryHookDocument,
    RepositoryInput,
    SyncDetail,
    SyncDocument,
    SyncedRolloutDocument,
    SyncInput,
)

router = APIRouter(prefix="/api", tags=["repositories"])

SyncNumber = Annotated[int, Path(ge=1, lt=2**31, description="Number of the sync.")]


@router.put(
    "/workspaces/{workspace}/repository",
    status_code=201,
    response_model=RepositoryDocument,
    responses=refused(409),
    **access(Access.OWNER),
)
def connect_repository(workspace: WorkspaceReference, body: RepositoryInput, grant: Granted) -> RepositoryDocument:
    """Connect a workspace with a Git repository (its admins and owners), and queue its first sync.

    409 if it has another one, 422 for a host that this server does not allow.
    """
    return grant.managed_workspace(workspace).repository().connect(body)


@router.get("/workspaces/{workspace}/repository", response_model=RepositoryDocument, **access(Access.INSIDER))
def get_repository(workspace: WorkspaceReference, grant: Granted) -> RepositoryDocument:
    """Return the repository of a workspace. 404 if none is connected."""
    return grant.workspace(workspace).repository().document()


@router.delete("/workspaces/{workspace}/repository", status_code=204, response_class=Response, **access(Access.OWNER))
def disconnect_repository(workspace: WorkspaceReference, grant: Granted) -> None:
    """Disconnect the repository of a workspace (its admins and owners). Runs keep what was synced."""
    grant.managed_workspace(workspace).repository().disconnect()


@router.put(
    "/workspaces/{workspace}/repository/credentials",
    response_model=RepositoryDocument,
    responses=refused(409),
    **access(Access.OWNER),
)
def set_credentials(workspace: WorkspaceReference, body: GitCredentialInput, grant: Granted) -> RepositoryDocument:
    """Set the token or the deploy key of a private repository (admins and owners of the workspace).

    They are used to read the repository, and never shown. What is not given stays as it is.
    """
    return grant.managed_workspace(workspace).repository().set_credentials(body)


@router.delete(
    "/workspaces/{workspace}/repository/credentials/{kind}",
    status_code=204,
    response_class=Response,
    **access(Access.OWNER),
)
def delete_credential(workspace: WorkspaceReference, kind: CredentialKind, grant: Granted) -> None:
    """Delete the token or the deploy key of a repository (admins and owners of the workspace)."""
    grant.managed_workspace(workspace).repository().delete_credential(kind)


@router.post(
    "/workspaces/{workspace}/repository/hook",
    status_code=201,
    response_model=RepositoryHookDocument,
    responses=refused(409),
    **access(Access.OWNER),
)
def renew_hook(workspace: WorkspaceReference, grant: Granted) -> RepositoryHookDocument:
    """Give the webhook of the repository a new secret, which is shown once (admins and owners of the workspace)."""
    return grant.managed_workspace(workspace).repository().renew_hook()


async def raw_body(request: Request) -> bytes:
    """Return the bytes of a request, which its signature covers."""
    return await request.body()


@router.post("/hooks/git/{hook_id}", status_code=202, response_model=RepositoryHookAnswer, **access(Access.PUBLIC))
def receive_push(
    hook_id: Annotated[str, Path(max_length=100, description="ID of the repository.")],
    request: Request,
    body: Annotated[bytes, Depends(raw_body)],
    grant: Granted,
) -> RepositoryHookAnswer:
    """Webhook of a repository: queue a sync of the branch that was pushed.

    The secret signs the body (`X-Hub-Signature-256`), or is sent in `X-Gitlab-Token` or `X-Mesocosm-Token`. 404 without
    the right one. Calls of other events, for other branches, and repeated ones change nothing.
    """
    return grant.repository_hook(hook_id).receive(request.headers, body)


@router.get("/workspaces/{workspace}/syncs", response_model=list[SyncDocument], **access(Access.INSIDER))
def list_syncs(
    workspace: WorkspaceReference,
    grant: Granted,
    limit: Annotated[int, Query(ge=1, le=100, description="Maximum number.")] = 20,
    cursor: Annotated[
        int | None, Query(ge=1, lt=2**31, description="Number of the last sync of the page before.")
    ] = None,
) -> Sequence[SyncDocument]:
    """List the syncs of a workspace, newest first."""
    return grant.workspace(workspace).repository().syncs(limit, cursor)


@router.post("/workspaces/{workspace}/syncs", status_code=202, response_model=SyncDocument, **access(Access.INSIDER))
def start_sync(workspace: WorkspaceReference, body: SyncInput, grant: Granted) -> SyncDocument:
    """Queue a sync of a branch or a commit, or return one of the same that has not begun. For members, not viewers.

    With `reuse`, nothing is queued if the commit is there or being synced: `status` and `number` say which.
    """
    return grant.working_workspace(workspace).repository().start(body)


@router.get("/workspaces/{workspace}/syncs/{number}", response_model=SyncDetail, **access(Access.INSIDER))
def get_sync(workspace: WorkspaceReference, number: SyncNumber, grant: Granted) -> SyncDetail:
    """Return a sync with the rollouts and configurations found, and what to mend in them."""
    return grant.workspace(workspace).repository().sync(number)


@router.get("/workspaces/{workspace}/rollouts", response_model=list[SyncedRolloutDocument], **access(Access.INSIDER))
def list_rollouts(
    workspace: WorkspaceReference,
    grant: Granted,
    branch: Annotated[str, Query(max_length=250, description="Branch; by default the one that is followed.")] = "",
) -> Sequence[SyncedRolloutDocument]:
    """List the rollouts of a workspace at the newest synced commit of a branch."""
    return grant.workspace(workspace).repository().rollouts(branch)


@router.get("/workspaces/{workspace}/code", response_model=list[CodeDocument], **access(Access.INSIDER))
def list_code(workspace: WorkspaceReference, grant: Granted) -> Sequence[CodeDocument]:
    """List the code of a workspace that can be evaluated: the newest commit of each synced branch, and uploads.

    What runs by default comes first, then the newest.
    """
    return grant.workspace(workspace).code()
