"""The older orchestrator's documents, made from the store: its list of runs, and the file that its viewer read."""

from mesocosm.platform.orchestrator.history import shown_runs
from mesocosm.platform.orchestrator.viewer_data import NAME, viewer_data, write_viewer_data

__all__ = ["NAME", "shown_runs", "viewer_data", "write_viewer_data"]
