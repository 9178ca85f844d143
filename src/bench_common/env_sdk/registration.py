"""Register domains on a platform."""

from mesocosm.client.registration import publish_domain, register_domain
from mesocosm.environments.domain import DomainConfig

__all__ = ["DomainConfig", "publish_domain", "register_domain"]
