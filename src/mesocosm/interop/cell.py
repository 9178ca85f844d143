"""Make table cells safe for spreadsheets."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Return text that no spreadsheet treats as a formula, by prefixing an apostrophe if needed."""
    text = text.replace("\0", "\ufffd")
    return f"'{text}" if text.startswith(_FORMULA) else text
