"""Repositories of workspaces and their syncs."""

import time

from mesocosm.client.resource import Resource
from mesocosm.client.transport import pauses
from mesocosm.client.workspaces import workspace_path
from mesocosm.server.schemas.evaluation import CodeDocument
from mesocosm.server.schemas.git_credential import CredentialKind, GitCredentialInput
from mesocosm.server.schemas.repository import (
    RepositoryDocument,
    RepositoryHookDocument,
    SyncDetail,
    SyncDocument,
    SyncedRolloutDocument,
    SyncInput,
)


class RepositoriesResource(Resource):
    """The repository of each workspace, its syncs, and the rollouts in it."""

    def connect(
        self,
        workspace: str,
        url: str,
        *,
        folder: str = "",
        branch: str = "",
        credentials: GitCredentialInput | None = None,
    ) -> RepositoryDocument:
        """Connect a workspace with a repository, a private one with its credentials. Only for admins and owners."""
        body = {"url": url, "folder": folder, "branch": branch}
        given = {} if credentials is None else {"credentials": _revealed(credentials)}
        return self._one(RepositoryDocument, "PUT", f"{workspace_path(workspace)}/repository", {**body, **given})

    def get(self, workspace: str) -> RepositoryDocument:
        """Return the repository of a workspace."""
        return self._one(RepositoryDocument, "GET", f"{workspace_path(workspace)}/repository")

    def disconnect(self, workspace: str) -> None:
        """Disconnect the repository of a workspace. Only for admins and owners."""
        self._done("DELETE", f"{workspace_path(workspace)}/repository")

    def set_credentials(self, workspace: str, credentials: GitCredentialInput) -> RepositoryDocument:
        """Set the token or the deploy key of the repository. Only for admins and owners."""
        path = f"{workspace_path(workspace)}/repository/credentials"
        return self._one(RepositoryDocument, "PUT", path, _revealed(credentials))

    def delete_credential(self, workspace: str, kind: CredentialKind) -> None:
        """Delete the token or the deploy key of the repository. Only for admins and owners."""
        self._done("DELETE", f"{workspace_path(workspace)}/repository/credentials/{kind}")

    def renew_hook(self, workspace: str) -> RepositoryHookDocument:
        """Give the webhook of the repository a new secret, which is shown once. Only for admins and owners."""
        return self._one(RepositoryHookDocument, "POST", f"{workspace_path(workspace)}/repository/hook")

    def sync(self, workspace: str, *, branch: str = "", commit: str = "", reuse: bool = False) -> SyncDocument:
        """Queue a sync of the newest commit of a branch, or of a commit. Not for viewers.

        With `reuse`, return the sync of it that is waiting, running or successful, if there is one.
        """
        body = SyncInput(branch=branch, commit=commit, reuse=reuse)
        return self._one(SyncDocument, "POST", f"{workspace_path(workspace)}/syncs", body)

    def syncs(self, workspace: str, *, limit: int = 20, cursor: int | None = None) -> tuple[SyncDocument, ...]:
        """Return the syncs of a workspace, newest first; `cursor` is the last number of the page before."""
        return self._many(SyncDocument, f"{workspace_path(workspace)}/syncs", {"limit": limit, "cursor": cursor})

    def get_sync(self, workspace: str, number: int) -> SyncDetail:
        """Return a sync with what was found."""
        return self._one(SyncDetail, "GET", f"{workspace_path(workspace)}/syncs/{number}")

    def wait(self, workspace: str, number: int) -> SyncDetail:
        """Return a sync once it has ended."""
        waits = pauses()
        while (found := self.get_sync(workspace, number)).sync.status in ("pending", "syncing"):
            time.sleep(next(waits))
        return found

    def code(self, workspace: str) -> tuple[CodeDocument, ...]:
        """Return the code that can be evaluated: the newest synced commit of each branch, and uploads."""
        return self._many(CodeDocument, f"{workspace_path(workspace)}/code")

    def rollouts(self, workspace: str, *, branch: str = "") -> tuple[SyncedRolloutDocument, ...]:
        """Return the rollouts at the newest synced commit of a branch, by default of the followed one."""
        return self._many(SyncedRolloutDocument, f"{workspace_path(workspace)}/rollouts", {"branch": branch or None})


def _revealed(credentials: GitCredentialInput) -> dict[str, str]:
    """Return credentials as they are sent; dumping the document would send asterisks."""
    secrets = {"token": credentials.token, "deploy_key": credentials.deploy_key}
    values = {name: secret.get_secret_value() for name, secret in secrets.items() if secret is not None}
    return {**values, "username": credentials.username, "host_keys": credentials.host_keys}
