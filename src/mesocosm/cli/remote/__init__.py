"""Shared parts of commands that talk to a server, and commands for its runs."""
