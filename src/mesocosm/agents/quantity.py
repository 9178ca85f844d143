"""Find numbers in free text."""

import math
import re
from collections.abc import Sequence
from typing import Any

from mesocosm.agents.chosen_option import MARKUP, Token

_NUMBER = r"[-+−]?+(?:\d{1,3}(?:,\d{3}){1,6}(?!\d)|\d++)?+(?:\.\d++)?+(?:(?<=\d)[eE][-+]?\d{1,4})?+"
_WHOLE = re.compile(_NUMBER)
_TOKEN = re.compile(rf"(?<![\w.])(?=[-+−]?\.?\d)(?P<number>{_NUMBER})(?!\w)|[^\W_]++(?:['’][^\W_]++)*+|\n|[^\w\s]|_")
_LONGEST = 400


class Quantity:
    """Any finite number. Implements chosen_option.Reader."""

    def exact(self, text: str) -> float | None:
        """Return the number that the whole text represents, None if there is none or it is not finite."""
        bare = text.strip(MARKUP.replace(".", ""))
        bare = bare.rstrip(".") if bare[:-1] else bare
        return number_of(bare) if 0 < len(bare) <= _LONGEST and _WHOLE.fullmatch(bare) else None

    def tokens(self, text: str) -> list[Token]:
        """Split into numbers, words and symbols."""
        return [Token(match[0].casefold(), match.start(), match.end()) for match in _TOKEN.finditer(text)]

    def match(self, text: str, tokens: Sequence[Token], at: int) -> tuple[int, Any]:
        """Return the number at token `at` with its length 1; (0, None) if there is none."""
        key = tokens[at].key
        if not (key[-1].isdigit() and len(key) <= _LONGEST):
            return 0, None
        value = number_of(text[tokens[at].start : tokens[at].end])
        return (0, None) if value is None else (1, value)


def number_of(text: str) -> float | None:
    """Return a number in digits, with or without thousands commas; None for anything else or if it is not finite."""
    try:
        number = float(text.replace(",", "").replace("−", "-"))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
