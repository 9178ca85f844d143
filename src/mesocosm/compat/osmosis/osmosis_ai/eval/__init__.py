"""Graders of older rollouts."""
