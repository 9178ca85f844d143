"""Agents: the step loop around a model, and its techniques."""
