"""Execution of a run: planning, episodes, limits, recording, metrics. Start reading at `session`."""
