"""The base of techniques. Its hooks are those of `mesocosm.agents.technique`, which hold what was in `state` before."""

from mesocosm.agents.technique import Technique

__all__ = ["Technique"]
