"""`/api/environments`: submitted environments, for their owners."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from mesocosm.server.permissions.environments import Scope
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.environment import (
    EnvironmentDetail,
    EnvironmentInput,
    EnvironmentLogs,
    EnvironmentPoll,
    EnvironmentVersion,
    EnvironmentVersionDetail,
    SubmittedEnvironment,
)

router = APIRouter(prefix="/api/environments", tags=["environments"])

MOST = 1_000
"""Maximum number of environments in a list without a limit."""

EnvironmentId = Annotated[str, Path(max_length=200, description="ID of the environment.")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1, description="Number of the version, counting from 1.")]
TeamId = Annotated[str | None, Query(max_length=200, description="ID of a team; required by the scope `team`.")]
DomainId = Annotated[str | None, Query(max_length=200, description="Only environments of this domain.")]
ScopeParameter = Annotated[
    Scope | None,
    Query(
        description="`solo`: the caller's own (the default); `team`: those of `team_id`; `mine`: the caller's "
        "own and those of their teams; `all`: everybody's, for administrators."
    ),
]
Limit = Annotated[int | None, Query(ge=1, le=100, description=f"Maximum number of items per page; {MOST} by default.")]
Cursor = Annotated[str | None, Query(max_length=200, description="ID of the last item of the previous page.")]


_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": SubmittedEnvironment, "description": "The environment already existed; this is its next version."},
    **refused(409),
}


@router.post("", status_code=201, response_model=SubmittedEnvironment, responses=_AGAIN, **access(Access.MEMBER))
def submit_environment(body: EnvironmentInput, grant: Granted, response: Response) -> SubmittedEnvironment:
    """Submit an environment. It is cloned, checked, installed and tested; then it has a domain to run on.

    The same repository and folder of the same owner create the next version (200): runs use the newest version that was
    built successfully. 422 for an invalid URL, 403 for another team, 409 while the previous version is being built and
    if the limit of environments is reached.
    """
    document, new = grant.environments().submit(body)
    response.status_code = 201 if new else 200
    return document


@router.get("", response_model=list[SubmittedEnvironment], **access(Access.MEMBER))
def list_environments(
    grant: Granted,
    scope: ScopeParameter = None,
    team_id: TeamId = None,
    domain_id: DomainId = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Sequence[SubmittedEnvironment]:
    """List environments, newest first: the caller's own, or as selected by `scope`.

    With a `domain_id` and no scope, those of the caller and all their teams. 422 for the scope `team` without a team,
    403 for another team.
    """
    return grant.environments().list(scope, team_id=team_id, domain_id=domain_id, limit=limit or MOST, cursor=cursor)


@router.get("/{environment_id}", response_model=EnvironmentDetail, **access(Access.INSIDER))
def get_environment(environment_id: EnvironmentId, grant: Granted) -> EnvironmentDetail:
    """Return an environment and its usage counts."""
    return grant.environment(environment_id).detail()


@router.get("/{environment_id}/poll", response_model=EnvironmentPoll, **access(Access.INSIDER))
def poll_environment(environment_id: EnvironmentId, grant: Granted) -> EnvironmentPoll:
    """Return the build state of the newest version of an environment."""
    return grant.environment(environment_id).poll()


@router.get("/{environment_id}/versions", response_model=list[EnvironmentVersion], **access(Access.INSIDER))
def list_versions(
    environment_id: EnvironmentId,
    grant: Granted,
    limit: Annotated[int, Query(ge=1, le=100, description="Maximum number of items per page.")] = 20,
    cursor: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="Number of the last version of the previous page.")
    ] = None,
) -> Sequence[EnvironmentVersion]:
    """List the versions of an environment, newest first."""
    return grant.environment(environment_id).versions(limit, cursor)


@router.get("/{environment_id}/versions/{version}", response_model=EnvironmentVersionDetail, **access(Access.INSIDER))
def get_version(environment_id: EnvironmentId, version: Version, grant: Granted) -> EnvironmentVersionDetail:
    """Return one version of an environment: the commit that was built, and its manifest."""
    return grant.environment(environment_id).version(version)


@router.get("/{environment_id}/logs", response_model=EnvironmentLogs, **access(Access.INSIDER))
def get_logs(
    environment_id: EnvironmentId,
    grant: Granted,
    version: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="Number of a version; the newest by default.")
    ] = None,
) -> EnvironmentLogs:
    """Return the log of a build, which may be in progress, and the output of the adapter's last run."""
    return grant.environment(environment_id).logs(version)


@router.post(
    "/{environment_id}/retry", response_model=SubmittedEnvironment, responses=refused(409), **access(Access.INSIDER)
)
def retry_environment(environment_id: EnvironmentId, grant: Granted) -> SubmittedEnvironment:
    """Build a failed environment again, as its next version. 409 if it is ready or being built."""
    return grant.environment(environment_id).retry()


@router.delete("/{environment_id}", status_code=204, response_class=Response, **access(Access.INSIDER))
def delete_environment(environment_id: EnvironmentId, grant: Granted) -> None:
    """Delete an environment. Its domain is archived, its open runs are cancelled, its public runs become private."""
    grant.environment(environment_id).delete()
