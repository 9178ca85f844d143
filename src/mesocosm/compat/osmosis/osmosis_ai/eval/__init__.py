"""Graders used by older rollouts."""
