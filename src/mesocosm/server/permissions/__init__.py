"""Permissions: `grant.py`, and the granted objects that it returns."""

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.service import Service


class GrantedObject:
    """An object that a caller may use. It keeps the store private and returns only what the caller may see.

    A test calls every public method and property of each subclass as each role.
    """

    def __init__(self, service: Service, viewer: Viewer) -> None:
        self._service = service
        self._store = service.store
        self._viewer = viewer
