"""Workspaces: those of a caller, and actions by the role that they need.

Administrators of the server may do in every workspace what its owners may. So may the one caller of a server without
accounts, who is no member of any.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Self

from pydantic import SecretStr
from sqlalchemy.exc import IntegrityError

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.evaluations.benchmark_submission import submit_benchmark
from mesocosm.server.evaluations.code_list import code_of
from mesocosm.server.evaluations.estimate import estimate_evaluation
from mesocosm.server.evaluations.submission import find_evaluation, submit_evaluation, unknown_run
from mesocosm.server.model_check import checked_model
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.datasets import VisibleDataset, VisibleDatasets, WorkingDataset, WorkingDatasets
from mesocosm.server.permissions.notifications import ManagedNotification, ManagedNotifications
from mesocosm.server.permissions.repositories import ManagedRepository, VisibleRepository, WorkingRepository
from mesocosm.server.permissions.schedules import (
    Changes,
    VisibleSchedule,
    VisibleSchedules,
    WorkingSchedule,
    WorkingSchedules,
)
from mesocosm.server.permissions.snapshots import VisibleSnapshot, WorkingSnapshot, WorkingSnapshots
from mesocosm.server.permissions.workspace_secrets import ManagedSecrets, VisibleSecrets, WorkingSecrets
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.submission import spent_in, workspace_budget
from mesocosm.server.schemas.evaluation import CodeDocument
from mesocosm.server.schemas.limits import BudgetDocument
from mesocosm.server.schemas.model import ModelCheck
from mesocosm.server.schemas.run_estimate import RunEstimate
from mesocosm.server.schemas.run_request import BenchmarkInput, RolloutInput
from mesocosm.server.schemas.workspace import WorkspaceChange, WorkspaceDocument, WorkspaceMember, WorkspaceRole
from mesocosm.server.service import Service
from mesocosm.server.workspace_secrets import NO_SECRETS
from mesocosm.store import workspaces
from mesocosm.store.run_requests import RunRequestFilter
from mesocosm.store.users import User
from mesocosm.store.workspaces import ROLES, MemberChange, WorkspaceMembership

UNKNOWN_NAMES_PER_HOUR = 50
"""How many names without an account one caller may try to add, so that nobody lists the accounts of a server so."""
_HOUR = 3_600.0


class OwnWorkspaces(GrantedObject):
    """The workspaces of the caller; for administrators of the server, all."""

    def list(self, limit: int | None, cursor: str | None) -> Sequence[WorkspaceDocument]:
        """Return the workspaces, the newest first; `cursor` is the last id seen."""
        found = self._store.workspaces.memberships_of(
            self._viewer.user_id, everything=self._viewer.sees_all, limit=limit, cursor=cursor
        )
        return [_document(self._viewer, one) for one in found]

    def with_repository(self, path: str) -> Sequence[WorkspaceDocument]:
        """Return the caller's workspaces that are connected with a repository `owner/repo`, whatever its host.

        Administrators of the server get those of others only if they are in none.
        """
        viewer, of = self._viewer, self._store.workspaces.memberships_of
        found = of(viewer.user_id, repository=path)
        if not found and viewer.sees_all:
            found = of(viewer.user_id, repository=path, everything=True)
        return [_document(viewer, one) for one in found]

    def create(self, name: str) -> WorkspaceDocument:
        """Create a workspace that the caller owns. Raises Refusal 409 if the name is taken or the account is gone."""
        viewer, account_id = self._viewer, self._viewer.account_id
        try:
            workspace = self._store.workspaces.add(name, account_id)
        except IntegrityError as error:
            raise Refusal(409, "you have no account here any more; ask an administrator of the server") from error
        if workspace is None:
            raise _taken(name)
        self._store.audit.note(viewer.caller.actor, "workspace.create", f"workspace:{workspace.id}", {"name": name})
        own = account_id is not None
        return _document(viewer, WorkspaceMembership(workspace, "owner" if own else None, int(own)))


class VisibleWorkspace(GrantedObject):
    """A workspace that the caller is a member of; for administrators of the server, any."""

    _least: ClassVar[workspaces.Role] = "viewer"

    def __init__(self, service: Service, viewer: Viewer, membership: WorkspaceMembership) -> None:
        super().__init__(service, viewer)
        self._membership = membership
        self._workspace = membership.workspace
        self._role: workspaces.Role = "owner" if viewer.sees_all else membership.role or "viewer"

    @classmethod
    def find(cls, service: Service, viewer: Viewer, reference: str) -> Self:
        """Return a workspace by its id or name.

        Raises Refusal: 404 if the caller is not a member, as if it did not exist; 403 if their role is not enough.
        """
        found = service.store.workspaces.membership(reference, viewer.user_id)
        if found is None or (found.role is None and not viewer.sees_all):
            raise Refusal(
                404, f"you are in no workspace {reference!r}; list yours, or ask one of its admins to add you"
            )
        workspace = cls(service, viewer, found)
        if not workspace._may(cls._least):
            raise Refusal(
                403,
                f"your role in the workspace {found.workspace.name!r} is {found.role}, and this needs {cls._least}; "
                "ask one of its owners",
            )
        return workspace

    @property
    def record(self) -> workspaces.Workspace:
        """The workspace as stored."""
        return self._workspace

    def document(self) -> WorkspaceDocument:
        """Return the workspace."""
        return _document(self._viewer, self._membership)

    def members(self) -> list[WorkspaceMember]:
        """Return its members, owners first."""
        return [
            WorkspaceMember(
                user_id=member.user_id,
                username=member.username,
                role=member.role,
                disabled=member.disabled,
                joined_at=datetime.fromtimestamp(member.joined_at, UTC),
            )
            for member in self._store.workspaces.members(self._workspace.id)
        ]

    def budget(self) -> BudgetDocument:
        """Return its budget for the runs of 24 hours together, and what is left of it."""
        return BudgetDocument.of_spent(
            workspace_budget(self._service, self._workspace), spent_in(self._service, self._workspace)
        )

    def datasets(self) -> VisibleDatasets:
        """Return its datasets."""
        return VisibleDatasets(self._service, self._viewer, self._workspace)

    def dataset(self, reference: str) -> VisibleDataset:
        """Return a dataset by its id or name. Raises Refusal 404."""
        return VisibleDataset.find(self._service, self._viewer, self._workspace, reference)

    def secrets(self) -> VisibleSecrets:
        """Return its secrets."""
        return VisibleSecrets(self._service, self._viewer, self._workspace.id)

    def repository(self) -> VisibleRepository:
        """Return its repository and syncs."""
        return VisibleRepository(self._service, self._viewer, self._workspace)

    def code(self) -> list[CodeDocument]:
        """Return the code that can be evaluated: the newest synced commits of its branches, and uploads."""
        return code_of(self._service, self._workspace)

    def snapshot(self, snapshot_id: str) -> VisibleSnapshot:
        """Return an uploaded snapshot by its id. Raises Refusal 404."""
        return VisibleSnapshot.find(self._service, self._viewer, self._workspace, snapshot_id)

    def run_id(self, reference: str) -> str:
        """Return the id of one of its runs by id or name. Raises Refusal 404."""
        found = find_evaluation(self._service, self._workspace, reference) if reference else None
        if found is None:
            raise Refusal(404, unknown_run(self._service, self._workspace, reference))
        return found.run_id

    def run_ids(self, limit: int, offset: int) -> tuple[Sequence[str], int]:
        """Return the ids of its runs, newest first, without the first `offset`, and the number of all its runs."""
        wanted = RunRequestFilter(workspace_id=self._workspace.id)
        found = self._store.run_requests.list(wanted, limit=limit, offset=offset)
        return [one.run_id for one in found], self._store.run_requests.count(wanted)

    def schedules(self) -> VisibleSchedules:
        """Return its schedules."""
        return VisibleSchedules(self._service, self._viewer, self._workspace, changes=self._changes)

    def schedule(self, reference: str) -> VisibleSchedule:
        """Return a schedule by its id or name. Raises Refusal 404."""
        return VisibleSchedule.find(self._service, self._viewer, self._workspace, reference, changes=self._changes)

    def leave(self) -> None:
        """Remove the caller. Raises Refusal 409 for its last owner, and if the caller is not a member."""
        if self._membership.role is None:
            raise Refusal(409, f"you are not a member of the workspace {self._workspace.name!r}")
        user_id = self._viewer.user_id
        self._check(self._store.workspaces.remove(self._workspace.id, user_id, by_owner=True), "you")
        self._note("leave", {"user_id": user_id})

    @property
    def _changes(self) -> Changes:
        """Whose schedules the caller may change."""
        return "all" if self._may("admin") else "own" if self._may("member") else "none"

    def _may(self, least: workspaces.Role) -> bool:
        """Return whether the caller may do what a role may."""
        return ROLES.index(self._role) >= ROLES.index(least)

    def _note(self, action: str, detail: dict[str, object]) -> None:
        self._store.audit.note(
            self._viewer.caller.actor, f"workspace.{action}", f"workspace:{self._workspace.id}", detail
        )

    def _check(self, change: MemberChange, who: str) -> None:
        """Raise Refusal if a member could not be changed: 404, 403 for an owner, 409 for the last one."""
        name = self._workspace.name
        if change is MemberChange.NO_MEMBER:
            raise Refusal(404, f"the workspace {name!r} has no member {who}; list its members")
        if change is MemberChange.OWNER:
            raise Refusal(403, f"{who} owns the workspace {name!r}; only its owners may change or remove an owner")
        if change is MemberChange.LAST_OWNER:
            raise Refusal(
                409,
                f"no other owner of the workspace {name!r} with an enabled account would be left; "
                "make another member an owner first, or delete the workspace",
            )


class WorkingWorkspace(VisibleWorkspace):
    """A workspace in which the caller may upload, set secrets of their own, and submit."""

    _least: ClassVar[workspaces.Role] = "member"

    def datasets(self) -> WorkingDatasets:
        """Return its datasets, to upload further ones."""
        return WorkingDatasets(self._service, self._viewer, self._workspace)

    def dataset(self, reference: str) -> WorkingDataset:
        """Return a dataset by its id or name, to change it. Raises Refusal 404."""
        manages = self._may("admin")
        return WorkingDataset.find(self._service, self._viewer, self._workspace, reference, manages=manages)

    def secrets(self) -> WorkingSecrets:
        """Return its secrets, of which the caller may set their own."""
        return WorkingSecrets(self._service, self._viewer, self._workspace.id)

    def submit(self, wanted: RolloutInput | BenchmarkInput, provided: Mapping[str, SecretStr] = NO_SECRETS) -> str:
        """Submit a run of a rollout or a benchmark and return its id. Raises Refusal, InvalidInput.

        `provided` are values of secrets that a rollout requires, for this run alone.
        """
        if isinstance(wanted, BenchmarkInput):
            return submit_benchmark(self._service, self._viewer, self._workspace, wanted).run_id
        return submit_evaluation(self._service, self._viewer, self._workspace, wanted, provided=provided).run_id

    def estimate(self, wanted: RolloutInput) -> RunEstimate:
        """Return what an evaluation would come to; nothing is submitted. Raises Refusal, InvalidInput."""
        return estimate_evaluation(self._service, self._viewer, self._workspace, wanted)

    def check_model(self, name: str) -> ModelCheck:
        """Ask a model one word for a run in it, and return what came of it. Raises Refusal as for such a run."""
        return checked_model(self._service, self._service.catalogue.resolve(name, self._viewer.caller, self._workspace))

    def snapshots(self) -> WorkingSnapshots:
        """Return its snapshots, to upload one."""
        return WorkingSnapshots(self._service, self._viewer, self._workspace)

    def snapshot(self, snapshot_id: str) -> WorkingSnapshot:
        """Return an uploaded snapshot by its id. Raises Refusal 404."""
        return WorkingSnapshot.find(self._service, self._viewer, self._workspace, snapshot_id)

    def schedules(self) -> WorkingSchedules:
        """Return its schedules, to make another one."""
        return WorkingSchedules(self._service, self._viewer, self._workspace, changes=self._changes)

    def schedule(self, reference: str) -> WorkingSchedule:
        """Return a schedule by its id or name, to change it. Raises Refusal 404."""
        return WorkingSchedule.find(self._service, self._viewer, self._workspace, reference, changes=self._changes)

    def repository(self) -> WorkingRepository:
        """Return its repository, to sync it."""
        return WorkingRepository(self._service, self._viewer, self._workspace)


class ManagedWorkspace(WorkingWorkspace):
    """A workspace whose members the caller may change."""

    _least: ClassVar[workspaces.Role] = "admin"

    def secrets(self) -> ManagedSecrets:
        """Return its secrets, which the caller may set and delete."""
        return ManagedSecrets(self._service, self._viewer, self._workspace.id)

    def notifications(self) -> ManagedNotifications:
        """Return its notifications."""
        return ManagedNotifications(self._service, self._viewer, self._workspace)

    def notification(self, reference: str) -> ManagedNotification:
        """Return a notification by its id or name. Raises Refusal 404."""
        return ManagedNotification.find(self._service, self._viewer, self._workspace, reference)

    def repository(self) -> ManagedRepository:
        """Return its repository, to connect or disconnect it."""
        return ManagedRepository(self._service, self._viewer, self._workspace)

    def change(self, given: WorkspaceChange) -> WorkspaceDocument:
        """Rename the workspace, or set its budget.

        Raises Refusal: 403 for a budget unless the caller is an administrator of the server, 409 for a name that is
        taken.
        """
        workspace, store = self._workspace, self._store.workspaces
        if "budget_usd" in given.model_fields_set and not self._viewer.sees_all:
            raise Refusal(403, "only administrators of the server set the budget of a workspace; ask them for more")
        if given.name is not None and given.name != workspace.name:
            if not store.rename(workspace.id, given.name):
                raise _taken(given.name)
            self._note("rename", {"from": workspace.name, "to": given.name})
        if "budget_usd" in given.model_fields_set:
            store.set_budget(workspace.id, given.budget_usd)
            self._note("budget", {"budget_usd": given.budget_usd})
        return VisibleWorkspace.find(self._service, self._viewer, workspace.id).document()

    def add(self, username: str, role: WorkspaceRole) -> WorkspaceMember:
        """Add a user by name. Nothing changes if they have this role already.

        Raises Refusal: 403 for a new owner unless the caller is one, 404 without such an account, 409 if they are a
        member with another role, 429 after too many unknown names.
        """
        self._check_grant(role)
        user = self._account_named(username)
        known = self._store.workspaces.membership(self._workspace.id, user.id)
        if known is not None and known.role is None:
            given = self._store.workspaces.add_member(self._workspace.id, user.id, role)
            if given == role:
                self._note("add", {"user_id": user.id, "role": role})
        member = next((one for one in self.members() if one.user_id == user.id), None)
        if member is None:
            raise Refusal(404, f"the workspace {self._workspace.name!r} was deleted, or {username!r} removed again")
        if member.role != role:
            raise Refusal(
                409, f"{user.username!r} is in the workspace already, with the role {member.role}; change the role"
            )
        return member

    def _account_named(self, username: str) -> User:
        """Return an enabled account. Raises Refusal: 404, or 429 to those who ask for many unknown names."""
        limits = {} if self._viewer.sees_all else {f"add:user:{self._viewer.user_id}": UNKNOWN_NAMES_PER_HOUR}
        if wait := self._store.rate_limits.allow_all(limits, _HOUR) if limits else 0.0:
            seconds = math.ceil(wait)
            words = f"too many names without an account; wait {seconds} s, and ask people for their user names"
            raise Refusal(429, words, headers={"Retry-After": str(seconds)})
        user = self._store.users.named(username)
        if user is None or user.disabled:
            raise Refusal(404, f"there is no active account {username!r} on this server; check the name")
        self._store.rate_limits.take_back(limits, _HOUR)
        return user

    def set_role(self, user_id: int, role: WorkspaceRole) -> WorkspaceMember:
        """Give a member another role.

        Raises Refusal: 403 for a new or an old owner unless the caller is one, 404 if the user is not a member, 409
        for the last owner.
        """
        self._check_grant(role)
        change = self._store.workspaces.set_role(self._workspace.id, user_id, role, by_owner=self._may("owner"))
        self._check(change, f"user {user_id}")
        if change is MemberChange.DONE:
            self._note("role", {"user_id": user_id, "role": role})
        member = next((one for one in self.members() if one.user_id == user_id), None)
        if member is None:
            raise Refusal(404, f"user {user_id} was removed from the workspace {self._workspace.name!r} again")
        return member

    def remove(self, user_id: int) -> None:
        """Remove a member.

        Raises Refusal: 403 for an owner unless the caller is one, 404 if the user is not a member, 409 for the last
        owner.
        """
        change = self._store.workspaces.remove(self._workspace.id, user_id, by_owner=self._may("owner"))
        self._check(change, f"user {user_id}")
        self._note("remove", {"user_id": user_id})

    def _check_grant(self, role: WorkspaceRole) -> None:
        if role == "owner" and not self._may("owner"):
            raise Refusal(403, f"only owners of the workspace {self._workspace.name!r} make owners; ask one of them")


class OwnedWorkspace(ManagedWorkspace):
    """A workspace that the caller owns; for administrators of the server, any."""

    _least: ClassVar[workspaces.Role] = "owner"

    def delete(self) -> None:
        """Delete the workspace with its members, datasets and secrets."""
        if self._store.workspaces.delete(self._workspace.id):
            self._note("delete", {"name": self._workspace.name})


def _document(viewer: Viewer, membership: WorkspaceMembership) -> WorkspaceDocument:
    workspace = membership.workspace
    return WorkspaceDocument(
        id=workspace.id,
        name=workspace.name,
        # Who is alone on the server owns what is on it.
        role="owner" if viewer.account_id is None else membership.role,
        members=membership.members,
        budget_usd=workspace.budget_usd,
        created_at=datetime.fromtimestamp(workspace.created_at, UTC),
    )


def _taken(name: str) -> Refusal:
    return Refusal(409, f"the workspace name {name!r} is taken on this server; choose another")
