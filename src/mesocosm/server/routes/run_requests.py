"""`/api/runs`, `/api/test-episodes`: submit, stop, resume, rescore, change and delete runs."""

import asyncio
import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.run import Run
from mesocosm.environments.seeds import seed_tasks
from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.permissions.owned_runs import OwnedRun
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.runs import FACETS, document_of_run
from mesocosm.server.runs.documents import episode_detail, run_summary
from mesocosm.server.runs.previous_run import previous_run
from mesocosm.server.runs.run_detail import read_run
from mesocosm.server.runs.sample_files import file_page
from mesocosm.server.schemas.episode import EpisodeDetail
from mesocosm.server.schemas.evaluation import PreviousRun, SampleFilePage
from mesocosm.server.schemas.limits import QueuePlace
from mesocosm.server.schemas.run import RunDetail
from mesocosm.server.schemas.run_estimate import Forecast, ForecastInput, RunEstimate
from mesocosm.server.schemas.run_request import (
    RolloutInput,
    RunBody,
    RunLog,
    RunOutputPage,
    RunUpdate,
    TestEpisodeInput,
)
from mesocosm.server.schemas.scan import ScanForecast, ScanInput
from mesocosm.server.web.answer import TAGGED, answer

router = APIRouter(tags=["runs"])

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 0.5
"""Seconds between polls of a test episode: initially, and at most."""

RunId = Annotated[str, Path(max_length=200, description="ID of the run.")]


@router.post(
    "/api/runs",
    status_code=202,
    response_model=RunDetail,
    responses=refused(400, 404, 409, 429),
    **access(Access.GUEST),
)
def create_run(body: RunBody, grant: Granted) -> Response:
    """Submit a run of an environment, or of a rollout of a workspace.

    A request that cannot work is refused here, and a refused request costs nothing.
    429 with `Retry-After` during the cooldown, and once the daily quota or the limit of waiting runs is reached.
    """
    return _accepted(grant.submit(body))


@router.post(
    "/api/runs/estimate", response_model=RunEstimate, responses=refused(404, 409, 429), **access(Access.INSIDER)
)
def estimate_run(body: RolloutInput, grant: Granted) -> RunEstimate:
    """Return what the run of a rollout would come to: samples, first rows, missing secrets, cost. Nothing is submitted.

    A request that would be refused is refused, except for missing secrets. 409 with `sync`, the number of the sync to
    wait for, if its commit is not synced yet.
    """
    return grant.working_workspace(body.workspace).estimate(body)


@router.post("/api/runs/forecast", response_model=Forecast, responses=refused(409), **access(Access.GUEST))
def forecast_runs(body: ForecastInput, grant: Granted) -> Forecast:
    """Return what runs would come to: episodes, tokens, cost and time, from earlier runs of their models.

    Nothing is submitted. A run that would be refused says why, and the others are estimated all the same.
    """
    return grant.runs().forecast(body)


@router.post("/api/runs/{run_id}/stop", response_model=RunDetail, responses=refused(409), **access(Access.HOLDER))
def stop_run(run_id: RunId, grant: Granted) -> Response:
    """Stop a run; finished episodes are kept. A run that is over is returned unchanged."""
    run = grant.own_run(run_id)
    run.stop()
    return answer(read_run(run.again()))


@router.post(
    "/api/runs/{run_id}/resume",
    status_code=202,
    response_model=RunDetail,
    responses=refused(409),
    **access(Access.HOLDER),
)
def resume_run(
    run_id: RunId,
    request: Request,
    grant: Granted,
    *,
    retry_failed: Annotated[
        bool, Query(description="Also repeat episodes that failed because of infrastructure.")
    ] = False,
) -> Response:
    """Continue a run: only pending episodes are run. 409 if none is pending."""
    run = grant.own_run(run_id)
    run.resume(_workplace(request), retry_failed=retry_failed)
    return _accepted(run.again())


@router.post(
    "/api/runs/{run_id}/rescore",
    status_code=202,
    response_model=RunDetail,
    responses=refused(409),
    **access(Access.HOLDER),
)
def rescore_run(run_id: RunId, request: Request, grant: Granted) -> Response:
    """Grade the recorded episodes of a run again; none is run. 409 for official runs and until the run has ended."""
    run = grant.own_run(run_id)
    run.rescore(_workplace(request))
    return _accepted(run.again())


@router.post(
    "/api/runs/{run_id}/scans",
    status_code=202,
    response_model=RunDetail,
    responses=refused(400, 409, 429),
    **access(Access.INSIDER),
)
def scan_run(run_id: RunId, body: ScanInput, request: Request, grant: Granted) -> Response:
    """Let a model answer a question about the transcript of each episode of a run; return the run that asks.

    Its answers become scores `scan:NAME` of the run that is read. The same question that waits or goes on already is
    returned; episodes that were asked about are not asked about again. 409 while the run goes on.
    """
    scan = grant.working_run(run_id).scan(body, _workplace(request))
    return _accepted(grant.run(scan))


@router.post(
    "/api/runs/{run_id}/scans/forecast",
    response_model=ScanForecast,
    responses=refused(400, 409, 429),
    **access(Access.INSIDER),
)
def forecast_scan(run_id: RunId, body: ScanInput, grant: Granted) -> ScanForecast:
    """Return what a scan would read and cost. Nothing is stored; what would be refused is refused."""
    return grant.working_run(run_id).forecast(body)


@router.patch("/api/runs/{run_id}", response_model=RunDetail, responses=refused(409), **access(Access.HOLDER))
def update_run(run_id: RunId, body: RunUpdate, grant: Granted) -> Response:
    """Change the name or the tags of a run, or who may see it. Guests may not change the last."""
    run = grant.own_run(run_id)
    run.update(body)
    _forget(grant)
    return answer(read_run(run.again()))


@router.delete("/api/runs/{run_id}", status_code=204, responses=refused(409), **access(Access.HOLDER))
def delete_run(run_id: RunId, grant: Granted) -> None:
    """Delete a run and all its recorded data permanently. 409 while it is waiting or running."""
    grant.own_run(run_id).delete()
    _forget(grant)


@router.get("/api/runs/{run_id}/log", response_model=RunLog, **access(Access.HOLDER))
def get_log(run_id: RunId, grant: Granted) -> Response:
    """Return the log of a run: its progress, warnings and errors."""
    return answer(grant.run(run_id).log())


@router.get("/api/runs/{run_id}/output", response_model=RunOutputPage, **access(Access.HOLDER))
def get_output(
    run_id: RunId,
    grant: Granted,
    after: Annotated[int, Query(ge=0, lt=2**31, description="Number of the last piece that is known.")] = 0,
) -> Response:
    """Return what the programs of a run printed, after a piece: installations, and processes of rollouts.

    Only the newest pieces of a very long output are kept.
    """
    return answer(grant.run(run_id).output(after))


@router.get(
    "/api/runs/{run_id}/artifacts", response_model=SampleFilePage, responses=refused(400), **access(Access.HOLDER)
)
def list_artifacts(
    run_id: RunId,
    grant: Granted,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Maximum number.")] = 200,
    cursor: Annotated[str | None, Query(max_length=2_000, description="`cursor` of the page before.")] = None,
) -> Response:
    """Return a page of the files that the samples of a run wrote. Their contents are at `/api/blobs/{digest}`."""
    return answer(file_page(grant.run(run_id), cursor, limit))


@router.get("/api/runs/{run_id}/previous", response_model=PreviousRun, responses=TAGGED, **access(Access.HOLDER))
def get_previous(run_id: RunId, request: Request, grant: Granted) -> Response:
    """Return the last earlier finished run of the same configuration of a workspace, and the difference from it."""
    run = grant.run(run_id)
    return document_of_run(request, run, "previous", lambda: previous_run(run), alone=True)


@router.get("/api/runs/{run_id}/queue", response_model=QueuePlace, **access(Access.READER))
def get_queue_position(run_id: RunId, grant: Granted) -> QueuePlace:
    """Return the position of a run in the queue. The queue is fair between users, so others may move ahead."""
    return grant.run(run_id).queue_position()


@router.post(
    "/api/test-episodes", response_model=EpisodeDetail, responses=refused(400, 404, 429, 504), **access(Access.INSIDER)
)
async def play_test_episode(body: TestEpisodeInput, grant: Granted, service: Served) -> Response:
    """Run one episode of a domain of the caller, which may be a draft, and wait for it to end.

    There is no cooldown, and the run stays private. 504 if it takes longer than the server waits: the run continues.
    """
    run = await run_in_threadpool(grant.submit_test, body)
    return answer(await ended_episode(run, service.settings.test_episode_s))


async def ended_episode(run: OwnedRun, patience_s: float) -> EpisodeDetail:
    """Return the only episode of a run once it has ended. Raises Refusal 504 after `patience_s` seconds."""
    deadline, pause = time.monotonic() + patience_s, _FIRST_PAUSE_S
    while run.open:
        if time.monotonic() >= deadline:
            raise Refusal(
                504,
                f"the episode has not ended after {patience_s:g} s and continues; "
                f"`mesocosm run watch {run.id}` follows its run",
            )
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        run = await run_in_threadpool(run.again)
    return await run_in_threadpool(_only_episode, run)


def _only_episode(run: OwnedRun) -> EpisodeDetail:
    record, summary = run.record, run_summary(run.record, run.ownership())
    played = run.episodes_at(0, 1)
    episode = played[0] if played else _unplayed(record)
    return episode_detail(episode, record, summary, run.artifacts())


def _unplayed(run: Run) -> Episode:
    """Return the planned episode of a run that ended before the episode started."""
    task = next(seed_tasks(run.spec.selection))
    return Episode(
        id=f"{run.id}.0",
        run_id=run.id,
        task_digest=task.digest(),
        task_id=task.id,
        seed=task.seed,
        status=EpisodeStatus.CANCELLED,
        terminal_info={"error": run.error or "the run was cancelled"},
    )


def _accepted(run: VisibleRun) -> Response:
    response = answer(read_run(run))
    response.status_code = 202
    return response


def _workplace(request: Request) -> Any:
    return getattr(request.app.state, "workplace", None)


def _forget(grant: Grant) -> None:
    FACETS.forget(grant.runs().view)
