"""Frameworks that can be installed here: guests, and OpenEnv, whose environments are servers."""

from mesocosm.core.failure import UnknownName
from mesocosm.core.registry import suggestion
from mesocosm.guests.kinds import KINDS, GuestKind

OPENENV = GuestKind(
    "openenv",
    "OpenEnv",
    "DIR or URL",
    ("openenv", "uvicorn", "yaml"),
    ("openenv>=0.10,<1", "uvicorn", "pyyaml"),
    module="",
)
INSTALLABLE = {**KINDS, OPENENV.name: OPENENV}
"""All of them, by name. One without a `module` is not spoken with as guests are."""


def installable(name: str) -> GuestKind:
    """Return the framework called `name`. Raises UnknownName."""
    found = INSTALLABLE.get(name)
    if found is None:
        raise UnknownName(f"no framework is called {name!r}{suggestion(name, list(INSTALLABLE))}")
    return found
