"""`/v1/leaderboards`: Leaderboards of domains."""

import json
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from mesocosm.core.ids import digest_bytes
from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.domains.domains import PUBLISHED, readable_domain
from mesocosm.server.leaderboards.boards import domain_board
from mesocosm.server.leaderboards.official import official_board
from mesocosm.server.problems import Refusal
from mesocosm.server.schemas.leaderboard import DomainLeaderboards, LeaderboardEntry
from mesocosm.server.schemas.protocol import OfficialBoard
from mesocosm.server.web.answer import TAGGED, known, raw

router = APIRouter(prefix="/v1/leaderboards", tags=["leaderboards"])

MOST = 50
"""Domains that can be asked for at once."""

Limit = Annotated[int, Query(ge=1, le=100, description="how many entries")]


@router.get("", response_model=DomainLeaderboards, responses=TAGGED, **access(Access.PUBLIC))
def list_leaderboards(
    request: Request,
    service: Served,
    domain_ids: Annotated[str, Query(max_length=20_000, description=f"ids with commas between them, at most {MOST}")],
    limit: Limit = 50,
) -> Response:
    """Return the leaderboards of several domains; those that do not exist or are not published are empty."""
    wanted = list(dict.fromkeys(part.strip() for part in domain_ids.split(",") if part.strip()))
    if not 1 <= len(wanted) <= MOST:
        raise Refusal(422, f"domain_ids has {len(wanted)} ids; give 1 to {MOST} of them, with commas between")
    rows = service.store.domains.some(wanted)
    shown = {domain_id for domain_id, row in rows.items() if row.status == PUBLISHED}
    boards = ((json.dumps(name).encode(), domain_board(service, name, limit)) for name in wanted if name in shown)
    found = [name + b":" + board for name, board in boards]
    empty = [json.dumps(name).encode() + b":[]" for name in wanted if name not in shown]
    return _answer(request, b'{"leaderboards":{' + b",".join((*found, *empty)) + b"}}")


@router.get("/{domain_id}", response_model=list[LeaderboardEntry], responses=TAGGED, **access(Access.READER))
def get_leaderboard(
    request: Request,
    domain_id: Annotated[str, Path(max_length=200, description="the id of a domain")],
    caller: Caller,
    service: Served,
    limit: Limit = 50,
) -> Response:
    """Return the leaderboard of a domain over its public runs that have completed; empty where it is not published.

    Runs of one model with one agent configuration by one version of the binding vow are one entry, their episodes taken
    together by task. The newest version comes first, in each the best; where the interval of a difference holds 0,
    entries share places.
    """
    row = readable_domain(service, caller, domain_id)
    return _answer(request, domain_board(service, row.id, limit) if row.status == PUBLISHED else b"[]")


@router.get("/{domain_id}/official", response_model=OfficialBoard, responses=TAGGED, **access(Access.READER))
def get_official_board(
    request: Request,
    domain_id: Annotated[str, Path(max_length=200, description="the id of a domain")],
    caller: Caller,
    service: Served,
    version: Annotated[int | None, Query(ge=1, lt=2**31, description="of the protocol; the newest by default")] = None,
    limit: Limit = 50,
) -> Response:
    """Return the official board of a domain: runs by its protocol, with seeds that the server drew for each.

    Every attempt counts, whatever became of it. All finished runs of a participant with one model and configuration are
    one entry; it takes a place only where none of their attempts with that model is unfinished or deleted.
    """
    row = readable_domain(service, caller, domain_id)
    board = official_board(service, row.id, version, limit)
    if row.status != PUBLISHED:
        board = board.model_copy(update={"entries": [], "others": []})
    return _answer(request, board.model_dump_json().encode())


def _answer(request: Request, data: bytes) -> Response:
    tag = f'W/"{digest_bytes(data)}"'
    return known(request, tag) or raw(data, tag)
