"""How often something was tried lately."""

from mesocosm.store.part import Part


class Attempts(Part):
    """How often something was tried lately."""
