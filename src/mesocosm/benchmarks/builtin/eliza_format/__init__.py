"""Checks whether a model answers in a form that an agent's program can parse, with the right content."""
