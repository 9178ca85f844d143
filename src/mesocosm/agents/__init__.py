"""Agents: the step loop around a model, and the techniques that it can use."""
