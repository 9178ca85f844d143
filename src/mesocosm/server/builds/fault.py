"""What goes wrong in a build, in words for the author."""

from pathlib import Path

from mesocosm.core.failure import InfrastructureError, MesocosmError
from mesocosm.sandboxes.enclosure import watch
from mesocosm.sandboxes.enclosure.disk import free


class BuildFault(MesocosmError):
    """A submission cannot be built. The message is for its author: what happened, on what, and what to do next."""


class BuildLost(MesocosmError):
    """The version is built by somebody else by now, or was deleted: whoever built it just stops."""


def no_room(folder: Path) -> InfrastructureError | None:
    """Return what to say where this machine has no room left, which is no fault of an author; None where it has."""
    if free([folder]) >= watch.LEAST_FREE:
        return None
    return InfrastructureError(
        f"the disk of its worker is full, less than {watch.LEAST_FREE >> 20} MB are free; those who run this platform "
        "have to make room"
    )
