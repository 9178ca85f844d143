"""What tokens are signed with."""

from mesocosm.store.part import Part


class SigningKeys(Part):
    """What tokens are signed with."""
