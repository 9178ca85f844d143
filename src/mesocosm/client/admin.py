"""Administration of a server."""

from mesocosm.client.resource import Resource
from mesocosm.server.schemas.account import (
    AuditPage,
    BudgetInput,
    KeyRotated,
    RoleWord,
    UserCreated,
    UserInput,
    UserPage,
    UserRow,
)
from mesocosm.server.schemas.system import StatusDocument


class AdminResource(Resource):
    """Users, signing keys, the audit log, and the status of the server."""

    def status(self) -> StatusDocument:
        """Return the running, waiting and failed work, and the workers."""
        return self._one(StatusDocument, "GET", "/api/admin/status")

    def users(self, *, limit: int | None = None, cursor: int | None = None) -> UserPage:
        """Return users, newest first."""
        return self._one(UserPage, "GET", "/api/admin/users", query={"limit": limit, "cursor": cursor})

    def add_user(self, username: str, *, password: str | None = None, role: RoleWord = "member") -> UserCreated:
        """Add a user; without `password`, one is generated and returned once."""
        return self._one(
            UserCreated, "POST", "/api/admin/users", UserInput(username=username, password=password, role=role)
        )

    def disable(self, user_id: int) -> UserRow:
        """Block a user."""
        return self._one(UserRow, "POST", f"/api/admin/users/{user_id}/disable")

    def enable(self, user_id: int) -> UserRow:
        """Unblock a user."""
        return self._one(UserRow, "POST", f"/api/admin/users/{user_id}/enable")

    def set_role(self, user_id: int, role: RoleWord) -> UserRow:
        """Set the role of a user."""
        return self._one(UserRow, "POST", f"/api/admin/users/{user_id}/role", {"role": role})

    def set_budget(self, user_id: int, budget_usd: float | None) -> UserRow:
        """Set how much a user may spend in 24 hours, in USD; None: the default of the settings."""
        body = BudgetInput(budget_usd=budget_usd).model_dump()
        return self._one(UserRow, "POST", f"/api/admin/users/{user_id}/budget", body)

    def reset_password(self, user_id: int) -> UserCreated:
        """Set a new password for a user; the response contains it once."""
        return self._one(UserCreated, "POST", f"/api/admin/users/{user_id}/reset")

    def end_sessions(self, user_id: int) -> UserRow:
        """Log a user out everywhere."""
        return self._one(UserRow, "POST", f"/api/admin/users/{user_id}/sessions/end")

    def rotate_keys(self, *, at_once: bool = False) -> KeyRotated:
        """Sign tokens with a new key; with `at_once`, tokens signed with older keys become invalid."""
        return self._one(KeyRotated, "POST", "/api/admin/keys/rotate", {"at_once": at_once})

    def audit(self, *, limit: int | None = None, cursor: str | None = None) -> AuditPage:
        """Return the audit log, newest first."""
        return self._one(AuditPage, "GET", "/api/admin/audit", query={"limit": limit, "cursor": cursor})
