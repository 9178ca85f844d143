"""What a reply states: its statements, its last sentence, and the number that it ends with.

A statement is what stands behind `A:` or `Answer:` at the start of a line, behind `####`, in `\\boxed{}`, or behind
"the answer is". The last one counts: a model may correct itself, and gets one attempt whatever it lists. It counts only
when it holds a single value, and a reply that states more than `MOST_STATED` different ones states none. Without any
statement the last sentence counts, when it holds a single value, is no question and denies nothing.

Needs the standard library alone: what grades rollouts reads replies inside their own environments too.
"""

import re
from collections.abc import Iterator

from mesocosm.core.number import only, single, values

MOST_STATED = 3
"""Different answers that a reply may state, one after the other; who states more is guessing."""
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
"""Characters of a sentence that can be one."""


def stated_number(reply: str, *, percent: bool = False) -> float | None:
    """Return the final number of a reply, None where it states none.

    A statement of several values is no attempt, so it counts for nothing unless it is the last. `percent` as in
    `mesocosm.core.number.values`. Work grows with the length of `reply`; give its end alone where it may be long.
    """
    found = [numbers for numbers in (values(text, percent=percent) for text in statements(reply)) if numbers]
    if not found:
        return single(last_sentence(reply), percent=percent)
    attempts = {only(numbers) for numbers in found} - {None}
    return only(found[-1]) if len(attempts) <= MOST_STATED else None


def statements(reply: str) -> Iterator[str]:
    """Yield what stands behind each marker of a reply: the rest of the sentence, or what the braces hold."""
    for found in _STATED.finditer(reply):
        if found[0].endswith("boxed"):
            yield _braced(reply, found.end())
        else:
            rest = reply[found.end() : found.end() + _STATEMENT].lstrip(" \t*_:=")
            # The value may stand in the next line, alone.
            yield first_sentence(rest.lstrip("\n"))


def first_sentence(text: str) -> str:
    """Return the text up to the end of its first sentence or line."""
    return _SENTENCE.split(text, maxsplit=1)[0]


def last_sentence(reply: str) -> str:
    """Return the last sentence; nothing where it asks, denies or is too long to be a conclusion."""
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
