"""Find the option that a reply chooses.

A statement is the text after `Answer:`, "the answer is", "the correct option is" or in `\\boxed{}`; the last one
counts, and only if it names a single letter; a reply with statements for more than two letters chooses none. Without
any statement the reply must consist of a letter or the text of one option, or have exactly one line that is a letter or
begins like an option. The article "A" does not count as a letter: the word must end the statement, be marked, or not be
followed by a noun.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, ClassVar

from pydantic import Field, field_validator

from mesocosm.rollouts.graders.answer import AnswerConfig, MissingLabel, extract, labels
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, RuleGrader, failed, passed

_MOST_STATED = 2
_STATED = re.compile(
    r"\b(?:final[ \t])?(?:answer|choice|option)[ \t*_]{0,10}:"
    r"|\b(?:answer|choice|option)\b[^\n.:;?!]{0,40}?\b(?:is|(?:would|must|should)[ \t]be)\b(?![ \t]not\b)[ \t]{0,3}:?"
    r"|\bI(?:[ \t]would)?[ \t](?:choose|pick|select|go[ \t]with)\b"
    r"|\\boxed(?=\{)",
    re.IGNORECASE,
)
_END = re.compile(r"\n|(?<=[\w)\]*\"'])[.;](?=\s|$)|[!?](?=\s|$)")


class ChoiceConfig(AnswerConfig):
    """Options of the grader `choice`.

    `letters` are the letters of the options, in order. `choices_from` names the metadata with the texts of the options:
    the row then has one letter per text, and the text of an option counts like its letter. The label is a letter or the
    text of an option or, with `label_is_index`, the option's index from 0.
    """

    name: str = "choice"
    letters: str = Field(default="ABCD", min_length=2, max_length=26)
    choices_from: str = ""
    label_is_index: bool = False

    @field_validator("letters")
    @classmethod
    def _distinct(cls, letters: str) -> str:
        letters = letters.upper()
        if len(set(letters)) != len(letters) or not letters.isascii() or not letters.isalpha():
            raise ValueError("letters must be different letters from A to Z")
        return letters


class ChoiceRule:
    """Grade 1 if the reply chooses the right option and no other, else 0."""

    def __init__(self, config: ChoiceConfig | None = None) -> None:
        self.config: ChoiceConfig = config or ChoiceConfig()

    def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Grade a reply. Raises MissingLabel if the row does not say which option is right."""
        texts = self._texts(metadata)
        letters = _letters_of(texts, self.config.letters)
        right = [self._right(text, letters, texts) for text in labels(label, metadata, self.config)]
        config = self.config
        marked = bool(config.after or config.pattern or config.last)
        given = _Reader(letters, tuple(texts)).chosen(
            extract(reply, config) if marked else reply[-config.max_chars :], marked=marked
        )
        if given is None:
            return failed(f"{NOTHING}: no single option is chosen")
        return passed() if given in right else failed(f"{given} is not {right[0]}")

    def _texts(self, metadata: Mapping[str, Any] | None) -> list[str]:
        if not self.config.choices_from:
            return []
        held = (metadata or {}).get(self.config.choices_from)
        if not isinstance(held, list | tuple) or not 2 <= len(held) <= 26:
            raise MissingLabel(
                f"metadata {self.config.choices_from!r} should list the texts of 2 to 26 options, and is {held!r:.80}"
            )
        return [str(text).strip() for text in held]

    def _right(self, label: str, letters: str, texts: Sequence[str]) -> str:
        if self.config.label_is_index:
            if label.isdecimal() and int(label) < len(letters):
                return letters[int(label)]
        else:
            letter = label.strip("().").upper()
            meant = {letter} & set(letters) | {letters[place] for place, text in enumerate(texts) if text == label}
            if len(meant) == 1:
                return meant.pop()
        form = (
            "the place of an option, counted from 0" if self.config.label_is_index else "a letter or an option's text"
        )
        raise MissingLabel(f"the label {label!r:.80} is none of the options {', '.join(letters)}; it should be {form}")


def _letters_of(texts: Sequence[str], letters: str) -> str:
    if not texts:
        return letters
    alphabet = letters + "".join(letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in letters)
    return alphabet[: len(texts)]


class _Shapes:
    """Expressions that depend on the set of letters."""

    def __init__(self, letters: str) -> None:
        some = f"[{letters}]"
        others = f"[{letters.replace('A', '').replace('I', '')}]" if letters.strip("AI") else "(?!)"
        words = [letter for letter in "AI" if letter in letters]
        # "A" and "I" are also words: they count only if no noun or verb follows.
        joined = r"(?!\s+(?!because|since|as|and|or|with|for|which|but)[a-z])"
        doubtful = f"|[{''.join(words)}](?!['’]?\\w){joined}" if words else ""
        self.capital = re.compile(rf"(?<![\w'])(?:{others}(?!['’]?\w){doubtful})")
        either = f"[{letters}{letters.lower()}]"
        self.alone = re.compile(rf"\W{{0,20}}({either})\W{{0,20}}")
        self.marked = re.compile(rf"^\W{{0,20}}([{letters.lower()}])(?=[).:\]*}}]|\s*$)|\(([{letters.lower()}])\)")
        self.line = re.compile(
            rf"^[\s*_>#(\[\"'`-]{{0,20}}({some})(?:[\s*_)\]\"'`.]{{0,20}}$|[)\].:][\s*_]{{0,20}}\S)", re.MULTILINE
        )
        self.named = re.compile(
            rf"(?<![\w'])\(?({some})\)?[ \t]is[ \t](?:the[ \t])?(?:only[ \t])?(?:correct|right|best)\b"
        )
        self.denied = re.compile(rf"\b(?:not|rather than|instead of|never)\s(?:option\s)?\(?{some}\b\)?", re.IGNORECASE)


@lru_cache(maxsize=64)
def _shapes(letters: str) -> _Shapes:
    return _Shapes(letters)


class _Reader:
    """Reads the replies to one question."""

    def __init__(self, letters: str, texts: Sequence[str]) -> None:
        self._letters = letters
        self._shapes = _shapes(letters)
        self._texts = [_plain(text) for text in texts]

    def chosen(self, reply: str, *, marked: bool) -> str | None:
        """Return the chosen letter or None; `marked`: `reply` is an extracted answer, not a whole reply."""
        alone = self._shapes.alone.fullmatch(reply) if len(reply) < 50 else None
        place = self._words(reply)
        if alone is not None:
            # A letter that is also the text of another option is ambiguous.
            return alone[1].upper() if place in (None, alone[1].upper()) else None
        if place is not None:
            return place
        if marked:
            return _single(self._named(_END.split(reply, maxsplit=1)[0]))
        statements = [letters for letters in self._statements(reply) if letters]
        if statements:
            return _single(statements[-1]) if len(set().union(*statements)) <= _MOST_STATED else None
        return _single({found[1] for found in self._shapes.line.finditer(reply)})

    def _words(self, text: str) -> str | None:
        """Return the letter of the one option with exactly this text, or None."""
        plain = _plain(text)
        places = [place for place, option in enumerate(self._texts) if option and option == plain]
        return self._letters[places[0]] if len(places) == 1 else None

    def _statements(self, reply: str) -> Iterator[set[str]]:
        found = [(named.start(), {named[1]}) for named in self._shapes.named.finditer(reply)]
        for marker in _STATED.finditer(reply):
            rest = reply[marker.end() : marker.end() + 400].lstrip(" \t*_:").lstrip()
            found.append((marker.start(), self._named(_END.split(rest, maxsplit=1)[0])))
        for _, letters in sorted(found, key=itemgetter(0)):
            yield letters

    def _named(self, statement: str) -> set[str]:
        if (place := self._words(statement)) is not None:
            return {place}
        text = self._shapes.denied.sub(" ", statement).replace("\\text", "")
        found = set(self._shapes.capital.findall(text))
        return found or {letter.upper() for pair in self._shapes.marked.findall(text) for letter in pair if letter}


def _plain(text: str) -> str:
    return " ".join(text.casefold().strip(" \t\n.\"'`*").split())


def _single(letters: set[str]) -> str | None:
    return next(iter(letters)) if len(letters) == 1 else None


class ChoiceGrader(RuleGrader[ChoiceConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[ChoiceConfig]] = ChoiceConfig
    Rule = ChoiceRule
