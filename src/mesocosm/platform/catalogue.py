"""The models that people may run, and what stands behind each."""

from mesocosm.platform.settings import Settings


class Catalogue:
    """The models of a platform."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
