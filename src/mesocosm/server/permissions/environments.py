"""Submitted environments, for their submitter, their team and administrators only.

Source, logs, build output and versions of an environment are private even if its domain is public.
"""

from collections.abc import Sequence
from typing import Literal, Self

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.environments import documents, submission
from mesocosm.server.environments.usage import environment_usage
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.batch_runs import batch_document, submit_batch
from mesocosm.server.run_requests.submission import check_team
from mesocosm.server.schemas.batch_run import BatchRunDocument
from mesocosm.server.schemas.environment import (
    EnvironmentDetail,
    EnvironmentInput,
    EnvironmentLogs,
    EnvironmentPoll,
    EnvironmentVersion,
    EnvironmentVersionDetail,
    SubmittedEnvironment,
)
from mesocosm.server.service import Service
from mesocosm.store.environments import EnvironmentRow, VersionRow

Scope = Literal["solo", "team", "mine", "all"]
"""The caller's own environments, those of a team, both, or all."""


class OwnedEnvironment(GrantedObject):
    """A submitted environment that the caller may see and change."""

    def __init__(self, service: Service, viewer: Viewer, row: EnvironmentRow) -> None:
        super().__init__(service, viewer)
        self._row = row

    @classmethod
    def find(cls, service: Service, viewer: Viewer, environment_id: str) -> Self:
        """Return an environment. Raises Refusal 404, also for an environment of others."""
        row = service.store.environments.get(environment_id)
        if row is None or not viewer.may_change(row):
            raise Refusal(404, f"you have no environment {environment_id!r}; `mesocosm env list` shows yours")
        return cls(service, viewer, row)

    @property
    def id(self) -> str:
        """The id of the environment."""
        return self._row.id

    def document(self) -> SubmittedEnvironment:
        """Return the environment."""
        return documents.environment_document(self._service, self._row)

    def detail(self) -> EnvironmentDetail:
        """Return the environment and its usage."""
        usage = environment_usage(self._service, self._viewer.caller.actor, self._row)
        return EnvironmentDetail(**self.document().model_dump(), usage=usage)

    def poll(self) -> EnvironmentPoll:
        """Return the state of its newest version."""
        return documents.poll_document(self._service, self._row)

    def versions(self, limit: int, before: int | None) -> Sequence[EnvironmentVersion]:
        """Return its submissions, the newest first; `before` is the last number seen."""
        found = self._service.store.environments.versions(self.id, limit=limit, before=before)
        return [documents.version_document(version, self._row.ready_version) for version in found]

    def version(self, number: int) -> EnvironmentVersionDetail:
        """Return a submission with its manifest. Raises Refusal 404."""
        return documents.version_detail(self._version(number), self._row.ready_version)

    def logs(self, number: int | None = None) -> EnvironmentLogs:
        """Return the build log and adapter output of a version, by default the newest. Raises Refusal 404."""
        return documents.logs_document(self._service, self._version(number or self._row.version))

    def retry(self) -> SubmittedEnvironment:
        """Build a failed environment again, as its next version. Raises Refusal 409 unless it has failed."""
        caller = self._viewer.caller
        self._row = submission.retry(self._service, self._row, actor=caller.actor, account=self._viewer.account_id)
        return self.document()

    def submit_batch_run(self) -> BatchRunDocument:
        """Submit a run of every model of the operator's list. Raises as `run_requests.batch_runs.submit_batch` does."""
        return batch_document(self._service, submit_batch(self._service, self._viewer, self._row))

    def delete(self) -> None:
        """Delete the environment: archive its domain, cancel its open runs, make its public runs private."""
        submission.delete(self._service, self._row, self._viewer.caller.actor)

    def _version(self, number: int) -> VersionRow:
        found = self._service.store.environments.version(self.id, number)
        if found is None:
            raise Refusal(
                404, f"the environment {self.id!r} has no version {number}; its newest is {self._row.version}"
            )
        return found


class OwnedEnvironments(GrantedObject):
    """The environments that the caller may see and change."""

    def list(
        self, scope: Scope | None, *, team_id: str | None, domain_id: str | None, limit: int, cursor: str | None
    ) -> Sequence[SubmittedEnvironment]:
        """Return environments, the newest first; `cursor` is the last id seen.

        Without a scope: those of a team if `team_id` is given, the caller's and their teams' if `domain_id` is given,
        else the caller's own. Raises Refusal: 422 for the scope team without a `team_id`, 403 for a team of others,
        and for the scope all unless the caller is an administrator.
        """
        if scope is None:
            scope = "team" if team_id else "mine" if domain_id else "solo"
        if scope == "all" and not self._viewer.sees_all:
            raise Refusal(403, "only administrators may list the environments of all users")
        user_id, teams = self._viewer.caller.user_id, list[str]()
        if scope == "team":
            if not team_id:
                raise Refusal(422, "the scope team needs a `team_id`")
            check_team(self._service, self._viewer, team_id)
            user_id, teams = None, [team_id]
        elif scope == "mine":
            teams = sorted(self._viewer.teams)
        rows = self._service.store.environments.list_of(
            user_id=None if scope == "all" else user_id,
            team_ids=teams,
            everybody=scope == "all",
            domain_id=domain_id,
            limit=limit,
            cursor=cursor,
        )
        return documents.environment_documents(self._service, rows)

    def submit(self, body: EnvironmentInput) -> tuple[SubmittedEnvironment, bool]:
        """Queue the build of an environment; return it, and whether it is new. Raises as `submission.submit` does."""
        team_id = check_team(self._service, self._viewer, body.team_id)
        actor, account = self._viewer.caller.actor, self._viewer.account_id
        row, new = submission.submit(self._service, body, actor=actor, account=account, team_id=team_id)
        return documents.environment_document(self._service, row), new
