"""A client of the platform under the import name of the original package."""

from mesocosm import __version__
from swecc_mesocosm.client import BenchClient

__all__ = ["BenchClient", "__version__"]
