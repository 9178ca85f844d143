"""What can be done to a run: stop, resume, rescore, tag, delete."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from mesocosm.core.run import RunStatus
from mesocosm.server.auth.owned_runs import OwnedRun
from mesocosm.server.auth.permissions import Granted
from mesocosm.server.routes.runs import FACETS, read_run
from mesocosm.server.runs import work
from mesocosm.server.runs.tags import checked_tags
from mesocosm.server.schemas.run import RunDetail, Started, TagsInput
from mesocosm.server.web.answer import answer
from mesocosm.store import abandoned

router = APIRouter(prefix="/runs", tags=["runs"])


@router.post("/{run_id}/stop", response_model=RunDetail)
def stop_run(run_id: str, grant: Granted) -> Response:
    """Ask the process that works on a run to stop it; finished episodes stay, the rest can be resumed."""
    run = grant.own_run(run_id)
    if run.record.status not in {RunStatus.PENDING, RunStatus.RUNNING}:
        raise HTTPException(409, f"run {run.id} is {run.record.status}; only a running one can be stopped")
    if abandoned(run.record):
        raise HTTPException(
            409, f"run {run.id} has no living process; continue it with: mesocosm run resume {run.id}, or delete it"
        )
    run.request_stop()
    return answer(read_run(run.again()))


@router.post("/{run_id}/resume", status_code=202, response_model=Started)
def resume_run(
    run_id: str,
    request: Request,
    grant: Granted,
    *,
    retry_failed: Annotated[bool, Query(description="also repeat what infrastructure made fail")] = False,
) -> Response:
    """Continue a run in a process of its own: only what is not finished is played."""
    run = grant.own_run(run_id)
    status, counts = run.record.status, run.record.counts
    over = status in {RunStatus.FINISHED, RunStatus.FAILED} and not counts.owed
    if over and not (retry_failed and counts.failed):
        again = "; retry_failed=true repeats what infrastructure made fail" if counts.failed else ""
        raise HTTPException(409, f"run {run.id} is {status}, nothing is owed{again}")
    words = ["run", "resume", run.id, "--quiet", *(["--retry-failed"] if retry_failed else [])]
    return _started(request, run, words)


@router.post("/{run_id}/rescore", status_code=202, response_model=Started)
def rescore_run(run_id: str, request: Request, grant: Granted) -> Response:
    """Grade the recorded episodes of a run again, in a process of its own."""
    run = grant.own_run(run_id)
    return _started(request, run, ["run", "rescore", run.id])


@router.put("/{run_id}/tags", response_model=RunDetail)
def set_tags(run_id: str, body: TagsInput, grant: Granted) -> Response:
    """Replace the tags of a run."""
    run = grant.own_run(run_id)
    run.set_tags(checked_tags(body.tags))
    FACETS.forget(grant.runs().view)
    return answer(read_run(run.again()))


@router.delete("/{run_id}", status_code=204)
def delete_run(run_id: str, grant: Granted) -> None:
    """Delete a run with everything recorded of it, for good."""
    grant.own_run(run_id).delete()
    FACETS.forget(grant.runs().view)


def _started(request: Request, run: OwnedRun, words: list[str]) -> Response:
    place = getattr(request.app.state, "workplace", None) or work.workplace(run.stored_in or "")
    work.start(run, place, words)
    told = answer(Started(run_id=run.id, command=" ".join(["mesocosm", *words])))
    told.status_code = 202
    return told
