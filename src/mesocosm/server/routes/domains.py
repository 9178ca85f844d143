"""`/api/domains`: what runs are started on."""

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
"""Domains of a list without a limit."""

DomainId = Annotated[str, Path(max_length=200, description="the id of a domain")]
Limit = Annotated[int | None, Query(ge=1, le=100, description=f"how many; up to {MOST} by default")]
Cursor = Annotated[str | None, Query(max_length=200, description="the id of the last one of the page before")]


@router.post("", status_code=201, response_model=Domain, responses=refused(409), **access(Access.MEMBER))
def create_domain(body: DomainInput, grant: Granted) -> Domain:
    """Register a domain that runs at an address of its own, and publish it.

    The caller becomes its owner. Vow and scoring are checked by all rules, and the address must be one of the public
    internet. 409 where the id is taken: change that domain with PATCH.
    """
    return grant.domains().register(body)


@router.get("", response_model=list[Domain], **access(Access.PUBLIC))
def list_domains(
    grant: Granted,
    published: Annotated[bool | None, Query(description="only published domains, or only others")] = None,
    include_archived: Annotated[bool, Query(description="archived domains too")] = False,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Sequence[Domain]:
    """List domains, the newest first. Drafts are listed for their owners alone."""
    return grant.domains().list(
        published=published, archived=include_archived, after=cursor, limit=MOST if limit is None else limit
    )


@router.get("/{domain_id}", response_model=Domain, **access(Access.READER))
def get_domain(domain_id: DomainId, grant: Granted) -> Domain:
    """Return a domain. Published and formerly published ones are for everybody, drafts for their owners."""
    return grant.domain(domain_id).document()


@router.patch("/{domain_id}", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def update_domain(domain_id: DomainId, body: DomainChange, grant: Granted) -> Domain:
    """Change a domain. Fields that are left out stay, and the same values again change nothing.

    Once a version of the vow has been run, its rules and the scoring are fixed: give a changed vow a new version. 409
    for that, for archived domains, and for fields that come from the manifest of a submitted environment.
    """
    return grant.own_domain(domain_id).change(body)


@router.post("/{domain_id}/publish", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def publish(domain_id: DomainId, grant: Granted) -> Domain:
    """Publish a draft or an archived domain. Does nothing to a published one."""
    return grant.own_domain(domain_id).publish()


@router.post("/{domain_id}/unpublish", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def unpublish(domain_id: DomainId, grant: Granted) -> Domain:
    """Make a published domain a draft again. 409 where it is not published."""
    return grant.own_domain(domain_id).unpublish()


@router.post("/{domain_id}/archive", response_model=Domain, **access(Access.INSIDER))
def archive(domain_id: DomainId, grant: Granted) -> Domain:
    """Remove a domain from lists and boards, and make its public runs private. Does nothing the second time."""
    return grant.own_domain(domain_id).archive()


@router.get("/{domain_id}/usage", response_model=DomainUsage, **access(Access.READER))
def get_domain_usage(domain_id: DomainId, grant: Granted) -> DomainUsage:
    """Return how much a domain was used: by all runs for its owner, by runs that they may read for others."""
    return grant.domain(domain_id).usage()


@router.get("/{domain_id}/protocols", response_model=list[OfficialProtocol], **access(Access.READER))
def list_protocols(domain_id: DomainId, grant: Granted) -> Sequence[OfficialProtocol]:
    """List the protocols of a domain's official runs, the newest first."""
    return grant.domain(domain_id).protocols()


@router.post(
    "/{domain_id}/protocols",
    status_code=201,
    response_model=OfficialProtocol,
    responses=refused(409),
    **access(Access.INSIDER),
)
def create_protocol(domain_id: DomainId, body: OfficialProtocolInput, grant: Granted) -> OfficialProtocol:
    """Declare how official runs of a domain are played from now on, in the environment that runs use now.

    Changed terms make a new version with an empty official board; the boards of earlier versions stay. The same terms
    again change nothing. 409 where the environment takes no seeds or failed its author's check.
    """
    return grant.own_domain(domain_id).declare_protocol(body)
