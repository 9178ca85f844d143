"""The older orchestrator's documents, made from the store: its list of runs, and the file that its viewer read."""

from mesocosm.server.orchestrator.document import NAME, viewer_data, write_viewer_data
from mesocosm.server.orchestrator.history import shown_runs

__all__ = ["NAME", "shown_runs", "viewer_data", "write_viewer_data"]
