"""Processes that build and play."""

from mesocosm.store.part import Part


class Workers(Part):
    """Processes that build and play."""
