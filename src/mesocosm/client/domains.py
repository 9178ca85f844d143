"""Domains of a server, which runs are started on."""

from mesocosm.client.error import ApiError
from mesocosm.client.resource import Body, Resource, plain
from mesocosm.client.transport import segment
from mesocosm.server.schemas.domain import Domain
from mesocosm.server.schemas.environment import DomainUsage
from mesocosm.server.schemas.protocol import OfficialProtocol

CONFLICT = 409


class DomainsResource(Resource):
    """Published domains, and those that the caller owns."""

    def list(
        self,
        *,
        published: bool | None = None,
        archived: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[Domain, ...]:
        """Return domains: published ones, unpublished ones, or both (None); archived ones only on request.

        Newest first; `cursor` is the last id of the previous page.
        """
        query = {"published": published, "include_archived": archived, "limit": limit, "cursor": cursor}
        return self._many(Domain, "/api/domains", query)

    def get(self, domain_id: str) -> Domain:
        """Return one domain."""
        return self._one(Domain, "GET", _path(domain_id))

    def create(self, domain: Body) -> Domain:
        """Create a domain. Raises ApiError with status 409 if its id exists."""
        return self._one(Domain, "POST", "/api/domains", domain)

    def change(self, domain_id: str, domain: Body) -> Domain:
        """Change a domain."""
        return self._one(Domain, "PATCH", _path(domain_id), domain)

    def put(self, domain: Body) -> tuple[Domain, bool]:
        """Create a domain, or change the one with its id; return it, and whether it is new."""
        body = plain(domain)
        try:
            return self.create(body), True
        except ApiError as error:
            if error.status != CONFLICT:
                raise
        return self.change(str(body.get("id")), body), False

    def protocols(self, domain_id: str) -> tuple[OfficialProtocol, ...]:
        """Return the protocols of official runs of a domain, newest first."""
        return self._many(OfficialProtocol, f"{_path(domain_id)}/protocols")

    def declare(self, domain_id: str, terms: Body) -> OfficialProtocol:
        """Declare the protocol of official runs of a domain from now on."""
        return self._one(OfficialProtocol, "POST", f"{_path(domain_id)}/protocols", terms)

    def publish(self, domain_id: str) -> Domain:
        """Make a domain public."""
        return self._one(Domain, "POST", f"{_path(domain_id)}/publish")

    def unpublish(self, domain_id: str) -> Domain:
        """Make a domain a draft again."""
        return self._one(Domain, "POST", f"{_path(domain_id)}/unpublish")

    def archive(self, domain_id: str) -> Domain:
        """Archive a domain; its public runs become private."""
        return self._one(Domain, "POST", f"{_path(domain_id)}/archive")

    def usage(self, domain_id: str) -> DomainUsage:
        """Return usage counts of a domain."""
        return self._one(DomainUsage, "GET", f"{_path(domain_id)}/usage")


def _path(domain_id: str) -> str:
    return f"/api/domains/{segment(domain_id)}"
