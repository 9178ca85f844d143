"""What can be done to a run: stop, resume, rescore, tag, delete."""

import unicodedata
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.run import Run, RunStatus
from mesocosm.server.place import Results
from mesocosm.server.routes.runs import FACETS, read_run
from mesocosm.server.runs import work
from mesocosm.server.schemas.run import RunDetail, Started, TagsInput
from mesocosm.server.web.answer import answer
from mesocosm.store import SqlStore, abandoned

LONGEST_TAG = 100
MOST_TAGS = 50

router = APIRouter(prefix="/runs", tags=["runs"])


@router.post("/{run_id}/stop", response_model=RunDetail)
def stop_run(run_id: str, store: Results) -> Response:
    """Ask the process that works on a run to stop it; finished episodes stay, the rest can be resumed."""
    run = store.get_run(run_id)
    if run.status not in {RunStatus.PENDING, RunStatus.RUNNING}:
        raise HTTPException(409, f"run {run.id} is {run.status}; only a running one can be stopped")
    if abandoned(run):
        raise HTTPException(
            409, f"run {run.id} has no living process; continue it with: mesocosm run resume {run.id}, or delete it"
        )
    store.request_stop(run.id)
    return answer(read_run(store, store.get_run(run.id)))


@router.post("/{run_id}/resume", status_code=202, response_model=Started)
def resume_run(
    run_id: str,
    request: Request,
    store: Results,
    *,
    retry_failed: Annotated[bool, Query(description="also repeat what infrastructure made fail")] = False,
) -> Response:
    """Continue a run in a process of its own: only what is not finished is played."""
    run = store.get_run(run_id)
    over = run.status in {RunStatus.FINISHED, RunStatus.FAILED} and not run.counts.owed
    if over and not (retry_failed and run.counts.failed):
        again = "; retry_failed=true repeats what infrastructure made fail" if run.counts.failed else ""
        raise HTTPException(409, f"run {run.id} is {run.status}, nothing is owed{again}")
    words = ["run", "resume", run.id, "--quiet", *(["--retry-failed"] if retry_failed else [])]
    return _started(request, store, run, words)


@router.post("/{run_id}/rescore", status_code=202, response_model=Started)
def rescore_run(run_id: str, request: Request, store: Results) -> Response:
    """Grade the recorded episodes of a run again, in a process of its own."""
    run = store.get_run(run_id)
    return _started(request, store, run, ["run", "rescore", run.id])


@router.put("/{run_id}/tags", response_model=RunDetail)
def set_tags(run_id: str, body: TagsInput, store: Results) -> Response:
    """Replace the tags of a run."""
    run = store.get_run(run_id)
    store.set_tags(run.id, checked_tags(body.tags))
    FACETS.forget(store.view)
    return answer(read_run(store, store.get_run(run.id)))


@router.delete("/{run_id}", status_code=204)
def delete_run(run_id: str, store: Results) -> None:
    """Delete a run with everything recorded of it, for good."""
    store.delete_run(store.get_run(run_id).id)
    FACETS.forget(store.view)


def checked_tags(tags: list[str]) -> list[str]:
    """Return tags without the space around them, each once. Raises InvalidInput that names every one that cannot be."""
    found: dict[str, None] = {}
    problems = []
    for place, given in enumerate(tags):
        tag = given.strip()
        if problem := _problem(tag):
            problems.append(Problem(f"tags[{place}]", *problem))
        found[tag] = None
    if len(tags) > MOST_TAGS:
        problems.append(Problem("tags", f"{len(tags)} tags are too many", f"a run takes {MOST_TAGS}"))
    if problems:
        raise InvalidInput("the tags", problems)
    return list(found)


def _problem(tag: str) -> tuple[str, str] | None:
    if not tag:
        return "an empty tag", "leave it out"
    if len(tag) > LONGEST_TAG:
        return f"a tag of {len(tag)} characters", f"use at most {LONGEST_TAG}"
    if any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in tag):
        return "a tag with control characters", "use letters, digits and punctuation"
    return None


def _started(request: Request, store: SqlStore, run: Run, words: list[str]) -> Response:
    place = getattr(request.app.state, "workplace", None) or work.workplace(store)
    work.start(store, place, run.id, words)
    told = answer(Started(run_id=run.id, command=" ".join(["mesocosm", *words])))
    told.status_code = 202
    return told
