"""Runs, episodes and trace events as a platform shows them."""

from mesocosm.environments.domain import (
    AgentConfig,
    Episode,
    EpisodeStatus,
    Run,
    RunConfig,
    RunStatus,
    TechniqueConfig,
    TraceEvent,
    TraceEventType,
)

__all__ = [
    "AgentConfig",
    "Episode",
    "EpisodeStatus",
    "Run",
    "RunConfig",
    "RunStatus",
    "TechniqueConfig",
    "TraceEvent",
    "TraceEventType",
]
