"""Secrets of a workspace by role in it. No value is ever returned."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import SecretStr

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.key_ring import PREFIX, KeyRing
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.workspace_secret import MissingSecrets, Scope, WorkspaceSecret, name_fault
from mesocosm.server.service import Service
from mesocosm.server.workspace_secrets import missing_secrets, set_secret, usable_keys
from mesocosm.store.workspace_secrets import WORKSPACE, SecretRow, personal_holder


class VisibleSecrets(GrantedObject):
    """The secrets of a workspace that the caller may read, and their own in it."""

    def __init__(self, service: Service, viewer: Viewer, workspace_id: str) -> None:
        super().__init__(service, viewer)
        self._workspace_id = workspace_id
        self._personal = personal_holder(viewer.user_id)

    def list(self, scope: Scope | None) -> Sequence[WorkspaceSecret]:
        """Return the secrets of the workspace and the caller's own, by name; `scope` None: both."""
        holders = {"workspace": [WORKSPACE], "personal": [self._personal], None: [WORKSPACE, self._personal]}[scope]
        rows = self._store.workspace_secrets.list(self._workspace_id, holders, PREFIX)
        keys = usable_keys(self._service) if rows else None
        return [_document(row, keys) for row in rows]

    def delete_personal(self, name: str) -> None:
        """Delete a secret of the caller. Raises Refusal 404 if there is none."""
        self._delete(self._personal, name)

    def _delete(self, holder: str, name: str) -> None:
        if not self._store.workspace_secrets.delete(self._workspace_id, holder, name):
            whose = "workspace" if holder == WORKSPACE else "personal"
            # The name is not repeated unless it is one: it may be a value.
            raise Refusal(404, f"there is no {whose} secret {'of that name' if name_fault(name) else name}; list them")
        self._note("delete", holder, name)

    def _note(self, action: str, holder: str, name: str) -> None:
        detail = {"name": name, "scope": _scope(holder)}
        actor, target = self._viewer.caller.actor, f"workspace:{self._workspace_id}"
        self._store.audit.note(actor, f"secret.{action}", target, detail)


class WorkingSecrets(VisibleSecrets):
    """The secrets of a workspace in which the caller may set their own."""

    def set_personal(self, name: str, value: SecretStr) -> WorkspaceSecret:
        """Set a secret that only runs of the caller get. Raises Refusal, InfrastructureError without a usable key."""
        return self._set(self._personal, name, value)

    def missing(self, names: Sequence[str]) -> MissingSecrets:
        """Return which names have no value for a run of the caller. Raises InfrastructureError without their keys."""
        return MissingSecrets(
            missing=list(missing_secrets(self._service, self._workspace_id, self._viewer.user_id, names))
        )

    def _set(self, holder: str, name: str, value: SecretStr) -> WorkspaceSecret:
        row = set_secret(self._service, self._workspace_id, holder, name, value, self._viewer.account_id)
        self._note("set", holder, name)
        return _document(row, usable_keys(self._service))


class ManagedSecrets(WorkingSecrets):
    """The secrets of a workspace whose own the caller may set and delete."""

    def set(self, name: str, value: SecretStr) -> WorkspaceSecret:
        """Set a secret that every run gets. Raises Refusal, InfrastructureError without a usable key."""
        return self._set(WORKSPACE, name, value)

    def delete(self, name: str) -> None:
        """Delete a secret of the workspace. Raises Refusal 404 if there is none."""
        self._delete(WORKSPACE, name)


def _scope(holder: str) -> Scope:
    return "workspace" if holder == WORKSPACE else "personal"


def _document(row: SecretRow, keys: KeyRing | None) -> WorkspaceSecret:
    return WorkspaceSecret(
        name=row.name,
        scope=_scope(row.holder),
        created_by=row.creator,
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        updated_at=datetime.fromtimestamp(row.updated_at, UTC),
        last_used_at=None if row.used_at is None else datetime.fromtimestamp(row.used_at, UTC),
        usable=keys is not None and keys.opens(row.key),
    )
