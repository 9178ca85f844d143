"""Registering a domain at a platform."""

from mesocosm.client.documents.domain import DomainConfig
from mesocosm.environments.registration import publish_domain, register_domain

__all__ = ["DomainConfig", "publish_domain", "register_domain"]
