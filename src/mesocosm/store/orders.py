"""Runs that somebody asked a platform for."""

from mesocosm.store.part import Part


class Orders(Part):
    """Runs that somebody asked a platform for."""
