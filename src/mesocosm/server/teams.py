"""What people do with teams: who may, and what belongs to each step."""

import math
from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError

from mesocosm.server.auth.principal import Principal
from mesocosm.server.environments import submission
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.team import TeamRole
from mesocosm.server.service import Service
from mesocosm.store.teams import Joining, Team, slug_of

_HOUR = 3_600.0
_CLASSROOM = 5
"""How many members may mistype as often as each may, from one address: a whole class sits behind one."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A team as somebody sees it: what they are in it, and how many are in it."""

    team: Team
    role: TeamRole
    members: int


def user_id_of(caller: Principal) -> int:
    """Return the user id of a member."""
    assert caller.user_id is not None
    return caller.user_id


def membership_of(service: Service, caller: Principal, team_id: str) -> Standing | None:
    """Return a team as somebody in it sees it; None for who is not in it."""
    found = service.store.teams.membership(team_id, user_id_of(caller))
    if found is None:
        return None
    return Standing(found.team, found.role, found.members)


def as_member(service: Service, caller: Principal, team_id: str) -> Standing:
    """Return a team for who is in it or runs the platform.

    Raises Refusal: 403 alike for teams of others and for none; 404 for none where an administrator asks.
    """
    found = membership_of(service, caller, team_id)
    if found is not None:
        return found
    if not caller.admin:
        raise Refusal(403, f"you are not in a team {team_id}; ask its owner for the join code")
    team = service.store.teams.get(team_id)
    if team is None:
        raise Refusal(404, f"there is no team {team_id}")
    return Standing(team, "admin", len(service.store.teams.members(team_id)))


def as_owner(service: Service, caller: Principal, team_id: str) -> Standing:
    """Return a team for who owns it or runs the platform. Raises Refusal (403; 404 as `as_member`)."""
    found = as_member(service, caller, team_id)
    if found.role == "member" and not caller.admin:
        raise Refusal(403, f"only the owner of the team {found.team.name!r} may do that")
    return found


def make_team(service: Service, user_id: int, name: str, slug: str | None) -> Standing:
    """Return a new team that somebody owns. Raises Refusal (409) where the wanted slug is taken."""
    try:
        team = service.store.teams.add(name, user_id, slug)
    except IntegrityError as error:
        raise _without_account(error) from error
    if team is None:
        taken = slug_of(slug or "")
        raise Refusal(409, f"the slug {taken!r} is taken; choose another, or leave it out to have one made of the name")
    service.store.audit.note(f"user:{user_id}", "team.create", f"team:{team.id}", {"name": team.name})
    return Standing(team, "owner", 1)


def join_team(service: Service, user_id: int, code: str, address: str) -> Standing:
    """Let somebody into the team of a code. Who is in it already stays as they are.

    Raises Refusal: 404 for a wrong code, 409 for a full team, 429 for who brought too many wrong ones, whether this one
    is right or not.
    """
    most = service.settings.joins_per_hour
    limits = {f"join:user:{user_id}": most}
    if address:
        limits[f"join:address:{address}"] = most * _CLASSROOM
    wait = service.store.attempts.allow_all(limits, _HOUR)
    if wait:
        raise _too_many(wait)
    try:
        outcome, team = service.store.teams.join(code, user_id, service.settings.team_size)
    except IntegrityError as error:
        raise _without_account(error) from error
    if team is None:
        raise Refusal(404, "no team has that code; a code ends when the owner makes a new one: ask for that")
    service.store.attempts.take_back(limits, _HOUR)
    if outcome is Joining.FULL:
        raise Refusal(409, f"the team {team.name!r} is full: {service.settings.team_size} are the most for one team")
    if outcome is Joining.JOINED:
        service.store.audit.note(f"user:{user_id}", "team.join", f"team:{team.id}", address=address)
    own = service.store.teams.membership(team.id, user_id)
    if own is None:
        raise Refusal(404, f"the team {team.name!r} is gone, or its owner has taken you out of it again")
    return Standing(own.team, own.role, own.members)


def delete_team(service: Service, caller: Principal, team: Team) -> None:
    """Delete a team and its environments, whose runs are cancelled; runs stay with those who started them."""
    for environment in service.store.environments.list_of(team_ids=[team.id]):
        submission.delete(service, environment, caller.actor)
    service.store.teams.delete(team.id)
    service.store.audit.note(caller.actor, "team.delete", f"team:{team.id}", {"name": team.name})


def _too_many(wait: float) -> Refusal:
    seconds = math.ceil(wait)
    words = f"too many wrong join codes; wait {seconds} s, and ask the owner of the team for the code"
    return Refusal(429, words, headers={"Retry-After": str(seconds)})


def _without_account(error: IntegrityError) -> Refusal:
    del error
    return Refusal(409, "you have no account here any more, or accounts are switched off; teams need them")
