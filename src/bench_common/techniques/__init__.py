"""Techniques by name."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mesocosm.core.registry import TECHNIQUES

if TYPE_CHECKING:
    from mesocosm.agents.technique import Technique

__all__ = ["TECHNIQUE_REGISTRY"]


class _Registered(Mapping[str, "type[Technique]"]):
    """Every installed technique by name; classes are imported on access."""

    def __getitem__(self, name: str) -> "type[Technique]":
        from mesocosm.agents.technique import technique_class

        if name not in self:
            raise KeyError(name)
        return technique_class(name)

    def __contains__(self, name: object) -> bool:
        return any(entry.name == name for entry in TECHNIQUES.entries())

    def __iter__(self) -> Iterator[str]:
        return (entry.name for entry in TECHNIQUES.entries())

    def __len__(self) -> int:
        return len(TECHNIQUES.entries())


TECHNIQUE_REGISTRY: Mapping[str, "type[Technique]"] = _Registered()
