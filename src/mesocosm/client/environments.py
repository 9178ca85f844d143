"""Environments submitted to a server."""

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.server.schemas.environment import (
    EnvironmentDetail,
    EnvironmentInput,
    EnvironmentLogs,
    EnvironmentPoll,
    EnvironmentVersion,
    EnvironmentVersionDetail,
    SubmittedEnvironment,
)


class EnvironmentsResource(Resource):
    """The caller's environments, and those of their teams."""

    def submit(self, environment: EnvironmentInput) -> SubmittedEnvironment:
        """Submit an environment; submitting the same source and folder again creates the next version."""
        return self._one(SubmittedEnvironment, "POST", "/api/environments", environment)

    def list(
        self,
        *,
        scope: str | None = None,
        team_id: str | None = None,
        domain_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[SubmittedEnvironment, ...]:
        """Return environments: the caller's own, those of a team, or all that they may use on a domain.

        Newest first; `cursor` is the last id of the previous page.
        """
        query = {"scope": scope, "team_id": team_id, "domain_id": domain_id, "limit": limit, "cursor": cursor}
        return self._many(SubmittedEnvironment, "/api/environments", query)

    def get(self, env_id: str) -> EnvironmentDetail:
        """Return one environment and its usage counts."""
        return self._one(EnvironmentDetail, "GET", _path(env_id))

    def poll(self, env_id: str) -> EnvironmentPoll:
        """Return the build state of an environment."""
        return self._one(EnvironmentPoll, "GET", f"{_path(env_id)}/poll")

    def logs(self, env_id: str, version: int | None = None) -> EnvironmentLogs:
        """Return the build log of a version, by default of the newest."""
        return self._one(EnvironmentLogs, "GET", f"{_path(env_id)}/logs", query={"version": version})

    def versions(
        self, env_id: str, *, limit: int | None = None, cursor: int | None = None
    ) -> tuple[EnvironmentVersion, ...]:
        """Return the versions of an environment, newest first; `cursor` is the last number of the previous page."""
        return self._many(EnvironmentVersion, f"{_path(env_id)}/versions", {"limit": limit, "cursor": cursor})

    def version(self, env_id: str, version: int) -> EnvironmentVersionDetail:
        """Return one version with its manifest."""
        return self._one(EnvironmentVersionDetail, "GET", f"{_path(env_id)}/versions/{version}")

    def retry(self, env_id: str) -> SubmittedEnvironment:
        """Build a failed version again."""
        return self._one(SubmittedEnvironment, "POST", f"{_path(env_id)}/retry")

    def delete(self, env_id: str) -> None:
        """Delete an environment and archive its domain; its runs remain."""
        self._done("DELETE", _path(env_id))


def _path(env_id: str) -> str:
    return f"/api/environments/{segment(env_id)}"
