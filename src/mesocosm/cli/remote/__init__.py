"""Shared parts of commands that talk to a platform, and commands for its runs."""
