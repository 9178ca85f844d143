"""Sign-ins: refresh tokens and browsers."""

from mesocosm.store.part import Part


class Sessions(Part):
    """Sign-ins: refresh tokens and browsers."""
