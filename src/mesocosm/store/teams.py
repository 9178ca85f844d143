"""Teams and who is in them."""

from mesocosm.store.part import Part


class Teams(Part):
    """Teams and who is in them."""
