"""The final number that a reply states.

A statement is what stands behind `A:` or `Answer:` at the start of a line, behind `####`, in `\\boxed{}`, or behind
"the answer is". The last one counts: a model may correct itself, and gets one attempt whatever it lists. It counts
only when it holds a single value, and a reply that states more than `MOST_STATED` different ones states none. Without
any statement the last sentence counts, when it holds a single value, is no question and
denies nothing.
"""

import re
from collections.abc import Iterator

MOST_STATED = 3
_STATED = re.compile(
    r"^[^\S\n]*(?:[>#*_-]+[^\S\n]*)?(?:the\s+)?(?:final\s+)?(?:answer|a)[^\S\n]*[*_]*[^\S\n]*:"
    r"|\#\#\#\#"
    r"|\\boxed(?=\{)"
    r"|\b(?:final\s+)?answer\s+is\b(?!\s+not\b)",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE = re.compile(r"\n|(?<=[^\W_])[.;](?=\s)|[!?](?=\s|$)")
_DENIED = re.compile(r"\bnot\b", re.IGNORECASE)
_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(-?\d{1,15})\s*\}\s*\{\s*(\d{1,15})\s*\}")
_MIXED = re.compile(r"(?<![\d.,/])(-?)(?:(\d{1,9})\s+)?(\d{1,15})\s*/\s*(\d{1,15})(?![\d.,/]*\d)")
_NUMBER = re.compile(
    r"((?<![\w.)])-)?\$?[^\S\n]?((?<![\w.])(?:\d[\d,]*)?\.?\d+)(?:[eE]([+-]?\d{1,2}))?(?:[^\S\n]+(thousand|million|billion)\b)?"
)
_SCALES = {"": 1.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_MARKUP = str.maketrans({"−": "-", "–": "-", "*": " ", "`": " ", "\u00a0": " ", "\u202f": ""})
_LONGEST = 40
"""Digits of a number; longer ones are what a model writes that cannot stop."""
_TAIL = 20_000
"""Characters at the end of a reply in which statements are looked for; nobody needs more to come to an end."""
_CONCLUSION = 300
"""Characters of a sentence that can be one."""
_NEAR = 1e-6


def same(given: float | None, gold: float) -> bool:
    """Return whether a stated number is the right one."""
    return given is not None and abs(given - gold) < _NEAR


def stated(reply: str) -> float | None:
    """Return the final number of a reply, None where it states none."""
    reply = reply[-_TAIL:]
    statements = [found for found in map(_values, _statements(reply)) if found]
    if not statements:
        return _single(_values(_last_sentence(reply)))
    single = {next(iter(found)) for found in statements if len(found) == 1}
    return _single(statements[-1]) if len(single) <= MOST_STATED else None


def _single(values: set[float]) -> float | None:
    return next(iter(values)) if len(values) == 1 else None


def _statements(reply: str) -> Iterator[str]:
    for found in _STATED.finditer(reply):
        if found[0].endswith("boxed"):
            yield _braced(reply, found.end())
        else:
            rest = reply[found.end() : found.end() + 400].lstrip(" \t*_:=")
            # The value may stand in the next line, alone.
            yield _SENTENCE.split(rest.lstrip("\n"), maxsplit=1)[0] if rest.startswith("\n") else _sentence(rest)


def _sentence(text: str) -> str:
    return _SENTENCE.split(text, maxsplit=1)[0]


def _braced(text: str, start: int) -> str:
    depth = 0
    for place in range(start, min(start + 200, len(text))):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[start + 1 : place]
    return ""


def _last_sentence(reply: str) -> str:
    """Return the last sentence; nothing where it asks, denies or is too long to be a conclusion."""
    end = reply.rstrip()[-2 * _CONCLUSION :]
    if end.endswith("?"):
        return ""
    sentence = [part for part in _SENTENCE.split(end) if part.strip()][-1:]
    fits = bool(sentence) and len(sentence[0]) <= _CONCLUSION and not _DENIED.search(sentence[0])
    return sentence[0] if fits else ""


def _values(text: str) -> set[float]:
    """Return the different numbers of a statement; of an equation those behind its last equals sign."""
    plain = _FRACTION.sub(r" \1/\2 ", text.translate(_MARKUP).replace("{,}", ","))
    plain = re.sub(r"\\text\s*\{[^{}]*\}|\\[a-z]+|\\(?=[$%,!])|[{}]", " ", plain)
    plain = plain.rpartition("=")[2] if "=" in plain else plain
    found: set[float] = set()
    for sign, whole, top, bottom in _MIXED.findall(plain):
        if int(bottom):
            value = int(whole or 0) + int(top) / int(bottom)
            found.add(-value if sign else value)
    for sign, digits, power, scale in _NUMBER.findall(_MIXED.sub(" ", plain)):
        if len(digits) <= _LONGEST:
            value = float(digits.replace(",", "")) * 10.0 ** int(power or 0) * _SCALES[scale]
            found.add(-value if sign else value)
        else:
            found |= {0.0, 1.0}
    return found
