"""`/api/batch-runs`: a run of every model of the operator's list in one environment."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request

from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.auth.permissions import Granted
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.batch_runs import batch_document, batch_documents, claim_batch
from mesocosm.server.schemas.batch_run import BatchReport, BatchRunDocument, BatchRunInput, BatchStatus
from mesocosm.server.service import Service
from mesocosm.store.batch_runs import Job

router = APIRouter(prefix="/api/batch-runs", tags=["batch-runs"])

BatchId = Annotated[str, Path(max_length=200, description="id of the batch run")]


async def _member_or_worker(request: Request, caller: Caller, service: Served) -> bool:
    """Return whether a worker asks. Refuses callers who are neither workers nor members."""
    if caller.member:
        return False
    if caller.guest:
        raise Refusal(403, "SWECC member account required")
    given = request.headers.get("authorization", "")
    if not given or not service.settings.worker_secret.get_secret_value():
        raise Refusal(401, "Authentication required", headers={"WWW-Authenticate": "Bearer"})
    service.check_worker(given)
    return True


Worker = Annotated[bool, Depends(_member_or_worker)]
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
    caller: Caller,
    service: Served,
    worker: Worker,
    env_id: Annotated[str | None, Query(max_length=200)] = None,
    status: BatchStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
    cursor: Annotated[
        str | None, Query(max_length=200, description="id of the last batch run of the page before")
    ] = None,
) -> list[BatchRunDocument]:
    """List the caller's batch runs, newest first; workers and administrators see all."""
    user_id = None if worker or caller.admin else caller.user_id
    found: list[BatchRunDocument] = []
    while len(found) < limit:
        listed = service.store.batch_runs.list(user_id=user_id, environment_id=env_id, cursor=cursor, limit=limit)
        documents = batch_documents(service, listed)
        found += [document for document in documents if status is None or document.status == status]
        if len(listed) < limit:
            break
        cursor = listed[-1].id
    return found[:limit]


@router.get("/{batch_id}", response_model=BatchRunDocument, **_OWNER)
def get_batch_run(batch_id: BatchId, caller: Caller, service: Served, worker: Worker) -> BatchRunDocument:
    """Return a batch run of the caller with the results so far."""
    batch = service.store.batch_runs.get(batch_id)
    if batch is None or not (worker or caller.admin or batch.actor == caller.actor):
        raise _unknown(batch_id)
    return batch_document(service, batch)


@router.post("/{batch_id}/claim", response_model=BatchRunDocument, responses=refused(409), **access(Access.WORKER))
def claim_batch_run(batch_id: BatchId, service: Served) -> BatchRunDocument:
    """Take over a batch run in an outside program, before a worker has begun it. 409 afterwards."""
    return batch_document(service, claim_batch(service, _batch(service, batch_id)))


@router.post("/{batch_id}/complete", response_model=BatchRunDocument, responses=refused(409), **access(Access.WORKER))
def complete_batch_run(batch_id: BatchId, body: BatchReport, service: Served) -> BatchRunDocument:
    """Report the results of a claimed batch run. 409 where it is not claimed or has ended."""
    batch = _batch(service, batch_id)
    if batch.status != "running" or not service.store.batch_runs.complete(
        batch.id, body.model_results, failed=body.failed
    ):
        status = batch_document(service, batch).status
        raise Refusal(409, f"batch run {batch_id} is {status} and not claimed by an outside program")
    return batch_document(service, _batch(service, batch_id))


def _batch(service: Service, batch_id: str) -> Job:
    batch = service.store.batch_runs.get(batch_id)
    if batch is None:
        raise _unknown(batch_id)
    return batch


def _unknown(batch_id: str) -> Refusal:
    return Refusal(404, f"you have no batch run {batch_id[:100]!r}; GET /api/batch-runs lists yours")
