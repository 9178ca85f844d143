"""The rules of access: what belongs to a caller, and which runs they may read.

A thing belongs to the one who asked for it (its `actor`) and to the team that it was made for, if any. Administrators
may do everything that an owner may. On a laptop there is one caller, its owner.
"""

from functools import cached_property
from typing import Protocol

from mesocosm.server.auth.principal import Principal
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.store.domains import DomainRow
from mesocosm.store.run_requests import is_public


class Owned(Protocol):
    """Something that belongs to an actor and perhaps to a team. `actor` is as in `Principal.actor`."""

    @property
    def actor(self) -> str:
        """The owner."""
        ...

    @property
    def team_id(self) -> str | None:
        """The team that it belongs to."""
        ...


class OwnedRequest(Owned, Protocol):
    """A run request, which its owner may show to everybody."""

    @property
    def visibility(self) -> str:
        """`private` or `gallery_public`."""
        ...


class GrantedObject:
    """Something that a caller was granted: it keeps the store to itself, and shows only what the caller may see.

    Every public method and property of a class below this one is tested for each role.
    """

    def __init__(self, service: Service, viewer: "Viewer") -> None:
        self._service = service
        self._store = service.store
        self._viewer = viewer


class Viewer:
    """A caller with the rules that apply to them, and the address that they ask from. Made for one request."""

    def __init__(self, service: Service, caller: Principal, address: str = "") -> None:
        self.caller = caller
        self.address = address
        self._service = service

    @property
    def local(self) -> bool:
        """Whether this is the owner of a laptop, who sees everything as it was recorded."""
        return self._service.local

    @property
    def sees_all(self) -> bool:
        """Whether nothing is hidden from the caller."""
        return self.local or self.caller.admin

    @property
    def user_id(self) -> int:
        """The user id of the caller. Raises Refusal: 401 for callers without a login, 403 for guests."""
        if self.caller.anonymous:
            raise Refusal(401, "Authentication required", headers={"WWW-Authenticate": "Bearer"})
        if self.caller.user_id is None:
            raise Refusal(403, "SWECC member account required")
        return self.caller.user_id

    @cached_property
    def teams(self) -> frozenset[str]:
        """The ids of the teams that the caller is a member of."""
        user_id = self.caller.user_id if self.caller.member else None
        return frozenset() if user_id is None else self._service.teams_of(user_id)

    def is_member(self, team_id: str | None) -> bool:
        """Return whether the caller is a member of a team."""
        return team_id is not None and team_id in self.teams

    def is_owner(self, thing: Owned) -> bool:
        """Return whether the caller is the owner of a thing."""
        return not self.caller.anonymous and thing.actor == self.caller.actor

    def may_change(self, thing: Owned | None) -> bool:
        """Return whether a thing is the caller's or their team's. What nobody requested is the administrators'."""
        return self.sees_all or (thing is not None and (self.is_owner(thing) or self.is_member(thing.team_id)))

    def may_read_domain(self, domain: DomainRow) -> bool:
        """Return whether the caller may read a domain: one that is or was published, or one that they may change."""
        was_published = domain.status == "archived" and domain.document.get("published_at") is not None
        return domain.status == "published" or was_published or self.may_change(domain)

    def may_read_run(self, request: OwnedRequest | None, status: str) -> bool:
        """Return whether the caller may read a run: a finished one that is public, or one that they may change."""
        return (request is not None and is_public(request.visibility, status)) or self.may_change(request)
