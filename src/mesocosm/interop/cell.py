"""Cells of tables that spreadsheets open."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Return text that no spreadsheet takes for a formula: one that begins like it gets an apostrophe in front."""
    text = text.replace("\0", "\ufffd")
    return f"'{text}" if text.startswith(_FORMULA) else text
