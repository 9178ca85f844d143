"""Domains."""

from mesocosm.client.documents.domain import Domain, DomainStatus, EnvironmentEndpoint, ResourceSpec, VersionEntry

__all__ = ["Domain", "DomainStatus", "EnvironmentEndpoint", "ResourceSpec", "VersionEntry"]
