"""What a model did instead of answering, recognised by rules from its replies."""

import re
from enum import StrEnum

import msgspec

from mesocosm.core.message import ToolCall
from mesocosm.core.thought import split_thought

REPEATS = 3
"""Equal replies in a row to an equal last message that count as a loop: a walker may well go left ten times."""

_HEAD = 400
_CANNOT = (
    r"(?:can(?:no| ?')?t|can not|could(?:n't| not)|won't|will not|should(?:n't| not)|(?:won't|will not) be able to"
    r"|(?:am|'m) (?:not able|unable|not going|not allowed) to)"
)
_ASIDE = r"(?:,[^,.!?\n]{1,40},| and (?:will not|won't)| (?!help but)\w+){0,2}?"
_HELP = (
    r"(?:help(?! but\b| (?:notic|wonder|think|feel|laugh)ing\b)|assist|comply|fulfill?|engage|discuss|participate"
    r"|condone|facilitate|accommodate|take part|support th)"
)
_GIVE = (
    r"(?:(?:provide|answer|create|generate|write|give|offer|share|process|produce)(?: \w+){0,3}? "
    r"(?:that|this|these|those|you|your|such|any|information|instructions|advice|details|content)\b"
    r"(?! (?:as|in|with|without|by|because|until)\b)"
    r"|do (?:that|this|so)(?: for you)?\W*(?:$|[.!?\n])"
    r"|continue (?:with )?(?:this|our|the) (?:conversation|discussion|chat|request))"
)
_SOLVE = r"(?:determine|find|solve|figure|complete|finish|work out|see|tell|be)\b"
_REFUSES = re.compile(
    rf"\bI ?{_CANNOT}{_ASIDE} (?:{_HELP}|{_GIVE})"
    rf"|\b(?:sorry|apologi[sz]e|apologies|afraid)\b[^.:!?\n]{{0,80}}?\bI ?{_CANNOT} (?!{_SOLVE})\w"
    rf"|\b(?:sorry|apologi[sz]e|apologies)\b[^.:!?\n]{{0,20}}?\b(?:can(?:no|')?t|unable to|won't) (?:{_HELP}|{_GIVE})"
    r"|\bI(?: must|'m going to have to| have to| need to|'d have to| will have to)?(?: \w+ly)? (?:decline|refuse)"
    r"(?: to\b| th(?:is|at)\b| your\b| such\b|\W*$|[.!])"
    r"|\bI(?:'m not| am not| do not feel| don't feel)(?: \w+)? comfortable\b|\bI'd rather not\b"
    r"|\binappropriate for me to\b|\b(?:against|violates?) my polic"
    r"|\b(?:against|violates?) (?:my|our|the|\w+'s) (?:\w+ )?(?:guidelines|(?:usage|content|safety) polic|principles)"
    # German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese, Korean
    r"|(?:\bich\b[^.!?\n]{0,20}?\b(?:kann|darf|werde)|\b(?:kann|darf|werde) ich)\b[^.!?\n]{0,60}?\bnicht\b"
    r"[^.!?\n]{0,40}?\b(?:(?:weiter)?helfen|unterstützen|beantworten|nachkommen|erfüllen|bereitstellen|behilflich)"
    r"|\bje ne (?:peux|saurais|suis pas en mesure)\b[^.!?\n]{0,50}?"
    r"\b(?:aider|répondre|fournir|accéder|assister|satisfaire)"
    r"|\bno puedo\b[^.!?\n]{0,30}?\b(?:ayudar|asistir|cumplir|proporcionar|responder)"
    r"|\bnão (?:posso|consigo)\b[^.!?\n]{0,30}?\b(?:ajudar|fornecer|responder|atender|auxiliar)"
    r"|\bnon posso\b[^.!?\n]{0,30}?\b(?:aiutar|fornire|rispondere|assister|soddisfare)"
    r"|\bне (?:могу|буду)\b[^.!?\n]{0,40}?\b(?:помочь|помогать|ответить|предоставить|выполнить)"
    r"|(?:抱歉|对不起|對不起|我)[^。\n]{0,12}?(?:无法|無法|不能)[^。\n]{0,12}?(?:帮|幫|协助|協助|提供|回答|满足|滿足)"
    r"|(?:応え|答え|手伝い|協力|対応|回答|提供|支援)[^。\n]{0,8}?(?:できません|できかねます|いたしかねます)"
    r"|(?:도와|도움|답변|제공|응할)[^.!?\n]{0,12}?수 없",
    re.IGNORECASE,
)
_HINTS = (
    *("n't", "n 't", "not", "cant", "unable", "decline", "refuse", "against", "violate", "inappropriate"),
    *("nicht", "je ne", "no puedo", "não", "non posso", "не ", "无法", "無法", "不能", "ません", "かねます", "수 없"),
)
"""One of them stands in everything that `_REFUSES` finds, which takes a hundred times as long to look."""
_QUOTED = re.compile(
    r"^[ \t]*>.*$|`[^`\n]+`|“[^”\n]+”|„[^“\n]+“|«[^»\n]+»|\"[^\"\n]+\"|(?<!\w)'[^\n]+?'(?!\w)", re.MULTILINE
)
"""What somebody else said."""
_GIVES_UP = re.compile(
    r"\bI (?:give|am giving|'m giving) up\b|\bI (?:do not|don't) know (?:the (?:\w+ )?(?:answer|solution)|how to)\b"
    r"|\bI (?:cannot|can't|could not|couldn't|was unable to|am unable to|'m unable to) "
    r"(?:determine|find|solve|figure|complete|finish|continue|work out)\b|^\W*I don't know\W*$",
    re.IGNORECASE,
)
_STRAIGHT = str.maketrans(dict.fromkeys("\u2019\u2018\u02bc\uff07\u00b4", "'"))
_ACCENT = re.compile(r"(?<=[a-z])`(?=[a-z])", re.IGNORECASE)
"""A letter that stands for an apostrophe inside a word."""
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
    equal ones may be of conversations that have nothing to do with each other. Neither thought nor what a reply quotes
    is the model's own refusal. Refusals are recognised in the ten languages of `_REFUSES`, giving up in English only.
    """
    if not replies.count:
        return None
    text = _ACCENT.sub("'", replies.text.strip().translate(_STRAIGHT))
    answer = split_thought(text)[1]
    own = _own_words(answer)
    if replies.finish_reason == "content_filter" or (not replies.calls and _refuses(own[:_HEAD])):
        return Behaviour.REFUSED
    if replies.finish_reason == "length":
        return Behaviour.LOOPED if _loops(text) else Behaviour.CUT_OFF
    if not answer and not replies.calls:
        return Behaviour.EMPTY
    if (in_turn and replies.most_repeated >= REPEATS) or _loops(text):
        return Behaviour.LOOPED
    if malformed:
        return Behaviour.MALFORMED
    if not replies.calls and (_GIVES_UP.search(own[:_HEAD]) or _GIVES_UP.search(own[-_HEAD:])):
        return Behaviour.GAVE_UP
    return None


def _refuses(text: str) -> bool:
    small = text.lower()
    return any(hint in small for hint in _HINTS) and _REFUSES.search(text) is not None


def _own_words(answer: str) -> str:
    """Return an answer without what it quotes; of JSON, and of an answer that is one quotation, everything."""
    if answer[:1] in {"{", "["}:
        return answer
    own = _QUOTED.sub(" … ", answer[: 4 * _HEAD]) + answer[4 * _HEAD :]
    return own.strip() if own.strip(" \n…*_.") else answer


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
