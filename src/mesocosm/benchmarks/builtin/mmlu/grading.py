"""Find the option that a reply chooses."""

from mesocosm.core.conclusion import answer_of
from mesocosm.core.option import chosen_option

LETTERS = "ABCD"
_LONGEST = 20_000
"""Number of characters at the end of a reply that are searched for statements."""


def chosen(reply: str) -> str | None:
    """Return the letter that a reply chooses, or None if it chooses none or several."""
    return chosen_option(answer_of(reply)[-_LONGEST:], LETTERS).letter
