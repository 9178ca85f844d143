"""Names that people give their runs."""

import re
import unicodedata

from mesocosm.core.failure import UsageError

LONGEST = 96
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{0,12})?", re.IGNORECASE)


def check_name(name: str) -> None:
    """Raise UsageError for a name by which a run could not be found, shown or downloaded."""
    wrong = _wrong(name) if name else ""
    if wrong:
        raise UsageError(f"--name {name[:LONGEST]!r}: {wrong}; for example --name prompt-2.1")


def _wrong(name: str) -> str:
    if len(name) > LONGEST:
        return f"a name has at most {LONGEST} characters, this has {len(name)}"
    if name == "last":
        return "this word names the newest run"
    if _ID.fullmatch(name):
        return "this looks like the id of a run, or its beginning"
    if not name[0].isalnum():
        return "a name begins with a letter or digit"
    if any(unicodedata.category(character)[0] in "CZ" and character != " " for character in name):
        return "a name has no control characters"
    if name != name.strip() or "/" in name or "\\" in name:
        return "a name has no / or \\, and no space at its ends"
    return ""
