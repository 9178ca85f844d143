"""Grade the option that a reply chooses, as `mesocosm.core.option` reads it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, field_validator

from mesocosm.core.conclusion import answer_of
from mesocosm.core.option import chosen_option
from mesocosm.rollouts.graders.answer import AnswerConfig, MissingLabel, extract, labels
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, RuleGrader, failed, passed


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
        read = extract(reply, config) if marked else answer_of(reply)[-config.max_chars :]
        given = chosen_option(read, letters, texts, marked=marked)
        if given.letter is None:
            return failed(f"{NOTHING}: {given.reason}")
        return passed() if given.letter in right else failed(f"{given.letter} is not {right[0]}")

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


class ChoiceGrader(RuleGrader[ChoiceConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[ChoiceConfig]] = ChoiceConfig
    Rule = ChoiceRule
