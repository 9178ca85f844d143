"""`/v1/runs`: Runs of the platform."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, TypeAdapter

from mesocosm.compat.swecc import documents
from mesocosm.compat.swecc.documents import Episode, TraceEvent
from mesocosm.core.ids import digest_bytes
from mesocosm.server.auth.belonging import inside, may_use_team
from mesocosm.server.auth.principal import Principal
from mesocosm.server.auth.route_access import Access, Caller, Served, access
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.export import attachment, gathered
from mesocosm.server.run_requests import lifecycle
from mesocosm.server.run_requests.export import PARTS, export_pieces, packed, trace_pieces
from mesocosm.server.run_requests.found import Found, find_run, found_again, own_run
from mesocosm.server.run_requests.listing import run_items
from mesocosm.server.run_requests.log import run_log
from mesocosm.server.run_requests.submission import submit_run
from mesocosm.server.schemas.run_request import RunInput, RunLog, RunUpdate
from mesocosm.server.service import Service
from mesocosm.server.web.answer import TAGGED, known, raw
from mesocosm.store.run_requests import RunRequest, RunRequestFilter

router = APIRouter(tags=["runs"])

RunId = Annotated[str, Path(max_length=200, description="id of the run")]
Limit = Annotated[int, Query(ge=1, le=100, description="rows at most")]
Cursor = Annotated[str | None, Query(max_length=200, description="id of the last run seen")]
Before = Annotated[datetime | None, Query(description="only runs that were asked for before this time")]
Id = Annotated[str | None, Query(max_length=200)]

_items = TypeAdapter(list[documents.RunListItem])
_episodes = TypeAdapter(list[Episode])
_JSON: dict[int | str, dict[str, Any]] = {200: {"description": "The document, streamed."}}


@router.post(
    "/v1/runs",
    status_code=202,
    response_model=documents.Run,
    responses=refused(400, 404, 409, 429),
    **access(Access.GUEST),
)
def create_run(body: RunInput, caller: Caller, service: Served) -> Response:
    """Ask for a run. Everything that can be known to fail is refused here, and a refused request costs nothing.

    429 with `Retry-After`: a run was started just now, as many as allowed today, or too many are waiting.
    """
    order = submit_run(service, caller, body)
    found = find_run(service, caller, order.run_id)
    return _document(found, status=202)


@router.get(
    "/v1/runs", response_model=list[documents.RunListItem], responses=refused(403, 404), **access(Access.PUBLIC)
)
def list_runs(
    caller: Caller,
    service: Served,
    domain_id: Id = None,
    env_id: Id = None,
    team_id: Id = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    created_before: Before = None,
) -> Response:
    """Return runs, newest first: one's own, those of a team or of an environment; for nobody known the public ones."""
    wanted = _filter(service, caller, domain_id=domain_id, env_id=env_id, team_id=team_id)
    return _listed(service, caller, wanted, limit, cursor, created_before)


@router.get("/api/me/runs", response_model=list[documents.RunListItem], **access(Access.GUEST))
def list_own_runs(
    caller: Caller,
    service: Served,
    domain_id: Id = None,
    team_id: Id = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    created_before: Before = None,
) -> Response:
    """Return one's own runs, newest first; with a team those of the team."""
    wanted = _filter(service, caller, domain_id=domain_id, team_id=team_id)
    return _listed(service, caller, wanted, limit, cursor, created_before)


@router.get("/v1/runs/{run_id}", response_model=documents.Run, responses=TAGGED, **access(Access.READER))
def get_run(run_id: RunId, request: Request, caller: Caller, service: Served) -> Response:
    """Return a run. Its weak ETag changes with everything shown, so that polling costs little."""
    found = find_run(service, caller, run_id)
    data = found.discreet(found.document().model_dump_json().encode())
    tag = f'W/"{digest_bytes(data)}"'
    return known(request, tag) or raw(data, tag)


@router.get("/v1/runs/{run_id}/episodes", response_model=list[Episode], **access(Access.READER))
def list_episodes(
    run_id: RunId,
    caller: Caller,
    service: Served,
    limit: Annotated[int | None, Query(ge=1, le=100, description="rows at most; all by default")] = None,
    cursor: Annotated[int, Query(ge=-1, le=10**9, description="`index` of the last episode seen")] = -1,
) -> Response:
    """Return the episodes of a run in the order of its plan; those that have not begun are `pending`."""
    found = find_run(service, caller, run_id)
    return raw(found.discreet(_episodes.dump_json(found.episodes(cursor + 1, limit))))


@router.get(
    "/v1/runs/{run_id}/traces",
    response_class=StreamingResponse,
    response_model=dict[str, list[TraceEvent]],
    responses=_JSON,
    **access(Access.READER),
)
def get_traces(run_id: RunId, request: Request, caller: Caller, service: Served) -> StreamingResponse:
    """Return the events of all episodes that have begun, by episode id, without what is hidden from who asks."""
    found = find_run(service, caller, run_id)
    return _stream(request, trace_pieces(service, found))


@router.get(
    "/v1/runs/{run_id}/export",
    response_class=StreamingResponse,
    response_model=dict[str, Any],
    responses=_JSON,
    **access(Access.READER),
)
def export_run(
    run_id: RunId,
    request: Request,
    caller: Caller,
    service: Served,
    include: Annotated[
        str, Query(max_length=100, description=f"parts with commas between: {', '.join(PARTS)}; all by default")
    ] = "",
) -> StreamingResponse:
    """Return a run as schema-1 replay JSON, without what is hidden from who asks."""
    parts = {part.strip() for part in include.split(",") if part.strip()} or set(PARTS)
    if strange := sorted(parts - set(PARTS)):
        raise Refusal(422, f"an export has no part {strange[0][:50]!r}; it has {', '.join(PARTS)}")
    found = find_run(service, caller, run_id)
    return _stream(
        request, export_pieces(service, found, parts), {"Content-Disposition": attachment(f"{found.run.id}.json")}
    )


@router.post("/v1/runs/{run_id}/cancel", response_model=documents.Run, **access(Access.HOLDER))
def cancel_run(run_id: RunId, caller: Caller, service: Served) -> Response:
    """Cancel a run: finished episodes stay, the rest is not played. A run that is over is returned as it is."""
    found = own_run(service, caller, run_id)
    lifecycle.cancel_run(service, found.order, f"cancelled by {caller.username or 'its guest'}")
    return _document(found_again(service, caller, found))


@router.post(
    "/v1/runs/{run_id}/resume",
    status_code=202,
    response_model=documents.Run,
    responses=refused(409),
    **access(Access.HOLDER),
)
def resume_run(
    run_id: RunId,
    caller: Caller,
    service: Served,
    *,
    retry_failed: Annotated[bool, Query(description="also episodes that infrastructure made fail")] = False,
) -> Response:
    """Queue a cancelled or failed run again: only the episodes that it owes are played. 409 where it owes none."""
    found = own_run(service, caller, run_id)
    lifecycle.resume_run(service, found.order, retry_failed=retry_failed)
    return _document(found_again(service, caller, found), status=202)


@router.patch(
    "/v1/runs/{run_id}/visibility",
    response_model=documents.RunListItem,
    responses=refused(409),
    **access(Access.INSIDER),
)
def change_visibility(run_id: RunId, body: RunUpdate, caller: Caller, service: Served) -> Response:
    """Show a run to everybody once it has completed, or to its owner and their team alone."""
    found = own_run(service, caller, run_id)
    order = lifecycle.set_visibility(service, found.order, body.visibility or found.order.visibility, caller.actor)
    (item,) = run_items(service, caller, [order])
    return _answer(item)


@router.delete("/v1/runs/{run_id}", status_code=204, responses=refused(409), **access(Access.HOLDER))
def delete_run(run_id: RunId, caller: Caller, service: Served) -> None:
    """Delete a run with everything recorded of it, for good. 409 while it waits or is played."""
    lifecycle.delete_run(service, own_run(service, caller, run_id).order, caller.actor)


@router.get("/v1/runs/{run_id}/log", response_model=RunLog, **access(Access.HOLDER))
def get_log(run_id: RunId, caller: Caller, service: Served) -> Response:
    """Return what the platform has to say about a run: how it went on, warnings, why it failed."""
    found = own_run(service, caller, run_id)
    return raw(found.discreet(run_log(found.order, found.run).model_dump_json().encode()))


def _filter(
    service: Service,
    caller: Principal,
    *,
    domain_id: str | None,
    env_id: str | None = None,
    team_id: str | None = None,
) -> RunRequestFilter:
    kinds = ("run", "full_bench")
    if team_id is not None:
        if not may_use_team(service, caller, team_id):
            raise Refusal(403, f"you are not a member of team {team_id!r}; `mesocosm team list` shows your teams")
        return RunRequestFilter(team_id=team_id, domain_id=domain_id, environment_id=env_id, purposes=kinds)
    if env_id is not None and not caller.anonymous:
        row = service.store.environments.get(env_id)
        if row is None:
            raise Refusal(404, f"there is no environment {env_id!r}; `mesocosm env list` shows yours")
        if inside(service, caller, row):
            teams = service.store.teams.teams_of(caller.user_id) if caller.user_id else ()
            return RunRequestFilter(
                environment_id=env_id,
                domain_id=domain_id,
                purposes=kinds,
                seen_by=None if caller.admin else caller.actor,
                seen_teams=tuple(team.id for team in teams),
            )
    if caller.anonymous:
        return RunRequestFilter(domain_id=domain_id, environment_id=env_id, public=True)
    return RunRequestFilter(actor=caller.actor, domain_id=domain_id, environment_id=env_id, purposes=kinds)


def _listed(
    service: Service,
    caller: Principal,
    wanted: RunRequestFilter,
    limit: int,
    cursor: str | None,
    before: datetime | None,
) -> Response:
    stamp = None if before is None else (before if before.tzinfo else before.replace(tzinfo=UTC)).timestamp()
    placed = msgspec.structs.replace(wanted, cursor=cursor, before=stamp)
    orders: Sequence[RunRequest] = service.store.run_requests.list(placed, limit=limit)
    return _rows(run_items(service, caller, orders))


def _rows(items: list[documents.RunListItem]) -> Response:
    return raw(_items.dump_json(items))


def _answer(document: BaseModel) -> Response:
    return raw(document.model_dump_json().encode())


def _document(found: Found, status: Literal[200, 202] = 200) -> Response:
    response = raw(found.discreet(found.document().model_dump_json().encode()))
    response.status_code = status
    return response


def _stream(request: Request, pieces: Iterator[bytes], headers: dict[str, str] | None = None) -> StreamingResponse:
    kept = {"Cache-Control": "no-store", "Vary": "Accept-Encoding", **(headers or {})}
    parts = gathered(pieces)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return StreamingResponse(
            packed(parts), media_type="application/json", headers={**kept, "Content-Encoding": "gzip"}
        )
    return StreamingResponse(parts, media_type="application/json", headers=kept)
