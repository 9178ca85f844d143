"""What a model did instead of answering, recognised by rules from its replies."""

import re
from enum import StrEnum

import msgspec

from mesocosm.core.message import ToolCall

REPEATS = 3
"""Equal replies in a row to an equal last message that count as a loop: a walker may well go left ten times."""

_HEAD = 400
_REFUSES = re.compile(
    r"\bI(?:'m| am)? (?:really |very |so )?(?:sorry|apologi[sz]e)\b.{0,60}?\b(?:can(?:no|')?t|can not|unable|won't)\b"
    r"|\bI(?: can(?:no|')t| can not| won't| will not|(?: am|'m) (?:unable|not able) to)"
    r" (?:\w+ ){0,2}?(?:help|assist|comply|fulfil|provide|answer|do that|create|generate|engage|discuss|share)\b"
    r"|\bI(?: must|'m going to have to| have to)? (?:decline|refuse)\b"
    r"|\b(?:against|violates?) (?:my|our|the) (?:\w+ )?(?:guidelines|polic(?:y|ies)|principles)\b",
    re.IGNORECASE | re.DOTALL,
)
_GIVES_UP = re.compile(
    r"\bI (?:give|am giving|'m giving) up\b|\bI (?:do not|don't) know (?:the (?:\w+ )?(?:answer|solution)|how to)\b"
    r"|\bI (?:cannot|can't|could not|couldn't|was unable to|am unable to|'m unable to) "
    r"(?:determine|find|solve|figure|complete|finish|continue|work out)\b|^\W*I don't know\W*$",
    re.IGNORECASE,
)
_STRAIGHT = str.maketrans({"\u2019": "'", "\u2018": "'"})
_TAIL = 2_000
_LOOP = 200
_LAST = 12
_TIMES = 8


class Behaviour(StrEnum):
    """What went wrong in a model's replies, apart from what they say."""

    REFUSED = "refused"
    EMPTY = "empty"
    CUT_OFF = "cut_off"
    LOOPED = "looped"
    MALFORMED = "malformed"
    GAVE_UP = "gave_up"


class LastReply(msgspec.Struct):
    """What is needed of an episode's replies to recognise a behaviour: the last one, and how often it was repeated."""

    count: int = 0
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    asked: int = -1
    repeated: int = 0
    most_repeated: int = 0

    def add(self, text: str, calls: tuple[ToolCall, ...] = (), finish_reason: str = "", asked: int = -1) -> None:
        """Take one more reply; `asked` is the number of the last message before it, the same for an equal message."""
        same = self.count > 0 and asked == self.asked and text == self.text and _same(calls, self.calls)
        self.count += 1
        self.repeated = self.repeated + 1 if same else 1
        self.most_repeated = max(self.most_repeated, self.repeated)
        self.text, self.calls, self.finish_reason, self.asked = text, calls, finish_reason, asked


def behaviour_of(replies: LastReply, malformed: int = 0, *, in_turn: bool = True) -> Behaviour | None:
    """Return the behaviour that the replies of an episode show; None if none is recognised or there is no reply.

    `malformed` is the number of replies in which no valid action was found. Not `in_turn`: a program asked for them, so
    equal ones may be of conversations that have nothing to do with each other. English wording only is recognised.
    """
    if not replies.count:
        return None
    text = replies.text.strip().translate(_STRAIGHT)
    if replies.finish_reason == "content_filter" or (not replies.calls and _REFUSES.search(text[:_HEAD])):
        return Behaviour.REFUSED
    if replies.finish_reason == "length":
        return Behaviour.LOOPED if _loops(text) else Behaviour.CUT_OFF
    if not text and not replies.calls:
        return Behaviour.EMPTY
    if (in_turn and replies.most_repeated >= REPEATS) or _loops(text):
        return Behaviour.LOOPED
    if malformed:
        return Behaviour.MALFORMED
    if not replies.calls and (_GIVES_UP.search(text[:_HEAD]) or _GIVES_UP.search(text[-_HEAD:])):
        return Behaviour.GAVE_UP
    return None


def _same(one: tuple[ToolCall, ...], other: tuple[ToolCall, ...]) -> bool:
    return len(one) == len(other) and all(
        (a.name, a.arguments) == (b.name, b.arguments) for a, b in zip(one, other, strict=True)
    )


def _loops(text: str) -> bool:
    """Return whether a text ends in the same words again and again: at least eight times, over 200 characters."""
    end = text[-_TAIL:]
    if len(end) < _LOOP or end.count(end[-_LAST:]) < _TIMES:
        return False
    for size in range(1, len(end) // _TIMES + 1):
        times = max(_TIMES, -(-_LOOP // size))
        piece = end[-size:]
        if times * size <= len(end) and end.endswith(piece * times):
            return bool(piece.strip(" .-_=*#|\n"))
    return False
