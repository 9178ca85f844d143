"""What a built environment is to those who run on it: its domain."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mesocosm.platform.service import Service
    from mesocosm.store.environments import EnvironmentRow, VersionRow


def publish_environment(service: "Service", environment: "EnvironmentRow", version: "VersionRow") -> str:
    """Return the id of the domain of a built environment, created or brought up to the manifest of `version`."""
    raise NotImplementedError


def retire_environment(service: "Service", environment: "EnvironmentRow") -> None:
    """Archive the domain of an environment that is deleted, and make its public runs private."""
    raise NotImplementedError
