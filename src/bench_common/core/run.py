"""Runs, episodes and trace events as a platform shows them."""

from mesocosm.client.documents.episode import Episode, TraceEvent, TraceEventType
from mesocosm.client.documents.run import AgentConfig, Run, RunConfig, RunStatus, TechniqueConfig
from mesocosm.core.episode import EpisodeStatus

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
