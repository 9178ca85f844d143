"""Who did what."""

from mesocosm.store.part import Part


class Audit(Part):
    """Who did what."""
