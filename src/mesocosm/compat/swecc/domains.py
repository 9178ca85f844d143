"""`/v1/domains` and `/v1/developer/environments` of the published client, from the functions of `/api`."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from mesocosm.server.permissions.environments import Scope
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.routes import environments
from mesocosm.server.routes.domains import MOST, DomainId, Limit
from mesocosm.server.schemas.domain import Domain, DomainChange, DomainInput
from mesocosm.server.schemas.environment import EnvironmentInput, SubmittedEnvironment

router = APIRouter(prefix="/v1", include_in_schema=False)


@router.get("/domains", response_model=list[Domain], **access(Access.PUBLIC))
def list_domains(
    grant: Granted,
    published: bool | None = None,
    include_archived: bool = False,
    limit: Limit = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Sequence[Domain]:
    """List domains, the newest first."""
    return grant.domains().list(published=published, archived=include_archived, after=cursor, limit=limit or MOST)


@router.post("/domains", status_code=201, response_model=Domain, **access(Access.MEMBER))
def create_domain(body: DomainInput, grant: Granted) -> Domain:
    """Register and publish a domain."""
    return grant.domains().register(body)


@router.get("/domains/{domain_id}", response_model=Domain, **access(Access.READER))
def get_domain(domain_id: DomainId, grant: Granted) -> Domain:
    """Return a domain."""
    return grant.domain(domain_id).document()


@router.patch("/domains/{domain_id}", response_model=Domain, **access(Access.INSIDER))
def update_domain(domain_id: DomainId, body: DomainChange, grant: Granted) -> Domain:
    """Change a domain."""
    return grant.own_domain(domain_id).change(body)


@router.post("/domains/{domain_id}/publish", response_model=Domain, **access(Access.INSIDER))
def publish(domain_id: DomainId, grant: Granted) -> Domain:
    """Publish a domain."""
    return grant.own_domain(domain_id).publish()


@router.post("/developer/environments", status_code=201, response_model=SubmittedEnvironment, **access(Access.MEMBER))
def submit_environment(body: EnvironmentInput, grant: Granted, response: Response) -> SubmittedEnvironment:
    """Submit an environment, or the next version of it."""
    return environments.submit_environment(body, grant, response)


@router.get("/developer/environments", response_model=list[SubmittedEnvironment], **access(Access.MEMBER))
def list_environments(
    grant: Granted, scope: Scope | None = None, team_id: str | None = None, domain_id: str | None = None
) -> Sequence[SubmittedEnvironment]:
    """List environments, the newest first."""
    return environments.list_environments(grant, scope, team_id, domain_id)


@router.delete(
    "/developer/environments/{environment_id}", status_code=204, response_class=Response, **access(Access.INSIDER)
)
def delete_environment(environment_id: environments.EnvironmentId, grant: Granted) -> None:
    """Delete an environment."""
    grant.environment(environment_id).delete()
