"""Agents, clients and models that run episodes."""
