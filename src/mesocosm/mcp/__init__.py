"""Servers of the Model Context Protocol: their addresses, a client for them, and the form of messages."""
