"""Submitted environments and their versions."""

from mesocosm.store.part import Part


class Environments(Part):
    """Submitted environments and their versions."""
