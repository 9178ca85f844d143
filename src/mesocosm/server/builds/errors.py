"""Errors of a build, with messages for the author of the environment."""

from pathlib import Path

from mesocosm.core.failure import InfrastructureError, MesocosmError
from mesocosm.sandboxes import watches
from mesocosm.sandboxes.disk import free


class BuildError(MesocosmError):
    """A submission cannot be built. The message says what happened, to which object, and what to do next."""


class BuildLeaseLost(MesocosmError):
    """The version was deleted, or another worker builds it now: stop and write nothing."""


def disk_full_error(folder: Path) -> InfrastructureError | None:
    """Return the error if the disk is full, which is not the author's fault; None if there is space."""
    if free([folder]) >= watches.LEAST_FREE:
        return None
    return InfrastructureError(
        f"the disk of its worker is full, less than {watches.LEAST_FREE >> 20} "
        "MB are free; an administrator "
        "has to make room"
    )
