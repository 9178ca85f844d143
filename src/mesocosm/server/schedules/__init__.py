"""Schedules of evaluation runs: their times, and submitting the runs that are due."""
