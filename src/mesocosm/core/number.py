"""Parse numbers as people and models write them.

Uses the standard library only, because graders of rollouts import this inside their own environments.
"""

import re
from collections.abc import Iterator

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
"""Maximum digits of a number; longer ones come from a model that repeats itself."""
_AMBIGUOUS = frozenset((0.0, 1.0))


def values(text: str, *, percent: bool = False) -> frozenset[float]:
    """Return the distinct numbers in a text; in an equation, those after the last equals sign.

    Understands signs, thousands separators, currencies, exponents, fractions (`3/4`, `1 1/2`, `\\frac{3}{4}`) and the
    words thousand, million and billion. With `percent`, 25% is 0.25, otherwise 25. A number of more than 40 digits
    makes the text ambiguous.
    """
    plain = _plain(text)
    plain = plain.rpartition("=")[2] if "=" in plain else plain
    return _fractions(plain) | _numbers(_MIXED.sub(" ", plain), percent=percent)


def single(text: str, *, percent: bool = False) -> float | None:
    """Return the only number in a text as `values` reads it; None if there is none or more than one."""
    return only(values(text, percent=percent))


def only(found: frozenset[float]) -> float | None:
    """Return the only element; None if there is none or more than one."""
    return next(iter(found)) if len(found) == 1 else None


def spellings(text: str) -> list[str]:
    """Return the numbers in a text as written, fractions included."""
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


MOST_STATED = 3
"""Maximum number of different answers that a reply may state in sequence; more is guessing."""
_STATED = re.compile(
    r"^[^\S\n]*(?:[>#*_-]+[^\S\n]*)?(?:the\s+)?(?:final\s+)?(?:answer|a)[^\S\n]*[*_]*[^\S\n]*:"
    r"|\#\#\#\#"
    r"|\\boxed(?=\{)"
    r"|\b(?:final\s+)?answer\s+is\b(?!\s+not\b)",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE = re.compile(r"\n|(?<=[^\W_])[.;](?=\s)|[!?](?=\s|$)")
_DENIED = re.compile(r"\bnot\b|n['’]t\b|\bcannot\b", re.IGNORECASE)
_STATEMENT = 400
_BRACED = 200
_CONCLUSION = 300
"""Maximum length in characters of a sentence that counts as a conclusion."""


def stated_number(reply: str, *, percent: bool = False) -> float | None:
    """Return the final number of a reply; None if it states none, ends with several values, or is guessing.

    A statement of several values is ignored unless it is the last. `percent` as in `values`. The work grows with the
    length of `reply`; pass only its end if it may be long.
    """
    found = [numbers for numbers in (values(text, percent=percent) for text in statements(reply)) if numbers]
    if not found:
        return single(last_sentence(reply), percent=percent)
    attempts = {only(numbers) for numbers in found} - {None}
    return only(found[-1]) if len(attempts) <= MOST_STATED else None


def statements(reply: str) -> Iterator[str]:
    """Yield what follows each answer marker in a reply: the rest of the sentence, or the content of the braces."""
    for found in _STATED.finditer(reply):
        if found[0].endswith("boxed"):
            yield _braced(reply, found.end())
        else:
            rest = reply[found.end() : found.end() + _STATEMENT].lstrip(" \t*_:=")
            # The value may be alone on the next line.
            yield first_sentence(rest.lstrip("\n"))


def first_sentence(text: str) -> str:
    """Return the text up to the end of its first sentence or line."""
    return _SENTENCE.split(text, maxsplit=1)[0]


def last_sentence(reply: str) -> str:
    """Return the last sentence; "" if it is a question, a negation, or too long to be a conclusion."""
    end = reply.rstrip()[-2 * _CONCLUSION :]
    if end.endswith("?"):
        return ""
    sentence = [part for part in _SENTENCE.split(end) if part.strip()][-1:]
    fits = bool(sentence) and len(sentence[0]) <= _CONCLUSION and not _DENIED.search(sentence[0])
    return sentence[0] if fits else ""


def _braced(text: str, start: int) -> str:
    depth = 0
    for place in range(start, min(start + _BRACED, len(text))):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[start + 1 : place]
    return ""
