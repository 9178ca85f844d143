"""Errors of a build, worded for the author of the environment."""

from pathlib import Path

from mesocosm.core.failure import InfrastructureError, MesocosmError
from mesocosm.sandboxes import watches
from mesocosm.sandboxes.disk import free


class BuildError(MesocosmError):
    """A submission cannot be built. The message says what happened, to which object, and what to do next."""


class BuildLeaseLost(MesocosmError):
    """The version was deleted, or another worker builds it by now: stop and write nothing."""


def disk_full_error(folder: Path) -> InfrastructureError | None:
    """Return the error of a full disk, which is no fault of the author; None where there is room."""
    if free([folder]) >= watches.LEAST_FREE:
        return None
    return InfrastructureError(
        f"the disk of its worker is full, less than {watches.LEAST_FREE >> 20} "
        "MB are free; an administrator "
        "has to make room"
    )
