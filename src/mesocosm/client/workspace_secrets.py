"""Secrets of the workspaces of a server."""

from pydantic import SecretStr

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.server.schemas.workspace_secret import MissingSecrets, Scope, WorkspaceSecret


class WorkspaceSecretsResource(Resource):
    """Secrets of a workspace and the caller's own in it. `workspace` is an id or a name. No method returns a value."""

    def list(self, workspace: str, scope: Scope | None = None) -> tuple[WorkspaceSecret, ...]:
        """Return the secrets by name; without a `scope`, of both."""
        return self._many(WorkspaceSecret, _path(workspace), {"scope": scope})

    def missing(self, workspace: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return which of the names have no value for a run of the caller."""
        query = "&".join(f"name={segment(name)}" for name in names)
        return tuple(self._one(MissingSecrets, "GET", f"{_path(workspace)}/missing?{query}").missing) if names else ()

    def set(self, workspace: str, scope: Scope, name: str, value: SecretStr) -> WorkspaceSecret:
        """Set a secret, new or in place of its old value."""
        # Dumping the document would send asterisks.
        body = {"value": value.get_secret_value()}
        return self._one(WorkspaceSecret, "PUT", _path(workspace, scope, name), body)

    def delete(self, workspace: str, scope: Scope, name: str) -> None:
        """Delete a secret."""
        self._done("DELETE", _path(workspace, scope, name))


def _path(workspace: str, *parts: str) -> str:
    return "/".join(("/api/workspaces", segment(workspace), "secrets", *map(segment, parts)))
