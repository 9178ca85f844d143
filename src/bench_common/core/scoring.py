"""Scoring definitions."""

from mesocosm.core.scoring import MetricDef, ScoringConfig

__all__ = ["MetricDef", "ScoringConfig"]
