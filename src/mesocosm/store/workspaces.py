"""Workspaces and their members."""

import time
import unicodedata
from enum import StrEnum
from typing import Literal, get_args

import msgspec
from sqlalchemy import Connection, Insert, RowMapping, Select, and_, case, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from mesocosm.core.ids import new_id
from mesocosm.store.blobs import drop_orphans
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of
from mesocosm.store.run_requests import PRIVATE
from mesocosm.store.tenancy import (
    dataset_additions,
    dataset_parts,
    datasets,
    repositories,
    requests,
    snapshot_upload_blobs,
    snapshot_uploads,
    users,
    workspace_members,
    workspace_secrets,
    workspaces,
)
from mesocosm.store.workspace_secrets import personal_holder

Role = Literal["viewer", "member", "admin", "owner"]
ROLES: tuple[Role, ...] = get_args(Role)
"""The roles of members, rising: each may do what those before it may."""


class Workspace(msgspec.Struct, frozen=True):
    """A workspace. `created_at` is in UNIX seconds; `budget_usd` is per 24 hours, None for the server's default."""

    id: str
    name: str
    budget_usd: float | None
    created_at: float


class WorkspaceMemberRow(msgspec.Struct, frozen=True):
    """A member of a workspace; a `disabled` account has no access."""

    user_id: int
    username: str
    disabled: bool
    role: Role
    joined_at: float


class WorkspaceMembership(msgspec.Struct, frozen=True):
    """A workspace with the role of a user, None if they are not a member, and its number of members."""

    workspace: Workspace
    role: Role | None
    members: int


class MemberChange(StrEnum):
    """Result of a change of a member."""

    DONE = "done"
    UNCHANGED = "unchanged"
    """The member has this role already."""
    NO_MEMBER = "no_member"
    """The user is not a member, or the workspace is gone."""
    OWNER = "owner"
    """The member is an owner, whom only owners may change."""
    LAST_OWNER = "last_owner"
    """No other owner with an enabled account would be left."""


class Workspaces:
    """Workspaces and their members. An owner can only be removed while another one with an enabled account is left."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def membership(self, reference: str, user_id: int | None) -> WorkspaceMembership | None:
        """Return the workspace with an id or a name, in any case, with the role of a user; None if there is none."""
        named = workspaces.c.name_key == _key(reference)
        wanted = _memberships(user_id).where(or_(workspaces.c.id == plain(reference), named)).order_by(named)
        found = self._database.one(wanted)
        return None if found is None else _membership_from(found)

    def get(self, workspace_id: str) -> Workspace | None:
        """Return the workspace with an id, None if there is none."""
        row = self._database.one(select(workspaces).where(workspaces.c.id == plain(workspace_id)))
        return None if row is None else record_of(Workspace, row)

    def memberships_of(
        self,
        user_id: int | None,
        *,
        everything: bool = False,
        repository: str = "",
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[WorkspaceMembership, ...]:
        """Return the workspaces of a user, or all if `everything`, newest first; `limit` None: all.

        `repository`: only those that are connected with a repository whose identity ends with this path, in any case.
        `cursor` is the id of the last workspace of the previous page.
        """
        wanted = _memberships(user_id).order_by(workspaces.c.created_at.desc(), workspaces.c.id.desc()).limit(limit)
        if not everything:
            wanted = wanted.where(workspace_members.c.role.is_not(None))
        if repository:
            connected = and_(repositories.c.workspace_id == workspaces.c.id, repositories.c.deleted_at.is_(None))
            ending = func.lower(repositories.c.identity).endswith(f"/{plain(repository).lower()}", autoescape=True)
            wanted = wanted.where(select(repositories.c.id).where(connected, ending).exists())
        if cursor is not None:
            seen = select(workspaces.c.created_at).where(workspaces.c.id == plain(cursor)).scalar_subquery()
            older = and_(workspaces.c.created_at == seen, workspaces.c.id < plain(cursor))
            wanted = wanted.where(or_(workspaces.c.created_at < seen, older))
        return tuple(map(_membership_from, self._database.all(wanted)))

    def roles_of(self, user_id: int) -> dict[str, Role]:
        """Return the role of a user in each of their workspaces, by its id."""
        wanted = select(workspace_members.c.workspace_id, workspace_members.c.role)
        rows = self._database.all(wanted.where(workspace_members.c.user_id == user_id))
        return {row["workspace_id"]: row["role"] for row in rows}

    def members(self, workspace_id: str) -> tuple[WorkspaceMemberRow, ...]:
        """Return the members of a workspace, owners first, those of a role in the order in which they joined."""
        role = workspace_members.c.role
        wanted = (
            select(users.c.username, users.c.disabled, workspace_members)
            .join(workspace_members, users.c.id == workspace_members.c.user_id)
            .where(workspace_members.c.workspace_id == plain(workspace_id))
            .order_by(
                case({name: -rank for rank, name in enumerate(ROLES)}, value=role),
                workspace_members.c.joined_at,
                workspace_members.c.user_id,
            )
        )
        return tuple(record_of(WorkspaceMemberRow, row) for row in self._database.all(wanted))

    def add(self, name: str, owner_id: int | None) -> Workspace | None:
        """Return a new workspace; None if the name is taken. `owner_id` None: without members, for administrators.

        Raises IntegrityError if there is no such user.
        """
        workspace = Workspace(new_id(), plain(name), None, time.time())
        row = msgspec.structs.asdict(workspace) | {"name_key": _key(name)}
        new = self._database.insert(workspaces).values(row).on_conflict_do_nothing()

        def work(connection: Connection) -> bool:
            connection.execute(new)
            if connection.scalar(_locked(workspace.id)) is None:
                return False
            # When repeated after an unnoticed commit, both rows already exist.
            if owner_id is not None and _role(connection, workspace.id, owner_id) is None:
                connection.execute(_joining(workspace.id, owner_id, "owner"))
            return True

        return workspace if self._database.write(work) else None

    def rename(self, workspace_id: str, name: str) -> bool:
        """Rename a workspace; return False if the name is taken."""
        changed = update(workspaces).where(workspaces.c.id == plain(workspace_id))
        try:
            self._database.execute(changed.values(name=plain(name), name_key=_key(name)))
        except IntegrityError:
            return False
        return True

    def set_budget(self, workspace_id: str, budget_usd: float | None) -> None:
        """Set what a workspace may spend in 24 hours, None for the server's default."""
        changed = update(workspaces).where(workspaces.c.id == plain(workspace_id))
        self._database.execute(changed.values(budget_usd=budget_usd))

    def delete(self, workspace_id: str) -> bool:
        """Delete a workspace with its members, datasets and secrets. Return whether it existed.

        Its runs become private runs of those who submitted them.
        """
        left = update(requests).where(requests.c.workspace_id == plain(workspace_id))
        left = left.values(workspace_id=None, team_id=None, visibility=PRIVATE)
        gone = delete(workspaces).where(workspaces.c.id == plain(workspace_id))
        parts = select(dataset_parts.c.digest).join(datasets, datasets.c.id == dataset_parts.c.dataset_id)
        parts = parts.where(datasets.c.workspace_id == plain(workspace_id))
        added = select(dataset_additions.c.digest).join(datasets, datasets.c.id == dataset_additions.c.dataset_id)
        added = added.where(datasets.c.workspace_id == plain(workspace_id))
        sent = select(snapshot_upload_blobs.c.digest).join(
            snapshot_uploads, snapshot_uploads.c.id == snapshot_upload_blobs.c.upload_id
        )
        needed = parts.union(added, sent.where(snapshot_uploads.c.workspace_id == plain(workspace_id)))

        def work(connection: Connection) -> bool:
            blobs = connection.scalars(needed).all()
            connection.execute(left)
            existed = connection.execute(gone).rowcount > 0
            drop_orphans(connection, blobs)
            return existed

        return self._database.write(work)

    def add_member(self, workspace_id: str, user_id: int, role: Role) -> Role | None:
        """Add a user and return their role, the old one if they are a member already; None if the workspace is gone.

        Raises IntegrityError if there is no such user.
        """

        def work(connection: Connection) -> Role | None:
            if connection.scalar(_locked(workspace_id)) is None:
                return None
            known = _role(connection, workspace_id, user_id)
            if known is None:
                connection.execute(_joining(workspace_id, user_id, role))
            return known or role

        return self._database.write(work)

    def set_role(self, workspace_id: str, user_id: int, role: Role, *, by_owner: bool) -> MemberChange:
        """Give a member another role. Unless `by_owner`, that of an owner is not changed."""
        return self._change(workspace_id, user_id, role, by_owner=by_owner)

    def remove(self, workspace_id: str, user_id: int, *, by_owner: bool) -> MemberChange:
        """Remove a member with the secrets that are theirs alone. Unless `by_owner`, an owner is not removed."""
        return self._change(workspace_id, user_id, None, by_owner=by_owner)

    def _change(self, workspace_id: str, user_id: int, role: Role | None, *, by_owner: bool) -> MemberChange:
        """Set the role of a member, or with None remove them."""
        member = and_(workspace_members.c.workspace_id == plain(workspace_id), workspace_members.c.user_id == user_id)
        changed = update(workspace_members).where(member).values(role=role)
        change = changed if role is not None else delete(workspace_members).where(member)
        own = and_(
            workspace_secrets.c.workspace_id == plain(workspace_id),
            workspace_secrets.c.holder == personal_holder(user_id),
        )

        def work(connection: Connection) -> MemberChange:
            # All changes of members take turns at this row, so that two owners cannot remove each other at once.
            connection.execute(_locked(workspace_id))
            known = _role(connection, workspace_id, user_id)
            if known is None:
                return MemberChange.NO_MEMBER
            if known == role:
                return MemberChange.UNCHANGED
            if known == "owner" and not by_owner:
                return MemberChange.OWNER
            if known == "owner" and _is_last_owner(connection, workspace_id, user_id):
                return MemberChange.LAST_OWNER
            connection.execute(change)
            if role is None:
                connection.execute(delete(workspace_secrets).where(own))
            return MemberChange.DONE

        return self._database.write(work)


def _key(name: str) -> str:
    """Return what names must differ in: compatible forms of a letter, and its cases, are the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain(name)).casefold())


def _locked(workspace_id: str) -> Select[tuple[str]]:
    return select(workspaces.c.id).where(workspaces.c.id == plain(workspace_id)).with_for_update()


def _joining(workspace_id: str, user_id: int, role: Role) -> Insert:
    row = {"workspace_id": plain(workspace_id), "user_id": user_id, "role": role, "joined_at": time.time()}
    return workspace_members.insert().values(row)


def _role(connection: Connection, workspace_id: str, user_id: int) -> Role | None:
    here = workspace_members.c.workspace_id == plain(workspace_id)
    role: Role | None = connection.scalar(
        select(workspace_members.c.role).where(here, workspace_members.c.user_id == user_id)
    )
    return role


def _is_last_owner(connection: Connection, workspace_id: str, user_id: int) -> bool:
    """Return whether no user but this one is an owner with an enabled account."""
    others = (
        select(users.c.id)
        .join(workspace_members, workspace_members.c.user_id == users.c.id)
        .where(workspace_members.c.workspace_id == plain(workspace_id), workspace_members.c.role == "owner")
        .where(users.c.id != user_id, users.c.disabled.is_(False))
    )
    return connection.scalar(others.limit(1)) is None


def _memberships(user_id: int | None) -> Select[tuple[object, ...]]:
    other = workspace_members.alias()
    size = select(func.count()).where(other.c.workspace_id == workspaces.c.id).scalar_subquery()
    own = and_(workspace_members.c.workspace_id == workspaces.c.id, workspace_members.c.user_id == user_id)
    return select(workspaces, workspace_members.c.role, size.label("members")).outerjoin(workspace_members, own)


def _membership_from(row: RowMapping) -> WorkspaceMembership:
    return WorkspaceMembership(record_of(Workspace, row), row["role"], row["members"])
