"""People without an account, for a few days."""

from mesocosm.store.part import Part


class Guests(Part):
    """People without an account, for a few days."""
