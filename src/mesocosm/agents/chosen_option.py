"""Find the choice in a text: the last explicit one, otherwise the last one mentioned and not ruled out.

Explicit choices are a labelled choice (`Action: left`, `the answer is B`), a verb of choosing with its object (`I
choose B`), a box or tag (`\\boxed{B}`, `<answer>B</answer>`), a first or last line with nothing else, and bold, quotes
or backticks around the last words. A mention is ruled out by preceding words in its clause (`not left`, `because A is
bad`, `rather than left`) or by a verdict directly after it (`A is wrong`). Clauses end at punctuation and at but, so,
then.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

LOOKED_THROUGH = 65_536
"""Number of characters at the end of a text to search for a choice."""
_LOOKED_AT = 64
"""Maximum number of explicit choices of one kind to examine, from the end; a text with more is noise."""
_CONTENT = 200
_SHORT = 4
"""Maximum number of words after a label that count as an answer and not as prose."""

_LABEL = re.compile(
    r"""(?P<lead>^[ \t>*_\#`"'{-]{0,8}(?:(?:my|the|final|next|best|chosen)[ ]){0,3})?
        \b(?:answer|action|choice|move|decision|command|selection|response)\b[*_`"']{0,4}[ ]?
        (?:[:=]|(?:is|will[ ]be|would[ ]be)\b[ ]?:?)""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_VERB = re.compile(
    r"""\b(?:choose|choosing|chose|pick|picking|select|selecting|take|taking|play|playing|go[ ]with|going[ ]with
        |opt[ ]for|opting[ ]for|settle[ ]on|settle[ ]for|decide[ ]on|decide[ ]for)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_BOX = re.compile(r"\\boxed\{(?:\\(?:text|mathrm|textbf)\{)?([^{}\n]{0,200})\}")
_TAGGED = re.compile(r"<(?:final_)?(?:answer|action|choice|move)>([^<>\n]{1,200})</", re.IGNORECASE)
_TAIL = re.compile(r"""(?:\*\*|__|[`"'*“‘])([^*`"“”\n]{1,200})(?:\*\*|__|[`"'*”’])[.!]?\Z""")
_BULLET = re.compile(r"\s*(?:[-*•+]|\d+[.)])\s")
_CLAUSE_END = re.compile(r".*[.;!?\n,:]", re.DOTALL)
_DOUBT = re.compile(
    r"\b(?:not|never|cannot|\w{1,8}n['’]t|if|why|or|either|was|were|could|might|may|considered|initially|tempted"
    r"|should i)\b",
    re.IGNORECASE,
)

_BREAKS = frozenset((*".;!?,:()—–→-\n", "but", "so", "therefore", "hence", "thus", "then"))
_NEGATIONS = ("not", "never", "cannot", "without", "neither", "nor", "unlike", "except", "excluding", "than", "against")
_REJECTIONS = ("avoid", "avoiding", "reject", "rejecting", "rejected", "skip", "exclude", "eliminate", "eliminated")
_REASONS = ("because", "since", "if", "unless", "although", "though", "while", "whereas")
_RULE_OUT = frozenset((*_NEGATIONS, *_REJECTIONS, *_REASONS))
_RULE_OUT_NEXT = frozenset(("as", "over", "no", "versus", "vs"))
_BE = frozenset(("is", "are", "was", "were", "looks", "look", "seems", "seem", "would", "could", "can", "will", "has"))
_WORSE = ("not", "no", "never", "bad", "wrong", "worse", "worst", "risky", "dangerous", "unsafe", "unlikely")
_VERDICTS = frozenset((*_WORSE, "incorrect", "false", "invalid", "illegal", "impossible", "blocked", "closed", "out"))
_FILLERS = frozenset(("the", "to", "option", "go", "going", "move", "is", "be", "value", "answer", "action", "choice"))
MARKUP = " \t\r\n*_`\"'“”‘’.!,;:(){}[]<>$"


@dataclass(frozen=True, slots=True)
class ChosenOption:
    """The chosen value and its position in the text; `explicit` if it was marked as the choice."""

    value: Any
    start: int
    explicit: bool = True


@dataclass(frozen=True, slots=True)
class Unknown:
    """The last explicit choice is not an allowed value."""

    text: str


class Token(NamedTuple):
    """A word, number or symbol at `start`…`end` of a text; `key` is its form for comparison."""

    key: str
    start: int
    end: int


class Reader(Protocol):
    """Recognizes the allowed choices in text."""

    def exact(self, text: str) -> Any:
        """Return the choice that the whole text represents, None if there is none."""
        ...

    def tokens(self, text: str) -> list[Token]:
        """Split a text."""
        ...

    def match(self, text: str, tokens: Sequence[Token], at: int) -> tuple[int, Any]:
        """Return the number of tokens from `at` that form a choice, and the choice; (0, None) if there is none."""
        ...


def last_choice(text: str, reader: Reader) -> ChosenOption | Unknown | None:
    """Return the choice in `text`; Unknown if its explicit choice is not allowed, None if there is no choice."""
    whole = reader.exact(text)
    if whole is not None:
        return ChosenOption(whole, 0)
    skipped = max(len(text) - LOOKED_THROUGH, 0)
    text = text[skipped:]
    marks = sorted(_marked(text), key=lambda mark: mark.start, reverse=True)
    found = next((found for mark in marks if (found := mark.read(reader)) is not None), None)
    found = last_mention(text, reader) if found is None else found
    return replace(found, start=found.start + skipped) if isinstance(found, ChosenOption) else found


def last_mention(text: str, reader: Reader) -> ChosenOption | None:
    """Return the last choice mentioned as whole words and not ruled out, None if there is none."""
    tokens = reader.tokens(text)
    last: ChosenOption | None = None
    ruled_out = False
    at = 0
    while at < len(tokens):
        length, value = reader.match(text, tokens, at)
        if length:
            after = at + length
            if not ruled_out and not _ruled_out_here(tokens, at) and not _condemned(tokens, after):
                last = ChosenOption(value, tokens[at].start, explicit=False)
            at = after
            continue
        key = tokens[at].key
        if key in _BREAKS:
            ruled_out = False
        elif key in _RULE_OUT or key.endswith(("n't", "n’t")) or (key == "of" and _key(tokens, at - 1) == "instead"):
            ruled_out = True
        at += 1
    return last


def leading(content: str, reader: Reader) -> Any:
    """Return the choice at the start of `content`, ignoring fillers and markup; None if there is none."""
    tokens = reader.tokens(content)
    for at, token in enumerate(tokens[:8]):
        length, value = reader.match(content, tokens, at)
        if length:
            return value
        if token.key not in _FILLERS and token.key not in MARKUP:
            return None
    return None


def _key(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].key if 0 <= at < len(tokens) else ""


def _ruled_out_here(tokens: Sequence[Token], at: int) -> bool:
    before = _key(tokens, at - 1)
    return (_key(tokens, at - 2) if before in ("the", "a", "going") else before) in _RULE_OUT_NEXT


def _condemned(tokens: Sequence[Token], after: int) -> bool:
    verb = _key(tokens, after)
    if verb.endswith(("n't", "n’t")):
        return True
    return verb in _BE and any(_key(tokens, after + i) in _VERDICTS for i in (1, 2, 3))


@dataclass(frozen=True, slots=True)
class _Mark:
    """A possible explicit choice at `start`; `content` is the text of the choice."""

    start: int
    kind: str
    content: str

    def read(self, reader: Reader) -> ChosenOption | Unknown | None:
        value = None
        if self.kind != "verb":
            value = reader.exact(self.content)
        if value is None and self.kind in ("verb", "label", "anchored"):
            value = leading(self.content, reader)
        if value is None and self.kind in ("label", "anchored", "box"):
            mention = last_mention(self.content, reader)
            value = None if mention is None else mention.value
        if value is not None:
            return ChosenOption(value, self.start)
        shown = self.content.strip(MARKUP)
        short = 0 < len(shown.split()) <= _SHORT
        return Unknown(shown) if short and self.kind in ("anchored", "box") else None


def _marked(text: str) -> Iterator[_Mark]:
    for match in deque(_LABEL.finditer(text), _LOOKED_AT):
        lines = text[match.end() : match.end() + _CONTENT].split("\n")
        content = next((line for line in lines if line.strip(MARKUP)), lines[0])
        yield _Mark(match.start(), "label" if match["lead"] is None else "anchored", content.strip())
    for match in deque(_VERB.finditer(text), _LOOKED_AT):
        clause = _CLAUSE_END.sub("", text[max(match.start() - 60, 0) : match.start()])
        if not _DOUBT.search(clause):
            yield _Mark(match.start(), "verb", text[match.end() : match.end() + _CONTENT].partition("\n")[0])
    for pattern in (_BOX, _TAGGED):
        for match in deque(pattern.finditer(text), _LOOKED_AT):
            yield _Mark(match.start(), "box", match[1])
    yield from _lone_lines(text)


def _lone_lines(text: str) -> Iterator[_Mark]:
    """Yield the first and the last line if they are short, and quoted or bold text at the very end."""
    stripped = text.rstrip()
    begin = len(text) - len(text.lstrip())
    cut = max(stripped.rfind("\n") + 1, begin)
    last = stripped[cut:]
    for start, line in ((begin, stripped[begin:].partition("\n")[0]), (cut, last)):
        if len(line) <= _CONTENT and not _BULLET.match(line):
            yield _Mark(start, "line", line)
    tail = _TAIL.search(last[-_CONTENT - 8 :])
    if tail is not None:
        yield _Mark(len(stripped) - len(tail[0]), "tail", tail[1])
