"""How a run is executed: plan, episodes, limits, record, numbers. Start reading at `session`."""
