"""The base class of techniques, with the hooks of `mesocosm.agents.technique`; instances replace the former `state`."""

from mesocosm.agents.technique import Technique

__all__ = ["Technique"]
