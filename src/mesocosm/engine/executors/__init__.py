"""Executors: where the episodes of a session are played."""
