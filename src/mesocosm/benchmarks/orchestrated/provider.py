"""Providers of the work: the run's model in our own tool loop, or an installed coding agent."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from mesocosm.benchmarks.orchestrated.capability import CAPABILITIES
from mesocosm.core.failure import Incompatible, UnknownName
from mesocosm.core.registry import fold, suggestion

NATIVE = "mesocosm"
_OFFLINE = tuple(name for name in CAPABILITIES if name not in {"research.web_search", "research.web_browse"})


@dataclass(frozen=True, slots=True)
class AgentProvider:
    """A provider. An external one has `programs`, of which the first that is found on PATH is started.

    `declared` are the capabilities of an external one; the native provider declares the tools that it is offered. One
    that is not `confined` runs commands of the model as the user.
    """

    name: str
    programs: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    confined: bool = True

    @property
    def program(self) -> str | None:
        """The program to start; None for the native provider and if no program is installed."""
        return next((found for found in map(shutil.which, self.programs) if found), None)

    @property
    def absent(self) -> str:
        """Why the provider cannot be used here; empty if it can."""
        if not self.programs or self.program is not None:
            return ""
        return f"{self.name}: there is no program {' or '.join(self.programs)} on PATH"


PROVIDERS = (
    AgentProvider(NATIVE),
    AgentProvider("claude-code", ("claude",), CAPABILITIES),
    AgentProvider("codex", ("codex",), _OFFLINE),
    AgentProvider("swe-agent", ("mini",), _OFFLINE, confined=False),
    AgentProvider("opencode", ("opencode",), _OFFLINE, confined=False),
)


def find_provider(name: str) -> AgentProvider:
    """Return a provider by name, ignoring case and treating hyphen and underscore alike. Raises UnknownName."""
    for provider in PROVIDERS:
        if fold(provider.name) == fold(name):
            return provider
    raise UnknownName(f"no provider is called {name!r}{suggestion(name, [known.name for known in PROVIDERS])}")


def chosen(subject: str, names: Iterable[str] | None) -> tuple[AgentProvider, ...]:
    """Return the named providers without duplicates; by default the native one and all that are installed.

    A provider that is not installed is kept if another one can be used. Raises UnknownName, Incompatible.
    """
    if not names:
        return tuple(provider for provider in PROVIDERS if not provider.absent)
    found = tuple(dict.fromkeys(map(find_provider, names)))
    if all(provider.absent for provider in found):
        hint = f"install one of them, or name the provider {NATIVE!r}, which is always there"
        raise Incompatible(subject, [*(provider.absent for provider in found), hint])
    return found
