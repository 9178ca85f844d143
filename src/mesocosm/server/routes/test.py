"""`/v1/test`: Single test episodes."""

import asyncio
import time
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Response
from fastapi.concurrency import run_in_threadpool

from mesocosm.compat.swecc.documents import Episode, TraceEvent
from mesocosm.core.episode import Episode as Record
from mesocosm.core.episode import EpisodeStatus
from mesocosm.server.auth.belonging import inside
from mesocosm.server.auth.principal import Principal
from mesocosm.server.auth.redaction import redact_episode
from mesocosm.server.auth.route_access import Access, Caller, Served, access
from mesocosm.server.auth.rules import Viewer
from mesocosm.server.domains.location import check_url
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.episodes import episode_document
from mesocosm.server.run_requests.export import episode_trace
from mesocosm.server.run_requests.found import Found, find_episode, find_run
from mesocosm.server.run_requests.submission import submit_run
from mesocosm.server.run_requests.view import TERMINAL, public_status
from mesocosm.server.schemas.run_request import RunInput, TestEpisodeInput
from mesocosm.server.service import Service
from mesocosm.server.web.answer import raw
from mesocosm.store.run_requests import RunRequest

router = APIRouter(prefix="/v1/test", tags=["test"])

_SOON_S, _LATER_S = 0.05, 0.5
"""Seconds between looks at an episode that is waited for, at first and at last."""

EpisodeId = Annotated[str, Path(max_length=200, description="id of the episode")]


@router.post("/episode", response_model=Episode, responses=refused(400, 404, 429, 504), **access(Access.INSIDER))
async def play_episode(body: TestEpisodeInput, caller: Caller, service: Served) -> Response:
    """Play one episode and wait for its end. For those whose domain it is, drafts too.

    There is no cooldown, and the run behind it stays private. 504 when it takes longer than the platform waits: it goes
    on, and the words name the episode, to be read with GET /v1/test/episode/{id}.
    """
    order = await run_in_threadpool(_placed, service, caller, body)
    return await ended_episode(service, caller, order)


@router.get("/episode/{episode_id}", response_model=Episode, **access(Access.READER))
def get_episode(episode_id: EpisodeId, caller: Caller, service: Served) -> Response:
    """Return an episode of any run that one may read."""
    found, episode = _found(service, caller, episode_id)
    waits = episode.status is EpisodeStatus.PENDING
    over = public_status(found.order, found.run) in TERMINAL
    return _answer(found, episode_document(episode, EpisodeStatus.CANCELLED if waits and over else None))


@router.get("/episode/{episode_id}/trace", response_model=list[TraceEvent], **access(Access.READER))
def get_trace(episode_id: EpisodeId, caller: Caller, service: Served) -> Response:
    """Return the events of an episode, without what is hidden from who asks; none where it has not begun."""
    found, episode = _found(service, caller, episode_id)
    begun = "." not in episode.id
    return raw(found.discreet(msgspec.json.encode(episode_trace(service, found, episode) if begun else [])))


async def ended_episode(service: Service, caller: Principal, order: RunRequest) -> Response:
    """Return the document of an order's only episode once it has ended. Raises Refusal 504 when that takes too long."""
    deadline, pause = time.monotonic() + service.settings.test_episode_s, _SOON_S
    while True:
        found = await run_in_threadpool(find_run, service, caller, order.run_id)
        if public_status(found.order, found.run) in TERMINAL:
            rows = await run_in_threadpool(found.episodes)
            return _answer(found, rows[0])
        if time.monotonic() >= deadline:
            raise Refusal(
                504,
                f"the episode has not ended after {service.settings.test_episode_s:g} s and goes on as episode "
                f"{order.run_id}.0; `mesocosm run watch {order.run_id}` follows its run",
            )
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LATER_S)


def _placed(service: Service, caller: Principal, body: TestEpisodeInput) -> RunRequest:
    domain = service.store.domains.get(body.domain_id)
    if domain is None or not Viewer(service, caller).may_read_domain(domain):
        raise Refusal(404, f"there is no domain {body.domain_id!r}; `mesocosm domain list` shows those there are")
    if not inside(service, caller, domain):
        raise Refusal(403, f"test episodes of domain {body.domain_id!r} are for its owner; start a run instead")
    if body.env_url:
        check_url(service, body.env_url)
    vow = domain.document.get("binding_vow") or {}
    wanted = RunInput(
        domain_id=body.domain_id,
        binding_vow_version=body.binding_vow_version or str(vow.get("version", "")),
        agent_config=body.agent_config,
        seed_set=None if body.seed is None else [body.seed],
        env_id=body.env_id,
        team_id=body.team_id,
    )
    return submit_run(service, caller, wanted, purpose="test", env_url=body.env_url, cooldown=False)


def _found(service: Service, caller: Principal, episode_id: str) -> tuple[Found, Record]:
    found, episode = find_episode(service, caller, episode_id)
    return found, episode if found.inside else redact_episode(episode)


def _answer(found: Found, document: Episode) -> Response:
    return raw(found.discreet(document.model_dump_json().encode()))
