"""Processes that build environments and play runs."""
