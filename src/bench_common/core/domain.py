"""Domains."""

from mesocosm.environments.domain import EnvironmentEndpoint, ResourceSpec, VersionEntry
from mesocosm.server.schemas.domain import Domain, DomainStatus

__all__ = ["Domain", "DomainStatus", "EnvironmentEndpoint", "ResourceSpec", "VersionEntry"]
