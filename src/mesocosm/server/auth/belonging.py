"""Whose things are, and who may see them: the rules of access that need the object."""

from typing import Protocol

from mesocosm.core.run import Run
from mesocosm.server.auth.principal import Principal
from mesocosm.server.service import Service
from mesocosm.store.run_requests import PRIVATE, PUBLIC, is_public

__all__ = ["PRIVATE", "PUBLIC", "Owned", "Seen", "inside", "may_use_team", "public", "readable"]


class Owned(Protocol):
    """What belongs to somebody and maybe to a team. `actor` is as in `Principal.actor`."""

    @property
    def actor(self) -> str:
        """Who it belongs to."""
        ...

    @property
    def team_id(self) -> str | None:
        """The team that it belongs to."""
        ...


class Seen(Owned, Protocol):
    """What its owner may show to everybody."""

    @property
    def visibility(self) -> str:
        """`private` or `gallery_public`."""
        ...


def inside(service: Service, who: Principal, thing: Owned) -> bool:
    """Return whether a thing is theirs, or that of a team they are in; those who run the platform are always inside."""
    if who.admin or (not who.anonymous and who.actor == thing.actor):
        return True
    return thing.team_id is not None and _in_team(service, who, thing.team_id)


def may_use_team(service: Service, who: Principal, team_id: str) -> bool:
    """Return whether somebody is in a team, or runs the platform and there is such a team."""
    return _in_team(service, who, team_id) or (who.admin and service.store.teams.get(team_id) is not None)


def public(thing: Seen, run: Run) -> bool:
    """Return whether a run is for everybody: its owner said so, and it has finished."""
    return is_public(thing.visibility, run.status)


def readable(service: Service, who: Principal, thing: Seen, run: Run) -> bool:
    """Return whether somebody may read a run."""
    return public(thing, run) or inside(service, who, thing)


def _in_team(service: Service, who: Principal, team_id: str) -> bool:
    return who.member and who.user_id is not None and service.store.teams.role(team_id, who.user_id) is not None
