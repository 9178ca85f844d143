"""`/api/domains`: domains, which runs are started on."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.domain import Domain, DomainChange, DomainInput
from mesocosm.server.schemas.environment import DomainUsage
from mesocosm.server.schemas.protocol import OfficialProtocol, OfficialProtocolInput

router = APIRouter(prefix="/api/domains", tags=["domains"])

MOST = 1_000
"""Maximum number of domains in a list without a limit."""

DomainId = Annotated[str, Path(max_length=200, description="ID of the domain.")]
Limit = Annotated[int | None, Query(ge=1, le=100, description=f"Maximum number of items per page; {MOST} by default.")]
Cursor = Annotated[str | None, Query(max_length=200, description="ID of the last item of the previous page.")]


@router.post("", status_code=201, response_model=Domain, responses=refused(409), **access(Access.MEMBER))
def create_domain(body: DomainInput, grant: Granted) -> Domain:
    """Register a domain with an environment at a URL of its own, and publish it.

    The caller becomes its owner. Vow and scoring are validated, and the URL must be on the public internet. 409 if the
    id is taken: change that domain with PATCH.
    """
    return grant.domains().register(body)


@router.get("", response_model=list[Domain], **access(Access.PUBLIC))
def list_domains(
    grant: Granted,
    published: Annotated[
        bool | None, Query(description="Only published domains, or only unpublished ones; all by default.")
    ] = None,
    include_archived: Annotated[bool, Query(description="Include archived domains.")] = False,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Sequence[Domain]:
    """List domains, newest first. Drafts are listed only for their owners."""
    return grant.domains().list(
        published=published, archived=include_archived, after=cursor, limit=MOST if limit is None else limit
    )


@router.get("/{domain_id}", response_model=Domain, **access(Access.READER))
def get_domain(domain_id: DomainId, grant: Granted) -> Domain:
    """Return a domain. Published and formerly published ones are visible to everyone, drafts to their owners."""
    return grant.domain(domain_id).document()


@router.patch("/{domain_id}", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def update_domain(domain_id: DomainId, body: DomainChange, grant: Granted) -> Domain:
    """Change a domain. Fields that are left out remain unchanged, and equal values change nothing.

    Once a version of the vow has been run, its rules and the scoring are fixed: give a changed vow a new version. 409
    for a violation of this, for archived domains, and for fields that come from the manifest of a submitted
    environment.
    """
    return grant.own_domain(domain_id).change(body)


@router.post("/{domain_id}/publish", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def publish(domain_id: DomainId, grant: Granted) -> Domain:
    """Publish a draft or an archived domain. Has no effect on a published one."""
    return grant.own_domain(domain_id).publish()


@router.post("/{domain_id}/unpublish", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def unpublish(domain_id: DomainId, grant: Granted) -> Domain:
    """Make a published domain a draft again. 409 if it is not published."""
    return grant.own_domain(domain_id).unpublish()


@router.post("/{domain_id}/archive", response_model=Domain, **access(Access.INSIDER))
def archive(domain_id: DomainId, grant: Granted) -> Domain:
    """Remove a domain from lists and leaderboards, and make its public runs private. Has no effect when repeated."""
    return grant.own_domain(domain_id).archive()


@router.get("/{domain_id}/usage", response_model=DomainUsage, **access(Access.READER))
def get_domain_usage(domain_id: DomainId, grant: Granted) -> DomainUsage:
    """Return usage counts of a domain: over all runs for its owner, over readable runs for others."""
    return grant.domain(domain_id).usage()


@router.get("/{domain_id}/protocols", response_model=list[OfficialProtocol], **access(Access.READER))
def list_protocols(domain_id: DomainId, grant: Granted) -> Sequence[OfficialProtocol]:
    """List the protocols of a domain's official runs, newest first."""
    return grant.domain(domain_id).protocols()


@router.post(
    "/{domain_id}/protocols",
    status_code=201,
    response_model=OfficialProtocol,
    responses=refused(409),
    **access(Access.INSIDER),
)
def create_protocol(domain_id: DomainId, body: OfficialProtocolInput, grant: Granted) -> OfficialProtocol:
    """Declare the terms of official runs of a domain from now on, in the environment that runs use now.

    Changed terms create a new version with an empty official leaderboard; the leaderboards of earlier versions remain.
    Equal terms change nothing. 409 if the environment takes no seeds or failed its author's check.
    """
    return grant.own_domain(domain_id).declare_protocol(body)
