"""What goes wrong in a build, in words for the author."""

from mesocosm.core.failure import MesocosmError


class BuildFault(MesocosmError):
    """A submission cannot be built. The message is for its author: what happened, on what, and what to do next."""


class BuildLost(MesocosmError):
    """The version is built by somebody else by now, or was deleted: whoever built it just stops."""
