"""Tokens that people make for scripts."""

from mesocosm.store.part import Part


class PersonalTokens(Part):
    """Tokens that people make for scripts."""
