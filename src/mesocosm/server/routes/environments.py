"""`/v1/developer`: Submitted environments."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Response

from mesocosm.compat.swecc.documents import RunListItem
from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.auth.belonging import may_use_team
from mesocosm.server.auth.principal import Principal
from mesocosm.server.domains.domains import may_read
from mesocosm.server.environments import submission
from mesocosm.server.environments.documents import (
    environment_document,
    environment_documents,
    logs_document,
    poll_document,
    version_detail,
    version_document,
)
from mesocosm.server.environments.usage import domain_usage, environment_usage
from mesocosm.server.problems import Refusal
from mesocosm.server.run_requests.listing import readable_requests, run_items
from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.environment import (
    BuildingDocument,
    DomainUsage,
    EnvironmentDetail,
    EnvironmentInput,
    EnvironmentLogs,
    EnvironmentPoll,
    EnvironmentVersion,
    EnvironmentVersionDetail,
    SubmittedEnvironment,
    UsageSummary,
)
from mesocosm.server.service import Service
from mesocosm.store.environments import EnvironmentRow, Verdict, VersionRow
from mesocosm.store.run_requests import RunRequest, RunRequestFilter

router = APIRouter(prefix="/v1/developer", tags=["environments"])

MOST = 1_000
"""Environments of a list for programs that do not page."""
_PAGE = 100

EnvironmentId = Annotated[str, Path(max_length=200, description="the id of an environment")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1, description="the number of a submission, from 1 on")]
TeamId = Annotated[str | None, Query(max_length=200, description="the team whose environments")]
DomainId = Annotated[str | None, Query(max_length=200, description="only those that serve this domain")]
Scope = Annotated[
    Literal["solo", "team", "mine", "all"] | None,
    Query(
        description="`solo`: one's own (where nothing is said); `team`: those of `team_id`; `mine`: one's own and "
        "those of all one's teams; `all`: of everybody, for who runs the platform"
    ),
]


class Busy(Document):
    """A submission is refused, because the one before is being built."""

    error: str
    detail: BuildingDocument | str


_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": SubmittedEnvironment, "description": "It was there already; this is its next version."},
    409: {"model": Busy, "description": "The version before is being built, or there are as many as may be."},
}
_BUSY: dict[int | str, dict[str, Any]] = {409: {"model": Busy, "description": "It is ready, or being built."}}


@router.post(
    "/environments", status_code=201, response_model=SubmittedEnvironment, responses=_AGAIN, **access(Access.MEMBER)
)
def submit_environment(
    body: EnvironmentInput, caller: Caller, service: Served, response: Response
) -> SubmittedEnvironment:
    """Submit an environment: it is cloned, checked, installed and tried, then it has a domain to run on.

    The same repository and folder of the same holder again make the next version (200): runs use the newest one that
    could be built. 422 for an address that cannot work, 403 for a team of others, 409 while the version before is being
    built, or where there are as many as may be.
    """
    done = submission.submit(service, caller, body)
    assert done.environment is not None
    response.status_code = 201 if done.verdict is Verdict.NEW else 200
    return environment_document(service, done.environment)


@router.get("/environments", response_model=list[SubmittedEnvironment], **access(Access.MEMBER))
def list_environments(
    caller: Caller,
    service: Served,
    scope: Scope = None,
    team_id: TeamId = None,
    domain_id: DomainId = None,
    limit: Annotated[int | None, Query(ge=1, le=100, description=f"how many; up to {MOST} where left out")] = None,
    cursor: Annotated[str | None, Query(max_length=200, description="the id of the last one seen")] = None,
) -> list[SubmittedEnvironment]:
    """List environments, the newest first: the caller's own, or as `scope` says.

    With a `domain_id` and no scope, those of the caller and all their teams. 422 for the scope team without a team, 403
    for a team of others.
    """
    user_id, teams, everybody = _whose(service, caller, scope, team_id, domain_id)
    rows = service.store.environments.list_of(
        user_id=user_id, team_ids=teams, everybody=everybody, domain_id=domain_id, limit=limit or MOST, cursor=cursor
    )
    return environment_documents(service, rows)


@router.get("/environments/{environment_id}", response_model=EnvironmentDetail, **access(Access.INSIDER))
def get_environment(environment_id: EnvironmentId, caller: Caller, service: Served) -> EnvironmentDetail:
    """Return an environment and how much it was used."""
    row = submission.own_environment(service, caller, environment_id)
    fields = environment_document(service, row).model_dump()
    return EnvironmentDetail(**fields, usage=environment_usage(service, caller, row))


@router.get("/environments/{environment_id}/poll", response_model=EnvironmentPoll, **access(Access.INSIDER))
def poll_environment(environment_id: EnvironmentId, caller: Caller, service: Served) -> EnvironmentPoll:
    """Return how far an environment is."""
    return poll_document(service, submission.own_environment(service, caller, environment_id))


@router.get("/environments/{environment_id}/runs", response_model=list[RunListItem], **access(Access.INSIDER))
def list_runs(
    environment_id: EnvironmentId,
    caller: Caller,
    service: Served,
    limit: Annotated[int, Query(ge=1, le=50, description="how many")] = 10,
    cursor: Annotated[str | None, Query(max_length=200, description="the id of the last one seen")] = None,
) -> list[RunListItem]:
    """List runs of an environment, the newest first, as far as the caller may read them."""
    row = submission.own_environment(service, caller, environment_id)
    found: list[RunRequest] = []
    for order in _readable(service, caller, RunRequestFilter(environment_id=row.id, cursor=cursor)):
        found.append(order)
        if len(found) == limit:
            break
    return run_items(service, caller, found)


@router.get("/environments/{environment_id}/usage", response_model=UsageSummary, **access(Access.INSIDER))
def get_usage(environment_id: EnvironmentId, caller: Caller, service: Served) -> UsageSummary:
    """Return how much an environment was used, by everybody."""
    return environment_usage(service, caller, submission.own_environment(service, caller, environment_id))


@router.get(
    "/environments/{environment_id}/versions", response_model=list[EnvironmentVersion], **access(Access.INSIDER)
)
def list_versions(
    environment_id: EnvironmentId,
    caller: Caller,
    service: Served,
    limit: Annotated[int, Query(ge=1, le=100, description="how many")] = 20,
    cursor: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="the number of the last one seen")] = None,
) -> list[EnvironmentVersion]:
    """List the submissions of an environment, the newest first."""
    row = submission.own_environment(service, caller, environment_id)
    found = service.store.environments.versions(row.id, limit=limit, before=cursor)
    return [version_document(version, row.ready_version) for version in found]


@router.get(
    "/environments/{environment_id}/versions/{version}",
    response_model=EnvironmentVersionDetail,
    **access(Access.INSIDER),
)
def get_version(
    environment_id: EnvironmentId, version: Version, caller: Caller, service: Served
) -> EnvironmentVersionDetail:
    """Return one submission of an environment: which commit was built, with its manifest."""
    row = submission.own_environment(service, caller, environment_id)
    return version_detail(_version(service, row, version), row.ready_version)


@router.get("/environments/{environment_id}/logs", response_model=EnvironmentLogs, **access(Access.INSIDER))
def get_logs(
    environment_id: EnvironmentId,
    caller: Caller,
    service: Served,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="a submission; none: the newest")] = None,
) -> EnvironmentLogs:
    """Return what was written while a submission was built, and by its adapter when it was last run.

    The log of a build grows while it goes on.
    """
    row = submission.own_environment(service, caller, environment_id)
    return logs_document(service, _version(service, row, version or row.version))


@router.post(
    "/environments/{environment_id}/retry",
    response_model=SubmittedEnvironment,
    responses=_BUSY,
    **access(Access.INSIDER),
)
def retry_environment(environment_id: EnvironmentId, caller: Caller, service: Served) -> SubmittedEnvironment:
    """Build a failed environment once more, as its next version. 409 where it is ready, or being built."""
    row = submission.own_environment(service, caller, environment_id)
    return environment_document(service, submission.retry(service, caller, row))


@router.delete("/environments/{environment_id}", status_code=204, response_class=Response, **access(Access.INSIDER))
def delete_environment(environment_id: EnvironmentId, caller: Caller, service: Served) -> None:
    """Delete an environment. Its domain is archived, what runs of it is cancelled, its public runs become private."""
    submission.delete(service, submission.own_environment(service, caller, environment_id), caller.actor)


@router.get("/domains/{domain_id}/usage", response_model=DomainUsage, **access(Access.PUBLIC))
def get_domain_usage(
    domain_id: Annotated[str, Path(max_length=200, description="the id of a domain")], caller: Caller, service: Served
) -> DomainUsage:
    """Return how much a domain was used, of the runs that the caller may read; all of them are told to whose it is.

    Zeros for one that is not there, or a draft of somebody else.
    """
    row = service.store.domains.get(domain_id)
    known = row is not None and may_read(service, caller, row)
    usage = domain_usage(service, caller, row) if row is not None and known else UsageSummary()
    return DomainUsage(domain_id=domain_id, **usage.model_dump())


def _whose(
    service: Service, caller: Principal, scope: str | None, team_id: str | None, domain_id: str | None
) -> tuple[int | None, list[str], bool]:
    """Return whose environments are asked for: a member's own, those of teams, or everybody's."""
    if scope is None:
        scope = "team" if team_id else "mine" if domain_id else "solo"
    if scope == "all":
        if not caller.admin:
            raise Refusal(403, "only those who run this platform may list the environments of everybody")
        return None, [], True
    if scope == "team":
        return None, [_team(service, caller, team_id)], False
    teams = service.store.teams.teams_of(caller.user_id) if scope == "mine" and caller.user_id is not None else ()
    return caller.user_id, [team.id for team in teams], False


def _team(service: Service, caller: Principal, team_id: str | None) -> str:
    if not team_id:
        raise Refusal(422, "the scope team needs a `team_id`")
    if not may_use_team(service, caller, team_id):
        raise Refusal(403, f"you are not a member of team {team_id!r}; `mesocosm team list` shows yours")
    return team_id


def _version(service: Service, row: EnvironmentRow, number: int) -> VersionRow:
    found = service.store.environments.version(row.id, number)
    if found is None:
        raise Refusal(404, f"the environment {row.id!r} has no version {number}; its newest is {row.version}")
    return found


def _readable(service: Service, caller: Principal, wanted: RunRequestFilter) -> Iterator[RunRequest]:
    """Yield orders that the caller may read, newest first, reading as few as are asked for."""
    while page := service.store.run_requests.list(wanted, limit=_PAGE):
        yield from readable_requests(service, caller, page)
        wanted = msgspec.structs.replace(wanted, cursor=page[-1].run_id)
