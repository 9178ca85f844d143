"""`/v1/domains`: Domains."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from mesocosm.compat.swecc.documents import RunListItem
from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.auth.principal import Principal
from mesocosm.server.domains.changes import change_domain, register_domain
from mesocosm.server.domains.domains import (
    ARCHIVED,
    DRAFT,
    PUBLISHED,
    document_of,
    own_domain,
    publish_domain,
    readable_domain,
    unpublish_domain,
)
from mesocosm.server.domains.protocols import declare_protocol, protocols_of
from mesocosm.server.environments.documents import environment_documents
from mesocosm.server.problems import Refusal, refused
from mesocosm.server.run_requests.listing import run_items
from mesocosm.server.schemas.domain import Domain, DomainChange, DomainInput
from mesocosm.server.schemas.environment import SubmittedEnvironment
from mesocosm.server.schemas.protocol import OfficialProtocol, OfficialProtocolInput
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequestFilter

router = APIRouter(prefix="/v1/domains", tags=["domains"])

MOST = 1_000
"""Domains of a list for programs that do not page."""

DomainId = Annotated[str, Path(max_length=200, description="the id of a domain")]
Limit = Annotated[int | None, Query(ge=1, le=100, description=f"how many; up to {MOST} where it is left out")]
Page = Annotated[int, Query(ge=1, le=100, description="how many")]
RunCursor = Annotated[str | None, Query(max_length=200, description="the id of the last run of the page before")]
Cursor = Annotated[str | None, Query(max_length=200, description="the id of the last one of the page before")]


@router.post("", status_code=201, response_model=Domain, responses=refused(409), **access(Access.MEMBER))
def create_domain(body: DomainInput, caller: Caller, service: Served) -> Domain:
    """Register a domain that runs at an address of its own, and publish it.

    Its owner is the caller. Vow and scoring are checked by all their rules, and the address has to be one of the public
    internet. 409 where the id is taken: change it with PATCH.
    """
    return document_of(register_domain(service, caller, body))


@router.get("", response_model=list[Domain], **access(Access.PUBLIC))
def list_domains(
    caller: Caller,
    service: Served,
    published: Annotated[bool | None, Query(description="only those that are published, or that are not")] = None,
    include_archived: Annotated[bool, Query(description="those that are archived too")] = False,
    limit: Limit = None,
    cursor: Cursor = None,
) -> list[Domain]:
    """List domains, the newest first. Drafts are listed only for those whose they are."""
    statuses = {DRAFT, "testing", PUBLISHED, *([ARCHIVED] if include_archived else [])}
    if published is not None:
        statuses &= {PUBLISHED} if published else {DRAFT, "testing", ARCHIVED}
    after = None if cursor is None else service.store.domains.get(cursor)
    if cursor is not None and after is None:
        raise Refusal(422, f"there is no domain {cursor!r} to list from; give the id of the last one that you have")
    rows = service.store.domains.list(
        statuses=statuses, insider=_insider(service, caller), after=after, limit=MOST if limit is None else limit
    )
    return [document_of(row) for row in rows]


@router.get("/{domain_id}", response_model=Domain, **access(Access.READER))
def get_domain(domain_id: DomainId, caller: Caller, service: Served) -> Domain:
    """Return a domain: a published one to everybody, as one that was archived after that; a draft to whose it is."""
    return document_of(readable_domain(service, caller, domain_id))


@router.patch("/{domain_id}", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def update_domain(domain_id: DomainId, body: DomainChange, caller: Caller, service: Served) -> Domain:
    """Change a domain; what is left out stays, and the same again changes nothing.

    Once runs were made by a version of the vow, its rules and the scoring are fixed: give a changed vow a new version.
    409 for that, for archived domains, and for what the manifest of a submitted environment says.
    """
    return document_of(change_domain(service, caller, own_domain(service, caller, domain_id), body))


@router.post("/{domain_id}/publish", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def publish(domain_id: DomainId, caller: Caller, service: Served) -> Domain:
    """Show a domain to everybody, an archived one again; nothing happens to one that is published."""
    return document_of(publish_domain(service, caller, own_domain(service, caller, domain_id)))


@router.post("/{domain_id}/unpublish", response_model=Domain, responses=refused(409), **access(Access.INSIDER))
def unpublish(domain_id: DomainId, caller: Caller, service: Served) -> Domain:
    """Make a published domain a draft again, which only those see whose it is. 409 for one that is not published."""
    return document_of(unpublish_domain(service, caller, own_domain(service, caller, domain_id)))


@router.post("/{domain_id}/archive", response_model=Domain, **access(Access.INSIDER))
def archive(domain_id: DomainId, caller: Caller, service: Served) -> Domain:
    """Take a domain out of lists and boards; all its public runs become private. Nothing happens the second time."""
    row = own_domain(service, caller, domain_id)
    if row.status != ARCHIVED:
        service.store.domains.archive(row.id)
        service.store.audit.note(caller.actor, "domain.archive", f"domain:{row.id}")
    return document_of(service.store.domains.get(row.id) or row)


@router.get("/{domain_id}/protocols", response_model=list[OfficialProtocol], **access(Access.READER))
def list_protocols(domain_id: DomainId, caller: Caller, service: Served) -> list[OfficialProtocol]:
    """List the protocols that official runs of a domain were and are played by, the newest first."""
    return list(protocols_of(service, readable_domain(service, caller, domain_id).id))


@router.post(
    "/{domain_id}/protocols",
    status_code=201,
    response_model=OfficialProtocol,
    responses=refused(409),
    **access(Access.INSIDER),
)
def create_protocol(
    domain_id: DomainId, body: OfficialProtocolInput, caller: Caller, service: Served
) -> OfficialProtocol:
    """Declare how official runs of a domain are played from now on, in the environment that runs use now.

    Other terms are a new version, which begins an empty official board; the boards of earlier versions stay. The same
    terms again change nothing. 409 where the environment takes no seeds or failed its author's check.
    """
    return declare_protocol(service, caller, own_domain(service, caller, domain_id), body)


@router.get("/{domain_id}/runs/mine", response_model=list[RunListItem], **access(Access.GUEST))
def list_own_runs(
    domain_id: DomainId, caller: Caller, service: Served, limit: Page = 50, cursor: RunCursor = None
) -> list[RunListItem]:
    """List the caller's own runs of a domain, the newest first."""
    orders = service.store.run_requests.list(
        RunRequestFilter(actor=caller.actor, domain_id=domain_id, cursor=cursor), limit=limit
    )
    if not orders:
        # Own runs stay one's own when the domain is a draft again; without any the id tells no more than to others.
        readable_domain(service, caller, domain_id)
    return run_items(service, caller, orders)


@router.get("/{domain_id}/runs/gallery", response_model=list[RunListItem], **access(Access.READER))
def list_public_runs(
    domain_id: DomainId, caller: Caller, service: Served, limit: Page = 50, cursor: RunCursor = None
) -> list[RunListItem]:
    """List the public runs of a domain that have completed, the newest first."""
    row = readable_domain(service, caller, domain_id)
    orders = service.store.run_requests.list(
        RunRequestFilter(public=True, domain_id=row.id, cursor=cursor), limit=limit
    )
    return run_items(service, caller, orders)


@router.get("/{domain_id}/environments", response_model=list[SubmittedEnvironment], **access(Access.MEMBER))
def list_environments(domain_id: DomainId, caller: Caller, service: Served) -> list[SubmittedEnvironment]:
    """List the environments behind a domain that the caller or a team of theirs submitted, the newest first."""
    teams = [] if caller.user_id is None else [team.id for team in service.store.teams.teams_of(caller.user_id)]
    rows = service.store.environments.list_of(
        user_id=caller.user_id, team_ids=teams, everybody=caller.admin, domain_id=domain_id, limit=MOST
    )
    if not rows:
        readable_domain(service, caller, domain_id)
    return environment_documents(service, rows)


def _insider(service: Service, caller: Principal) -> tuple[int | None, tuple[str, ...]] | None:
    """Return whose drafts somebody may see: None for everybody's."""
    if caller.admin:
        return None
    if not caller.member or caller.user_id is None:
        return None, ()
    return caller.user_id, tuple(team.id for team in service.store.teams.teams_of(caller.user_id))
