"""Whose runs are, as those who look at a list of them are told."""

from typing import TypedDict

from mesocosm.server.auth.principal import Principal
from mesocosm.store.run_requests import RunRequest


class Ownership(TypedDict):
    """The fields of `documents.run.RunSummary` that only a platform knows."""

    owner: str | None
    visibility: str | None
    team_id: str | None
    domain_id: str | None
    protocol: int | None
    mine: bool | None


def ownership(who: Principal, order: RunRequest, *, inside: bool) -> Ownership:
    """Return whose a run is. From outside its owner is `member` or `guest`, as in the gallery, and its team unknown."""
    kind = "guest" if order.actor.startswith("guest:") else "member"
    return Ownership(
        owner=(order.actor_name or kind) if inside else kind,
        visibility=order.visibility,
        team_id=order.team_id if inside else None,
        domain_id=order.domain_id,
        protocol=order.protocol,
        mine=not who.anonymous and order.actor == who.actor,
    )
