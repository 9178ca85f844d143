"""Environments in which the episodes of a domain run: submitted ones, or remote ones at a URL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mesocosm.core.failure import UsageError
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.store.domains import DomainRow
from mesocosm.store.environments import EnvironmentRow

_CONTRACT = ("name", "detail", "tags", "binding_vow", "scoring", "system_prompt")
"""Fields of a domain's document that determine its episodes."""


@dataclass(frozen=True, slots=True)
class EnvironmentLocation:
    """A version of a submitted environment, or the URL of a remote one with the document of its domain."""

    environment_id: str | None = None
    version: int | None = None
    url: str = ""
    document: Mapping[str, Any] | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of the benchmark kind `hosted`."""
        if self.environment_id is not None:
            return {"environment": self.environment_id, "version": self.version}
        return {"env_url": self.url, "domain": dict(self.document or {})}


def domain_location(service: Service, domain: DomainRow) -> EnvironmentLocation:
    """Return the submitted environment of a domain, else its remote one. Raises Refusal 422 if it has neither."""
    endpoint = domain.document.get("endpoint")
    endpoint = endpoint if isinstance(endpoint, Mapping) else {}
    environment = service.store.environments.get(domain.environment_id) if domain.environment_id else None
    if environment is not None and environment.ready_version is not None:
        return submitted_location(environment)
    url = endpoint.get("url")
    if endpoint.get("mode", "remote") == "remote" and isinstance(url, str) and url:
        return remote_location(service, domain, url)
    raise Refusal(
        422,
        f"domain {domain.id!r} has no environment to play in; submit one with `mesocosm env submit`, or set its URL",
    )


def submitted_location(environment: EnvironmentRow) -> EnvironmentLocation:
    """Return the location of the newest ready version of a submitted environment."""
    return EnvironmentLocation(environment_id=environment.id, version=environment.ready_version)


def remote_location(service: Service, domain: DomainRow, url: str) -> EnvironmentLocation:
    """Return the location of a remote environment. Raises Refusal 422 if its URL is in the private network."""
    check_url(service, url)
    document = {"id": domain.id, **{name: domain.document[name] for name in _CONTRACT if domain.document.get(name)}}
    return EnvironmentLocation(url=url, document=document)


def check_url(service: Service, url: str) -> None:
    """Raise Refusal 422 if a URL is in the private network, unless settings allow that. Blocks on name resolution."""
    if service.settings.private_env_urls:
        return
    from mesocosm.http.public import check_public

    try:
        check_public(url)
    except UsageError as error:
        raise Refusal(422, f"the environment's URL cannot be used: {error}") from error


def check_size(service: Service, episodes: int, trials: int, *, guest: bool = False) -> None:
    """Raise Refusal 422 for more episodes than one run of this server, or of a guest, may have."""
    limit = service.settings.quota(guest=guest).episodes
    if episodes * trials > limit:
        asked = f"num_episodes {episodes}" + (f" x {trials} trials" if trials > 1 else "")
        raise Refusal(
            422, f"{asked} is more than the {limit:,} episodes that one run may have; ask for at most {limit:,}"
        )
