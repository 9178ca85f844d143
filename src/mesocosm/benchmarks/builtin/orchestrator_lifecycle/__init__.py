"""Conversations with an agent that manages other agents through a task registry."""
