"""Access rules: who may read a run or a domain, and who may change it.

An object belongs to the actor that requested it and to the team that it was requested for, if any. A run in a workspace
belongs to the workspace alone: its members read it, its administrators and, while they are members, those who submitted
it change it, and it is never public. Administrators may do everything that an owner may. On a laptop the only caller is
its owner. `VisibleTo` in `store/filters.py` is the same rule in SQL, for lists of runs.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Protocol

from mesocosm.server.auth.principal import Principal
from mesocosm.server.refusal import Refusal
from mesocosm.store.domains import DomainRow
from mesocosm.store.run_requests import is_public
from mesocosm.store.workspaces import Role


class Owned(Protocol):
    """An object with an owner (an actor as in `Principal.actor`) and optionally a team."""

    @property
    def actor(self) -> str:
        """The owner."""
        ...

    @property
    def team_id(self) -> str | None:
        """The id of its team, or None."""
        ...


class OwnedRequest(Owned, Protocol):
    """A run request, which its owner may make public unless it is in a workspace."""

    @property
    def visibility(self) -> str:
        """`private` or `gallery_public`."""
        ...

    @property
    def workspace_id(self) -> str | None:
        """The id of its workspace, or None."""
        ...


class Viewer:
    """A caller with the rules that apply to them. Created for each request by `Service.viewer`.

    `local` is set for the owner of a laptop, who sees everything as recorded. `address` is the network address of the
    caller. `teams_of` returns the ids of the teams of a user, `roles_of` the ids of their workspaces with their roles.
    """

    def __init__(
        self,
        caller: Principal,
        address: str,
        teams_of: Callable[[int], frozenset[str]],
        roles_of: Callable[[int], Mapping[str, Role]],
        *,
        local: bool,
    ) -> None:
        self.caller = caller
        self.address = address
        self.local = local
        self._teams_of = teams_of
        self._roles_of = roles_of

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

    @property
    def account_id(self) -> int | None:
        """The id of the caller in the table of users; None if accounts are disabled, since user 0 is not in it.

        Raises Refusal as `user_id`.
        """
        return self.user_id or None

    @cached_property
    def teams(self) -> frozenset[str]:
        """The ids of the teams that the caller is a member of."""
        user_id = self.caller.user_id if self.caller.member else None
        return frozenset() if user_id is None else self._teams_of(user_id)

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """The ids of the workspaces that the caller is a member of, with their role there."""
        user_id = self.caller.user_id if self.caller.member else None
        return {} if user_id is None else self._roles_of(user_id)

    def is_member(self, team_id: str | None) -> bool:
        """Return whether the caller is a member of a team."""
        return team_id is not None and team_id in self.teams

    def is_owner(self, thing: Owned) -> bool:
        """Return whether the caller is the owner of `thing`."""
        return not self.caller.anonymous and thing.actor == self.caller.actor

    def may_change(self, thing: Owned | None) -> bool:
        """Return whether the caller or their team owns `thing`. Only administrators may change None, an unowned one."""
        return self.sees_all or (thing is not None and (self.is_owner(thing) or self.is_member(thing.team_id)))

    def may_read_domain(self, domain: DomainRow) -> bool:
        """Return whether the caller may read a domain: it is or was published, or they may change it."""
        was_published = domain.status == "archived" and domain.document.get("published_at") is not None
        return domain.status == "published" or was_published or self.may_change(domain)

    def may_change_run(self, request: OwnedRequest | None) -> bool:
        """Return whether the caller may change a run: stop, repeat, delete or tag it."""
        if request is None or request.workspace_id is None:
            return self.may_change(request)
        role = self.roles.get(request.workspace_id)
        return self.sees_all or role in {"admin", "owner"} or (role == "member" and self.is_owner(request))

    def may_judge_run(self, request: OwnedRequest | None) -> bool:
        """Return whether the caller may say what they think of a run's episodes: a member who may work with the run.

        Guests may not, nor may viewers of its workspace.
        """
        if self.local:
            return True
        if not self.caller.member or request is None or request.workspace_id is None:
            return self.caller.member and self.may_change(request)
        return self.sees_all or self.roles.get(request.workspace_id) in {"member", "admin", "owner"}

    def sees_inside(self, request: OwnedRequest | None) -> bool:
        """Return whether the caller may read everything of a run, also prompts, replies and files."""
        if request is None or request.workspace_id is None:
            return self.may_change(request)
        return self.sees_all or request.workspace_id in self.roles

    def may_read_run(self, request: OwnedRequest | None, status: str) -> bool:
        """Return whether the caller may read a run: it is public and finished, or they see all of it."""
        return (request is not None and is_public(request, status)) or self.sees_inside(request)
