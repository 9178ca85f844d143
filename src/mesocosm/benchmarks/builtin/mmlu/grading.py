"""Find the option that a reply chooses.

A statement is the text after `Answer:`, "the answer is", "the correct option is" or in `\\boxed{}`. The last one
counts, if it names a single letter; a reply with statements for more than two letters chooses none. Without any
statement the reply must consist of a letter, or have exactly one line that is a letter or begins like an option. The
article "A" does not count: the letter must end the statement, be marked, or not be followed by a noun.
"""

import re
from operator import itemgetter

LETTERS = "ABCD"
_MOST_STATED = 2
_LONGEST = 20_000
"""Number of characters at the end of a reply that are searched for statements."""
_STATED = re.compile(
    r"\b(?:final[ \t]+)?(?:answer|choice|option)[ \t*_]*:"
    r"|\b(?:answer|choice|option)\b[^\n.:;?!]{0,40}?\b(?:is|(?:would|must|should)[ \t]+be)\b(?![ \t]+not\b)[ \t]*:?"
    r"|\bI(?:[ \t]+would)?[ \t]+(?:choose|pick|select|go[ \t]+with)\b"
    r"|\\boxed(?=\{)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?<![\w'])\(?([A-D])\)?[ \t]+is[ \t]+(?:the[ \t]+)?(?:only[ \t]+)?(?:correct|right|best)\b")
_END = re.compile(r"\n|(?<=[\w)\]*\"'])[.;](?=\s|$)|[!?](?=\s|$)")
_DENIED = re.compile(r"\b(?:not|rather than|instead of|never)\s+(?:option\s+)?\(?[A-D]\b\)?", re.IGNORECASE)
_CAPITAL = re.compile(
    r"(?<![\w'])(?:[BCD](?!['’]?\w)|A(?!['’]?\w)(?!\s+(?!because|since|as|and|or|with|for|which|but)[a-z]))"
)
_MARKED = re.compile(r"^\W*([a-d])(?=[).:\]*}]|\s*$)|\(([a-d])\)")
_LINE = re.compile(r"^[\s*_>#(\[\"'`-]*([A-D])(?:[\s*_)\]\"'`.]*$|[)\].:][\s*_]*\S)", re.MULTILINE)
_ALONE = re.compile(r"\W*([A-Da-d])\W*")


def chosen(reply: str) -> str | None:
    """Return the letter that a reply chooses, or None if it chooses none or several."""
    alone = _ALONE.fullmatch(reply[:200]) if len(reply) < 200 else None
    if alone is not None:
        return alone[1].upper()
    statements = _statements(reply)
    if statements:
        named = set().union(*statements)
        return _single(statements[-1]) if len(named) <= _MOST_STATED else None
    return _single({found[1] for found in _LINE.finditer(reply)})


def _single(letters: set[str]) -> str | None:
    return next(iter(letters)) if len(letters) == 1 else None


def _statements(reply: str) -> list[set[str]]:
    """Return the letters of each statement, in the order of the text, without statements that name no letter."""
    end = reply[-_LONGEST:]
    found = [(named.start(), {named[1]}) for named in _NAMED.finditer(end)]
    for marker in _STATED.finditer(end):
        rest = end[marker.end() : marker.end() + 400].lstrip(" \t*_:").lstrip()
        found.append((marker.start(), _letters(_END.split(rest, maxsplit=1)[0])))
    return [letters for _, letters in sorted(found, key=itemgetter(0)) if letters]


def _letters(statement: str) -> set[str]:
    """Return the letters that a statement names."""
    text = _DENIED.sub(" ", statement).replace("\\text", "")
    found = set(_CAPITAL.findall(text))
    if not found:
        found = {letter.upper() for pair in _MARKED.findall(text) for letter in pair if letter}
    return found
