"""Paths of the older server that its published client calls: runs and test episodes.

They return API documents with the older names and are not part of the OpenAPI document.
"""

import zlib
from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, TypeAdapter

from mesocosm.compat.swecc.documents import Episode, RunListItem
from mesocosm.compat.swecc.mapping import older_episode, older_episodes, older_item, older_run
from mesocosm.interop.replay import trace
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.routes.export import export_replay, gathered
from mesocosm.server.routes.run_requests import ended_episode
from mesocosm.server.runs.documents import episode_summary
from mesocosm.server.runs.run_detail import read_run
from mesocosm.server.schemas.document import shortened
from mesocosm.server.schemas.run_request import RunInput, TestEpisodeInput
from mesocosm.server.web.answer import raw
from mesocosm.store.filters import RunFilter, Whose

router = APIRouter()

RunId = Annotated[str, Path(max_length=200)]

_items = TypeAdapter(list[RunListItem])
_episodes = TypeAdapter(list[Episode])


@router.post("/v1/runs", status_code=202, include_in_schema=False, **access(Access.GUEST))
def create_run(body: RunInput, grant: Granted) -> Response:
    """Submit a run."""
    return _answer(older_run(read_run(grant.submit(body))), status=202)


@router.get("/v1/runs", include_in_schema=False, **access(Access.PUBLIC))
def list_runs(
    grant: Granted, domain_id: str = "", team_id: str = "", limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> Response:
    """Return the caller's runs, the runs of a team, or for anonymous callers the public ones; newest first."""
    wanted = RunFilter(benchmarks=(domain_id,) if domain_id else (), team=team_id, tests=False)
    whose: Whose = "" if team_id else "public" if grant.caller.anonymous else "mine"
    page = grant.runs().page(wanted, whose=whose, limit=limit)
    return raw(_items.dump_json([_item(run) for run in page.items]))


@router.get("/v1/teams/{team_id}/runs", include_in_schema=False, **access(Access.INSIDER))
def list_team_runs(team_id: UUID, grant: Granted, limit: Annotated[int, Query(ge=1, le=100)] = 100) -> Response:
    """Return the runs of a team, newest first."""
    return list_runs(grant, team_id=str(team_id), limit=limit)


@router.get("/v1/runs/{run_id}", include_in_schema=False, **access(Access.READER))
def get_run(run_id: RunId, grant: Granted) -> Response:
    """Return a run."""
    return _answer(older_run(read_run(grant.run(run_id))))


@router.get("/v1/runs/{run_id}/episodes", include_in_schema=False, **access(Access.READER))
def list_episodes(run_id: RunId, grant: Granted) -> Response:
    """Return the planned episodes of a run; those that have not started are `pending`."""
    run = grant.run(run_id)
    episodes = (episode_summary(episode, info=True) for episode in run.all_episodes())
    return raw(_episodes.dump_json(older_episodes(read_run(run), episodes)))


@router.get("/v1/runs/{run_id}/traces", include_in_schema=False, **access(Access.READER))
def get_traces(run_id: RunId, request: Request, grant: Granted) -> StreamingResponse:
    """Return the events of all started episodes, by episode id."""
    parts = gathered(_traces(grant.run(run_id)))
    headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        parts, headers = _compressed(parts), {**headers, "Content-Encoding": "gzip"}
    return StreamingResponse(parts, media_type="application/json", headers=headers)


@router.post("/v1/test/episode", include_in_schema=False, **access(Access.INSIDER))
async def play_episode(body: TestEpisodeInput, grant: Granted, service: Served) -> Response:
    """Run one episode of a domain of the caller and wait for it to end."""
    run = await run_in_threadpool(grant.submit_test, body)
    return _answer(older_episode(await ended_episode(run, service.settings.test_episode_s)))


router.add_api_route("/v1/runs/{run_id}/export", export_replay, include_in_schema=False, **access(Access.READER))


def _item(run: VisibleRun) -> RunListItem:
    item = older_item(read_run(run))
    rewards = [episode.total_reward for episode in run.all_episodes()]
    item.avg_reward = fmean(rewards) if rewards else None
    return item


def _answer(document: BaseModel, *, status: int = 200) -> Response:
    response = raw(document.model_dump_json().encode())
    response.status_code = status
    return response


def _traces(run: VisibleRun) -> Iterator[bytes]:
    """Yield `{episode id: [events]}`, with one episode in memory at a time."""
    yield b"{"
    for position, episode in enumerate(run.all_episodes()):
        events = shortened(trace(episode, run.events(episode.id), run))
        yield (b"," if position else b"") + msgspec.json.encode(episode.id) + b":" + msgspec.json.encode(events)
    yield b"}\n"


def _compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(level=1, wbits=31)
    for part in parts:
        if data := packer.compress(part):
            yield data
    yield packer.flush()
