# mypy: ignore-errors
"""What the agent can do with the ledger."""

from bookkeeping.accounts import Ledger
from bookkeeping.tools import TOOLS

__all__ = ["TOOLS", "Ledger"]
