"""Runs, episodes and trace events in the platform's format."""

from mesocosm.compat.swecc.documents import Episode, Run, RunStatus, TraceEvent, TraceEventType
from mesocosm.core.episode import EpisodeStatus
from mesocosm.server.schemas.run_request import AgentConfig, RunConfig, TechniqueConfig

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
