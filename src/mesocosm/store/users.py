"""People with an account."""

from mesocosm.store.part import Part


class Users(Part):
    """People with an account."""
