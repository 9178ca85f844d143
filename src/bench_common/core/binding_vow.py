"""Spaces and the binding vow."""

from mesocosm.core.space import CompositeSpace, SpaceSpec, SpaceType
from mesocosm.core.vow import BindingVow, EpisodeSemantics, RewardSpec, TechniqueDeclaration

__all__ = [
    "BindingVow",
    "CompositeSpace",
    "EpisodeSemantics",
    "RewardSpec",
    "SpaceSpec",
    "SpaceType",
    "TechniqueDeclaration",
]
