"""`/v1/bench`: Test benches and full benches."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from mesocosm.client.documents.episode import Episode
from mesocosm.client.documents.job import BenchJob, BenchStatus, BenchTestInput, JobResult, JobStatus
from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.builds.submission import own_environment
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.test import ended_episode
from mesocosm.server.run_requests.batch_runs import begin_bench, bench_input, claim_job, job_document, job_documents
from mesocosm.server.run_requests.submission import submit_run
from mesocosm.server.service import Service
from mesocosm.store.batch_runs import Job
from mesocosm.store.run_requests import OPEN, RunRequest, RunRequestFilter

router = APIRouter(prefix="/v1/bench", tags=["bench"])

JobId = Annotated[str, Path(max_length=200, description="id of the job")]
EnvId = Annotated[str, Path(max_length=200, description="id of the environment")]


async def _member_or_worker(request: Request, caller: Caller, service: Served) -> bool:
    """Return whether a worker asks. Refuses who is neither a worker nor a member."""
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
"""Members see their own; who brings the workers' secret sees all."""


@router.get("/status", response_model=BenchStatus, **access(Access.PUBLIC))
def get_status(service: Served) -> BenchStatus:
    """Return whether benches are going on, and how much waits."""
    count = service.run_requests.count
    return BenchStatus(
        busy=count(RunRequestFilter(purposes=("test", "full_bench"), states=OPEN)) > 0,
        queued=count(RunRequestFilter(states=("queued",))),
        running=count(RunRequestFilter(states=("claimed",))),
    )


@router.post("/test", response_model=Episode, responses=refused(400, 404, 429, 504), **access(Access.INSIDER))
async def play_test(body: BenchTestInput, caller: Caller, service: Served) -> Response:
    """Play one episode in an environment of one's own and wait for its end. 504 as with a test episode."""
    if body.num_episodes != 1:
        raise Refusal(422, f"num_episodes is {body.num_episodes}; a test bench plays 1, a run plays more")

    def placed() -> RunRequest:
        row = own_environment(service, caller, body.env_id)
        return submit_run(service, caller, bench_input(service, row, body.model, 1, body.seed), purpose="test")

    order = await run_in_threadpool(placed)
    return await ended_episode(service, caller, order)


@router.post(
    "/full/{env_id}",
    status_code=202,
    response_model=BenchJob,
    responses=refused(400, 409, 429),
    **access(Access.INSIDER),
)
def start_full(env_id: EnvId, caller: Caller, service: Served) -> BenchJob:
    """Ask for a run of every model of the operator's list in an environment of one's own, in one's own name."""
    row = own_environment(service, caller, env_id)
    return job_document(service, begin_bench(service, caller, row))


@router.get("/jobs", response_model=list[BenchJob], **_MEMBERS)
def list_jobs(
    caller: Caller,
    service: Served,
    worker: Worker,
    env_id: Annotated[str | None, Query(max_length=200)] = None,
    status: JobStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
    cursor: Annotated[str | None, Query(max_length=200, description="id of the last job seen")] = None,
) -> list[BenchJob]:
    """Return full benches, newest first: one's own; all of them to workers and to those who run the platform."""
    user_id = None if worker or caller.admin else caller.user_id
    found: list[BenchJob] = []
    while len(found) < limit:
        listed = service.batch_runs.list(user_id=user_id, environment_id=env_id, cursor=cursor, limit=limit)
        documents = job_documents(service, listed)
        found += [document for document in documents if status is None or document.status == status]
        if len(listed) < limit:
            break
        cursor = listed[-1].id
    return found[:limit]


@router.get("/jobs/{job_id}", response_model=BenchJob, **_OWNER)
def get_job(job_id: JobId, caller: Caller, service: Served, worker: Worker) -> BenchJob:
    """Return a full bench of one's own with what each model has reached."""
    job = service.batch_runs.get(job_id)
    if job is None or not (worker or caller.admin or job.actor == caller.actor):
        raise _none(job_id)
    return job_document(service, job)


@router.patch("/jobs/{job_id}/claim", response_model=BenchJob, responses=refused(409), **access(Access.WORKER))
def claim_bench(job_id: JobId, service: Served) -> BenchJob:
    """Take over a full bench that has not begun, for a program outside that carries it out. 409 where it has."""
    return job_document(service, claim_job(service, _job(service, job_id)))


@router.patch("/jobs/{job_id}/complete", response_model=BenchJob, responses=refused(409), **access(Access.WORKER))
def complete_bench(job_id: JobId, body: JobResult, service: Served) -> BenchJob:
    """Report how a claimed full bench ended. 409 where nobody outside claimed it, or where it has ended."""
    job = _job(service, job_id)
    if job.status != "running" or not service.batch_runs.complete(job.id, body.model_results, failed=body.failed):
        raise Refusal(409, f"job {job_id} is {job_document(service, job).status} and not claimed from outside")
    return job_document(service, _job(service, job_id))


def _job(service: Service, job_id: str) -> Job:
    job = service.batch_runs.get(job_id)
    if job is None:
        raise _none(job_id)
    return job


def _none(job_id: str) -> Refusal:
    return Refusal(404, f"there is no job {job_id[:100]!r} of yours; GET /v1/bench/jobs lists those there are")
