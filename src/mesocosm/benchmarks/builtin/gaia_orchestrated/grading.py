"""Quasi-exact match, as described in GAIA's paper (Mialon et al. 2023, section 3.2) and its public scorer.

A number is compared as a number, a list item by item in order, anything else as text without case, white space and
punctuation. An answer that hedges or lists candidates therefore does not match.
"""

import math
import re
import string

_FINAL = re.compile(r"^[ \t*_#>]*FINAL ANSWER\s*:[ \t*_]*(.*?)[ \t*_]*$", re.IGNORECASE | re.MULTILINE)
_LIST = re.compile(r"[,;]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
MOST_CHARACTERS = 2_000
"""Longer answers are wrong; no question has such a long answer."""


def final_answer(text: str) -> str | None:
    """Return the answer in `FINAL ANSWER: …`; None if there is none, or several that differ."""
    found = {answer.strip() for answer in _FINAL.findall(text)}
    return found.pop() if len(found) == 1 else None


def correct(answer: str, gold: str) -> bool:
    """Return whether an answer is the gold one."""
    if not answer.strip() or len(answer) > MOST_CHARACTERS:
        return False
    wanted = number(gold)
    if wanted is not None:
        given = number(answer)
        return given is not None and math.isclose(given, wanted, rel_tol=1e-9, abs_tol=1e-12)
    if _LIST.search(gold):
        items, golds = _LIST.split(answer), _LIST.split(gold)
        return len(items) == len(golds) and all(map(_same, items, golds))
    return plain(answer) == plain(gold)


def number(text: str) -> float | None:
    """Return the number that a text is, without `$`, `%` and thousands separators; None for any other text."""
    stripped = re.sub(r"[$%,]", "", text).strip()
    return float(stripped) if _NUMBER.fullmatch(stripped) else None


def plain(text: str) -> str:
    """Return a text normalized for comparison."""
    return "".join(text.lower().translate(str.maketrans("", "", string.punctuation)).split())


def _same(item: str, gold: str) -> bool:
    wanted = number(gold)
    if wanted is not None:
        given = number(item)
        return given is not None and math.isclose(given, wanted, rel_tol=1e-9, abs_tol=1e-12)
    # In list items punctuation is compared too.
    return "".join(item.lower().split()) == "".join(gold.lower().split())
