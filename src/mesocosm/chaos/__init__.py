"""Run a command repeatedly under faults and compare the records. `trials` is the main module."""
