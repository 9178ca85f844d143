"""Conversations with an agent that directs other agents through a registry of tasks."""
