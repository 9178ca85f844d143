"""Recognising who asks, and everything around signing in."""

from fastapi import Request

from mesocosm.platform.principal import NOBODY, Principal
from mesocosm.platform.settings import Settings
from mesocosm.store.database import Database


class Accounts:
    """Accounts of a platform."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def recognise(self, request: Request) -> Principal:
        """Return who asks. Never raises: who cannot be recognised is nobody."""
        return NOBODY
