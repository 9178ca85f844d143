"""Parse numbers as people and models write them, and find the one that a reply states.

Uses the standard library only, because graders of rollouts import this inside their own environments.
"""

import re
from dataclasses import dataclass

from mesocosm.core.conclusion import Claim, answer_of, claims, document_claim, last_sentence, readable

_BRACES = r"\{\s*+(-?\d{1,15})\s*+\}"
_FRACTION = re.compile(rf"(-?)\s?\\[dt]?frac\s*+(?:{_BRACES}|(\d))\s*+(?:{_BRACES}|(\d))")
_MIXED = re.compile(r"(?<![\d.,/])((?<![\w.)])-)?(?:(\d{1,9})\s++)?(\d{1,15})\s*+/\s*+(\d{1,15})(?![\d.,/]*\d)")
_GROUPED = (
    r"\d{1,3}(?:,\d{3})++(?:\.\d++)?|\d{1,3}(?:[ '’_]\d{3})++(?![\d,])(?:\.\d++)?|\d{1,2}(?:,\d\d)++,\d{3}(?:\.\d++)?"
)
_GROUPED_COMMA = r"\d{1,3}(?:[. ]\d{3})++(?:,\d++)?|\d++,\d++"
_SIGNED = r"(?P<sign>(?<![\w.)])-|\b(?:minus|negative)\s)?(?:US)?[$€£¥₹]?[^\S\n]?"
_POWER = (
    r"(?:(?:[eE]|[^\S\n]?(?:×|x|·|⋅|\\times|\\cdot)[^\S\n]?10\^?[{ ]?)(?P<power>[+-]?\d{1,2})(?!\d)\}?"
    r"|\^\{?(?P<raised>-?\d{1,2})(?!\d)\}?)?"
)
_SCALE = (
    r"(?:[^\S\n]?(?P<percent>%|per ?cent\b)|[^\S\n]*+(?P<scale>hundred|thousand|million|billion|trillion)\b"
    r"|(?P<short>[kKMB])\b(?!&))?"
)
_ODD = (
    r"(?P<odd>(?:st|nd|rd|th)\b|[abeijnoqruvwxyz]\b|x\d|π|_|[^\S\n]?[+×^/](?![^\S\n]?[A-Za-z]{2})"
    r"|[^\S\n]:[^\S\n]\d|[^\S\n][-*][^\S\n][a-z]\b|[.:/-]\d|,\d|\.{3}\d|,[^\S\n]?\.{3})?"
)
"""What makes a number another one or none: ordinals, variables, operators, dates, times, lists that go on."""
_NUMBER, _NUMBER_COMMA = (
    re.compile(rf"{_SIGNED}(?P<digits>(?<![A-Za-z0-9_.#])(?:{grouped}|\d++(?:\.\d++)?|\.\d++)){_POWER}{_SCALE}{_ODD}")
    for grouped in (_GROUPED, _GROUPED_COMMA)
)
_SCALES = {
    None: 1.0, "hundred": 1e2, "thousand": 1e3, "k": 1e3, "K": 1e3, "million": 1e6, "M": 1e6,
    "billion": 1e9, "B": 1e9, "trillion": 1e12,
}  # fmt: skip
_MARKUP = str.maketrans({"−": "-", "–": "-", "*": " ", "`": " ", "\u00a0": " ", "\u202f": " "})
_UNIT_POWER = re.compile(r"(?<=[a-zA-Z])(?:\^\{?-?\d(?!\d)\}?|[²³])|\^\s?\{?\s?\\circ\s?\}?|(?<=\d)\\[,!](?=\d{3})")
_TEXT = re.compile(r"\\text\s*+\{[^{}]*\}")
_LATEX = re.compile(r"\\(?:text|math)[a-z]*|\\(?:d?quad|left|right|approx|circ|degree|mathrm)\b|\\(?=[$%,!;: ])|[{}]")
_UNREADABLE = re.compile(r"√|\b(?:sqrt|log|ln|sin|cos|tan)\b|\\(?!times|cdot)[a-zA-Z]+")
_LONGEST = 40
"""Maximum digits of a number; longer ones come from a model that repeats itself."""
_AMBIGUOUS = frozenset((0.0, 1.0))


def values(text: str, *, percent: bool = False, comma: bool = False) -> frozenset[float]:
    """Return the distinct numbers in a text; in an equation, those after the last equals sign.

    Understands signs, thousands separators, currencies, exponents (`1e5`, `1.25 x 10^5`), fractions (`3/4`, `1 1/2`,
    `\\frac{3}{4}`) and the words thousand, million and billion. With `percent`, 25% is 0.25, else 25. With `comma`,
    3,5 is 3.5 and 1.250 is 1250; without, `3,5` is two numbers. A number of more than 40 digits, and what a number
    alone does not tell (`18x`, `√18`, `18th`, `18:00`), make the text ambiguous.
    """
    plain = _plain(text)
    plain = plain.rpartition("=")[2] if "=" in plain else plain
    if _UNREADABLE.search(plain):
        return _AMBIGUOUS
    return _fractions(plain) | _numbers(_MIXED.sub(" ", plain), percent=percent, comma=comma)


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
    found = sorted([*fractions, *numbers], key=re.Match.start)
    return [hit[0].removesuffix(hit.groupdict().get("odd") or "").strip() for hit in found]


def _plain(text: str) -> str:
    plain = text.translate(_MARKUP).replace("{,}", ",")
    if "\\" in plain or "{" in plain or "^" in plain or "²" in plain or "³" in plain:
        plain = _FRACTION.sub(r" \1\2\3/\4\5 ", _UNIT_POWER.sub(" ", plain))
        bare = _TEXT.sub(" ", plain)
        plain = _LATEX.sub(" ", bare if any(map(str.isdigit, bare)) else plain)
    return plain


def _fractions(text: str) -> frozenset[float]:
    found = set()
    for sign, whole, top, bottom in _MIXED.findall(text):
        if int(bottom):
            value = int(whole or 0) + int(top) / int(bottom)
            found.add(-value if sign else value)
    return frozenset(found)


def _numbers(text: str, *, percent: bool, comma: bool) -> frozenset[float]:
    found = set()
    for hit in (_NUMBER_COMMA if comma else _NUMBER).finditer(text):
        digits = hit["digits"]
        if len(digits) > _LONGEST or hit["odd"] or _OPERATED.search(text, max(hit.start() - 8, 0), hit.start()):
            return _AMBIGUOUS
        digits = (
            digits.replace(".", "").replace(",", ".")
            if comma and ("," in digits or _THOUSANDS.search(digits))
            else digits
        )
        value = (
            float(_SEPARATORS.sub("", digits)) * 10.0 ** int(hit["power"] or 0) * _SCALES[hit["scale"] or hit["short"]]
        )
        value = value ** int(hit["raised"]) if hit["raised"] else value
        value = value / 100 if percent and hit["percent"] else value
        found.add(-value if hit["sign"] else value)
    return frozenset(found)


_OPERATED = re.compile(r"(?:[\w)}]\s{0,3}\+|[\^_])[\s{]{0,2}\Z")
_THOUSANDS = re.compile(r"\.\d{3}(?!\d)")
_SEPARATORS = re.compile(r"[ ,'’_]")
_UNITS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_COUNTED = {*_UNITS, *_TENS, *(word for word in _SCALES if word and len(word) > 1), "and"}
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def in_words(text: str) -> float | None:
    """Return the number that a text without digits begins with: "minus forty-two eggs"; None if there is none."""
    words: list[str] = []
    for word in _WORDS.findall(text[:_CONCLUSION].casefold()):
        parts = word.split("-")
        words += parts if all(part in _COUNTED for part in parts) else [word]
    sign = 1.0
    while words and words[0] in ("about", "exactly", "minus", "negative"):
        sign = -1.0 if words.pop(0) in ("minus", "negative") else sign
    total, part, room, read = 0.0, 0.0, 1000.0, 0
    for word in words:
        # `room` is the unit of the word before: a smaller number may follow it.
        if word in _UNITS and room >= 20 and (room > 20 or 0 < _UNITS[word] < 10):
            part, room = part + _UNITS[word], 0.0
        elif word in _TENS and room >= 100:
            part, room = part + _TENS[word], 20.0
        elif word == "hundred" and 0 < part < 100:
            part, room = part * 100, 100.0
        elif word in _SCALES and part:
            total, part, room = total + part * _SCALES[word], 0.0, 1000.0
        elif not (word == "and" and read and room >= 100):
            break
        read += 1
    if not read or any(word in _COUNTED or word in ("or", "of") for word in words[read:] if word != "and"):
        return None
    return sign * (total + part)


MOST_STATED = 3
"""Maximum number of different answers that a reply may state in sequence; more is guessing."""
_CONCLUSION = 300
_MOST_LISTED = 2000
_SHORT = 60
_DIGITS = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_MARKS = re.compile(r"^[^\S\n]{0,9}(?:[>#_-]{1,9}[^\S\n]{0,9})?(?:final )?A[^\S\n]{0,9}:", re.IGNORECASE | re.MULTILINE)
_OPTIONS = re.compile(r"^[^\S\n]{0,9}B[^\S\n]{0,9}:", re.MULTILINE)
_TAIL = re.compile(
    r"[;:]\s|\s[-—–]{1,2}\s(?=[A-Za-z]{2})|—|,?\s(?:because|since|as|where|which is|that is|i\.e\.)\b"
    r"|,\s(?:with|after|so)\b",
    re.IGNORECASE,
)
"""Where reasons begin behind a value."""
_ASIDE = re.compile(r"(?<=[^\s(])\s*\([^()\n]{0,200}\)?|\([^()\n]{0,200}[a-z=][^()\n]{0,200}\)")
_PART = re.compile(r"([^\d\n]{0,9}\d[\d,.]*[^\d,;\n]*)\b(?:in|out of|of|per|for|to|from|at|on|by|each)\b[^,;\n]*")
"""The result of an equation with another number that belongs to its unit: "= 48 kilograms in 3 bags"."""
_OTHER = re.compile(r"\(\s*(?:or|and)\b", re.IGNORECASE)
_HENCE = re.compile(
    r"(?:,|\band)\s(?:making|giving|leaving|which (?:is|gives|makes|equals)|that is)\b"
    r"|\bfor an? (?:\w+ )?total of\b|\btotall?ing\b",
    re.IGNORECASE,
)
_BOLD = re.compile(r"\*\*([^*\n]{1,60})\*\*[^*\d\n]*$")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_NO_AMOUNT = re.compile(
    r"\b(?:steps?|chapter|page|key|no\.|problem|question|equation|version|figure|line|part|item|room|http|error)\s\W?\d"
    r"|\b(?:up to|over|under|above|below|(?:more|less|fewer|greater) than)\s\W{0,3}\d"
    r"|\b(?:half(?: of)?|twice|double|triple|(?:square|cube|root|factorial|reciprocal) of)\s\W?\d"
    r"|\bI(?: am|['’]m)\s\d|\d\W{0,3}(?:\w+ )?would be (?!the (?:correct|right|final|best|answer))"
    rf"|\bor (?:{'|'.join(_COUNTED)})\b"
    rf"|\d\s(?:tries|attempts|tokens|{_MONTHS}|squared|cubed|factorial"
    r"|and an? (?:half|quarter|third))\b|<[a-z_]+>",
    re.IGNORECASE,
)
"""Numbers that count, date, bound or multiply something else."""
_ROW = re.compile(r"[^\w\n]*(?:(?:\d+|[A-Za-z])[.):] )?[^\w\n]*[\d.,]+[^\w\n]*")


@dataclass(frozen=True, slots=True)
class Stated:
    """The number that a reply states, or None with the reason why it states none."""

    value: float | None
    reason: str = ""


def stated_number(reply: str, *, percent: bool = False) -> float | None:
    """Return the final number of a reply; None if it states none, ends with several values, or is guessing."""
    return read_number(reply, percent=percent).value


def read_number(reply: str, *, percent: bool = False) -> Stated:
    """Return the final number of a reply, or why it states none.

    A statement of several values is ignored unless it is the last; a denied one is ignored. `percent` as in `values`.
    The work grows with the length of `reply`; pass only its end if it may be long.
    """
    text = readable(reply)
    document = document_claim(text)
    if document is not None:
        return Stated(None, document.doubt) if document.doubt else _told(document, _claimed(document, percent=percent))
    last: tuple[Claim, frozenset[float]] | None = None
    attempts: set[float | None] = set()
    doubt = ""
    for claim in claims(text, marks=_MARKS if "A" in text and not _OPTIONS.search(text) else None):
        numbers = _claimed(claim, percent=percent)
        if claim.doubt:
            doubt = claim.doubt
        elif numbers:
            last = claim, numbers
            attempts.add(only(numbers))
    if len(attempts - {None}) > MOST_STATED:
        return Stated(None, "it states too many different numbers")
    if last is not None:
        return _told(*last)
    if doubt:
        return Stated(None, f"what it states is doubtful: {doubt!r}")
    return _concluded(reply, text, percent=percent)


def _told(claim: Claim, numbers: frozenset[float]) -> Stated:
    number = only(numbers)
    return Stated(number, "" if number is not None else f"{claim.text.strip()!r:.80} is not a single number")


def _claimed(claim: Claim, *, percent: bool) -> frozenset[float]:
    """Return the numbers of a statement: of its head, before reasons and asides, where that has any."""
    text = claim.text
    if _DIGITS.fullmatch(text) and not (claim.comma and "." in text):
        return frozenset((float(text),))
    if claim.boxed and "!" in text:
        return _AMBIGUOUS
    bare = _ASIDE.sub(" ", text) if "(" in text and not _OTHER.search(text) else text
    head = bare if claim.boxed else _TAIL.split(bare, maxsplit=1)[0]
    for part in (head, bare) if head != bare else (bare,):
        if _NO_AMOUNT.search(part):
            return _AMBIGUOUS
        numbers = values(part, percent=percent, comma=claim.comma)
        if numbers:
            return numbers
    if not _WORDS.search(bare):
        return values(text, percent=percent, comma=claim.comma)
    word = in_words(head)
    return frozenset() if word is None else frozenset((word,))


def _concluded(reply: str, text: str, *, percent: bool) -> Stated:
    """Return the number of the last sentence: its only one, a bold one at its end, or that of its last clause."""
    claim = last_sentence(text)
    if claim.doubt:
        return Stated(None, claim.doubt)
    said = claim.text.rpartition("=")[2]
    if _NO_AMOUNT.search(said):
        return Stated(None, "the number at its end is no amount")
    rows = [row for row in text[-_MOST_LISTED:].splitlines() if row.strip()]
    if len(rows) > 1 and all(map(_ROW.fullmatch, rows)):
        return Stated(None, "it is a list of numbers")
    numbers = values(claim.text, percent=percent, comma=claim.comma)
    if len(numbers) > 1:
        bold = _BOLD.search(answer_of(reply)[-2 * _CONCLUSION :].rpartition("\n")[2]) if "**" in reply else None
        shown = values(bold[1], percent=percent, comma=claim.comma) if bold is not None else frozenset()
        clause = shown if len(shown) == 1 else values(_HENCE.split(claim.text)[-1], percent=percent, comma=claim.comma)
        if len(clause) != 1:
            of = _PART.fullmatch(said) if "=" in claim.text else None
            clause = values(of[1] if of else _ASIDE.sub(" ", claim.text), percent=percent, comma=claim.comma)
        numbers = clause
    if not numbers and len(text) < _SHORT and (word := in_words(text)) is not None:
        return Stated(word)
    return Stated(only(numbers), "" if len(numbers) == 1 else "no single number is stated at the end")
