"""`/api/batch-runs`: a run of every model of the operator's list in one environment."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request

from mesocosm.server.permissions.batch_runs import VisibleBatchRuns
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.batch_run import BatchReport, BatchRunDocument, BatchRunInput, BatchStatus

router = APIRouter(prefix="/api/batch-runs", tags=["batch-runs"])

BatchId = Annotated[str, Path(max_length=200, description="ID of the batch run.")]


async def _batch_runs(request: Request, grant: Granted) -> VisibleBatchRuns:
    return grant.batch_runs(request.headers.get("authorization", ""))


BatchRuns = Annotated[VisibleBatchRuns, Depends(_batch_runs)]
_MEMBERS: dict[str, Any] = {"openapi_extra": {"x-access": Access.MEMBER.value}}
_OWNER: dict[str, Any] = {"openapi_extra": {"x-access": Access.OWNER.value}}
"""Members see their own batch runs; callers with the workers' secret see all."""


@router.post(
    "", status_code=202, response_model=BatchRunDocument, responses=refused(400, 409, 429), **access(Access.INSIDER)
)
def create_batch_run(body: BatchRunInput, grant: Granted) -> BatchRunDocument:
    """Submit a run of every model of the operator's list in an environment of the caller."""
    return grant.environment(body.env_id).submit_batch_run()


@router.get("", response_model=list[BatchRunDocument], **_MEMBERS)
def list_batch_runs(
    batch_runs: BatchRuns,
    env_id: Annotated[str | None, Query(max_length=200)] = None,
    status: BatchStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
    cursor: Annotated[
        str | None, Query(max_length=200, description="ID of the last batch run of the previous page.")
    ] = None,
) -> Sequence[BatchRunDocument]:
    """List the caller's batch runs, newest first; workers and administrators see all."""
    return batch_runs.list(environment_id=env_id, status=status, limit=limit, cursor=cursor)


@router.get("/{batch_id}", response_model=BatchRunDocument, **_OWNER)
def get_batch_run(batch_id: BatchId, batch_runs: BatchRuns) -> BatchRunDocument:
    """Return a batch run of the caller with the results so far."""
    return batch_runs.get(batch_id)


@router.post("/{batch_id}/claim", response_model=BatchRunDocument, responses=refused(409), **access(Access.WORKER))
def claim_batch_run(batch_id: BatchId, batch_runs: BatchRuns) -> BatchRunDocument:
    """Claim a batch run for an outside program. 409 once a worker has started it."""
    return batch_runs.claim(batch_id)


@router.post("/{batch_id}/complete", response_model=BatchRunDocument, responses=refused(409), **access(Access.WORKER))
def complete_batch_run(batch_id: BatchId, body: BatchReport, batch_runs: BatchRuns) -> BatchRunDocument:
    """Report the results of a claimed batch run. 409 if it is not claimed or has ended."""
    return batch_runs.complete(batch_id, body)
