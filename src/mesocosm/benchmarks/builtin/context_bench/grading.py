"""Check whether a reply is the requested code and no other, at the end of a short reply."""

import re

MOST_CHARACTERS = 600
"""Maximum length of a reply: enough for a sentence or two, but not for the context."""
_CODE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{4})[ \u00a0_–‐‑-]?([0-9]{4})(?![A-Za-z0-9])")
_LEAD = re.compile(
    r"^(?:(?:so|thus|therefore|hence)\b,?\s*)?(?:the\s+)?(?:final\s+|correct\s+|access\s+)?(?:answer|code)\b\s*(?:is\b|=|:)*\s*",
    re.IGNORECASE,
)
_ORNAMENT = " \t*_`\"'“”‘’().,:;!<>[]{}#"


def right(reply: str, expected: str) -> tuple[bool, str]:
    """Return whether `reply` gives the code `expected`, and otherwise the reason.

    Its last line, without ornament and an opening such as "The answer is", must be the code; letter case and the hyphen
    do not matter. A reply of more than `MOST_CHARACTERS` or with more than one code is always wrong.
    """
    text = reply.strip()
    if not text:
        return False, "the reply is empty"
    if len(text) > MOST_CHARACTERS:
        return False, f"the reply has {len(text)} characters; only short replies count (at most {MOST_CHARACTERS})"
    named = {_normal(found[1] + found[2]) for found in _CODE.finditer(text)}
    if len(named) > 1:
        return False, f"the reply names {len(named)} codes; one was asked for"
    last = _LEAD.sub("", text.splitlines()[-1].strip(_ORNAMENT)).strip(_ORNAMENT)
    whole = _CODE.fullmatch(last)
    if whole is None:
        return False, "the reply does not end in a code on its own"
    if _normal(whole[1] + whole[2]) != _normal(expected):
        return False, "the code is not the one that was asked for"
    return True, ""


def _normal(text: str) -> str:
    return "".join(letter for letter in text.upper() if letter.isalnum())
