"""`/api/leaderboards`: leaderboards of domains."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from mesocosm.core.ids import digest_bytes
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.leaderboard import DomainLeaderboards, LeaderboardEntry
from mesocosm.server.schemas.protocol import OfficialBoard
from mesocosm.server.web.answer import TAGGED, known, raw

router = APIRouter(prefix="/api/leaderboards", tags=["leaderboards"])

MOST = 50
"""Maximum number of domains per request."""

DomainId = Annotated[str, Path(max_length=200, description="ID of the domain.")]
Limit = Annotated[int, Query(ge=1, le=100, description="Maximum number of entries.")]


@router.get("", response_model=DomainLeaderboards, responses=TAGGED, **access(Access.PUBLIC))
def list_leaderboards(
    request: Request,
    grant: Granted,
    domain_ids: Annotated[
        str, Query(max_length=20_000, description=f"At most {MOST} domain IDs, separated by commas.")
    ],
    limit: Limit = 50,
) -> Response:
    """Return the leaderboards of several domains; those of unknown or unpublished domains are empty."""
    wanted = list(dict.fromkeys(part.strip() for part in domain_ids.split(",") if part.strip()))
    if not 1 <= len(wanted) <= MOST:
        raise Refusal(422, f"domain_ids has {len(wanted)} ids; give 1 to {MOST}, separated by commas")
    return _tagged(request, grant.domains().leaderboards(wanted, limit))


@router.get("/{domain_id}", response_model=list[LeaderboardEntry], responses=TAGGED, **access(Access.READER))
def get_leaderboard(request: Request, domain_id: DomainId, grant: Granted, limit: Limit = 50) -> Response:
    """Return the leaderboard of a domain over its public completed runs; empty if the domain is not published.

    Runs of one model with one agent configuration and one version of the binding vow are one entry; their episodes are
    pooled by task. The newest version comes first, and within it the best entry. Entries share ranks if the interval of
    their difference contains 0.
    """
    return _tagged(request, grant.domain(domain_id).leaderboard(limit))


@router.get("/{domain_id}/official", response_model=OfficialBoard, responses=TAGGED, **access(Access.READER))
def get_official_board(
    request: Request,
    domain_id: DomainId,
    grant: Granted,
    version: Annotated[
        int | None, Query(ge=1, lt=2**31, description="Version of the protocol; the newest by default.")
    ] = None,
    limit: Limit = 50,
) -> Response:
    """Return the official leaderboard of a domain: runs by its protocol, with seeds drawn by the server for each.

    Every attempt counts, whatever its outcome. All finished runs of a participant with one model and configuration are
    one entry, which is ranked only if no attempt of theirs with that model is unfinished or deleted.
    """
    board = grant.domain(domain_id).official_board(version, limit)
    return _tagged(request, board.model_dump_json().encode())


def _tagged(request: Request, data: bytes) -> Response:
    tag = f'W/"{digest_bytes(data)}"'
    return known(request, tag) or raw(data, tag)
