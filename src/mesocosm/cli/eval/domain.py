"""What `eval test` and `eval run` need to know of a domain on the platform."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.domain import Domain


def vow_version(client: "Client", domain_id: str, given: str | None, domain: "Domain | None" = None) -> str:
    """Return the version of a domain's binding vow: the given one, else the present one."""
    return given or (domain or client.domains.get(domain_id)).binding_vow.version
