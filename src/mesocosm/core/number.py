"""Numbers as people and models write them.

Needs the standard library alone: what grades rollouts reads numbers inside their own environments too.
"""

import re

_FRACTION = re.compile(r"\\[dt]?frac\s*+\{\s*+(-?\d{1,15})\s*+\}\s*+\{\s*+(\d{1,15})\s*+\}")
_MIXED = re.compile(r"(?<![\d.,/])(-?)(?:(\d{1,9})\s++)?(\d{1,15})\s*+/\s*+(\d{1,15})(?![\d.,/]*\d)")
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.)])-)?[$€£]?[^\S\n]?(?P<digits>(?<![\w.])(?:\d[\d,]*)?\.?\d+)(?:[eE](?P<power>[+-]?\d{1,2}))?"
    r"(?:[^\S\n]*+(?P<percent>%)|[^\S\n]++(?P<scale>thousand|million|billion)\b)?"
)
_SCALES = {None: 1.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_MARKUP = str.maketrans({"−": "-", "–": "-", "*": " ", "`": " ", "\u00a0": " ", "\u202f": ""})
_LATEX = re.compile(r"\\text\s*+\{[^{}]*\}|\\[a-zA-Z]+|\\(?=[$%,!])|[{}]")
_LONGEST = 40
"""Digits of a number; longer ones are what a model writes that cannot stop."""
_AMBIGUOUS = frozenset((0.0, 1.0))


def values(text: str, *, percent: bool = False) -> frozenset[float]:
    """Return the different numbers of a text; of an equation those behind its last equals sign.

    Signs, thousands separators, currencies, exponents, fractions (`3/4`, `1 1/2`, `\\frac{3}{4}`) and the words
    thousand, million and billion are understood. With `percent`, 25% is 0.25, else it is 25. A number of more than 40
    digits makes the text ambiguous.
    """
    plain = _plain(text)
    plain = plain.rpartition("=")[2] if "=" in plain else plain
    return _fractions(plain) | _numbers(_MIXED.sub(" ", plain), percent=percent)


def single(text: str, *, percent: bool = False) -> float | None:
    """Return the only number of a text as `values` reads it, None where there is none or several different ones."""
    return only(values(text, percent=percent))


def only(found: frozenset[float]) -> float | None:
    """Return the only one of some numbers, None where there is none or several."""
    return next(iter(found)) if len(found) == 1 else None


def spellings(text: str) -> list[str]:
    """Return the numbers of a text as they are written, fractions included."""
    plain = _plain(text)
    fractions = list(_MIXED.finditer(plain))
    bare = list(plain)
    for hit in fractions:
        bare[hit.start() : hit.end()] = " " * (hit.end() - hit.start())
    numbers = _NUMBER.finditer("".join(bare))
    return [hit[0].strip() for hit in sorted([*fractions, *numbers], key=re.Match.start)]


def _plain(text: str) -> str:
    plain = _FRACTION.sub(r" \1/\2 ", text.translate(_MARKUP).replace("{,}", ","))
    return _LATEX.sub(" ", plain)


def _fractions(text: str) -> frozenset[float]:
    found = set()
    for sign, whole, top, bottom in _MIXED.findall(text):
        if int(bottom):
            value = int(whole or 0) + int(top) / int(bottom)
            found.add(-value if sign else value)
    return frozenset(found)


def _numbers(text: str, *, percent: bool) -> frozenset[float]:
    found = set()
    for hit in _NUMBER.finditer(text):
        if len(hit["digits"]) > _LONGEST:
            return _AMBIGUOUS
        value = float(hit["digits"].replace(",", "")) * 10.0 ** int(hit["power"] or 0) * _SCALES[hit["scale"]]
        value = value / 100 if percent and hit["percent"] else value
        found.add(-value if hit["sign"] else value)
    return frozenset(found)
