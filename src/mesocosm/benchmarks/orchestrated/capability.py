"""Capabilities that an instance requires, a provider declares, and tool calls prove."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mesocosm.core.failure import UsageError
from mesocosm.core.registry import suggestion

CAPABILITIES = (
    "research.web_search",
    "research.web_browse",
    "research.docs_lookup",
    "research.code_exec",
    "code.read",
    "code.write",
    "code.edit",
    "code.search",
    "code.shell",
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the capabilities of one cell; `observed` comes from the tool calls that were made."""

    required: tuple[str, ...]
    declared: tuple[str, ...]
    observed: tuple[str, ...] = ()

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Required capabilities that were not declared."""
        return tuple(name for name in self.required if name not in self.declared)

    @property
    def unobserved(self) -> tuple[str, ...]:
        """Required capabilities that were not used."""
        return tuple(name for name in self.required if name not in self.observed)

    @property
    def compliance(self) -> float:
        """Share of the required capabilities that was used; 1 without requirements."""
        return 1.0 - len(self.unobserved) / len(self.required) if self.required else 1.0

    def data(self) -> dict[str, Any]:
        """Return the evidence as it is stored with an episode."""
        undeclared = [f"{name} is required and not declared" for name in self.undeclared]
        unobserved = [f"{name} is required and was not used" for name in self.unobserved]
        return {
            "required": list(self.required),
            "declared": list(self.declared),
            "observed": list(self.observed),
            "violations": undeclared + unobserved,
        }


def read_evidence(data: Any) -> Evidence:
    """Return the evidence that is stored with an episode; empty if there is none."""
    kept: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    parts = (tuple(str(name) for name in kept.get(part) or ()) for part in ("required", "declared", "observed"))
    return Evidence(*parts)


def check_capabilities(subject: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without duplicates. Raises UsageError for one that is not a capability."""
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in CAPABILITIES:
            hint = suggestion(name, list(CAPABILITIES))
            raise UsageError(f"{subject}: required_capabilities names {name!r}, which is not a capability{hint}")
    return found
