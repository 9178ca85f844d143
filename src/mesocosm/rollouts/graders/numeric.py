"""Compare the final number of a reply with the label's, within a tolerance.

Without options the number is the one that the reply states, as `mesocosm.core.number` reads it.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from mesocosm.core.conclusion import answer_of, first_sentence, last_sentence, readable
from mesocosm.core.number import Stated, read_number, single
from mesocosm.rollouts.graders.answer import AnswerConfig, MissingLabel, extract, labels
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, RuleGrader, failed, passed


class NumericConfig(AnswerConfig):
    """Options of the grader `numeric`.

    An answer is right if it differs from the label by at most `tolerance`, or by `relative` times the label. With
    `percent`, 25% is 0.25, else it is 25. `last = "number"` takes the last sentence, ignoring earlier statements; it
    must hold a single value like any statement.
    """

    name: str = "numeric"
    tolerance: float = Field(default=1e-6, ge=0, allow_inf_nan=False)
    relative: float = Field(default=0.0, ge=0, lt=1, allow_inf_nan=False)
    percent: bool = False


class NumericRule:
    """Grade 1 if the reply's final number equals the label's within the tolerance, else 0."""

    def __init__(self, config: NumericConfig | None = None) -> None:
        self.config: NumericConfig = config or NumericConfig()

    def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Return the verdict on a reply. Raises MissingLabel if the label has no number, or several."""
        right = [self._right(text) for text in labels(label, metadata, self.config)]
        given = self.given(reply)
        if given.value is None:
            return failed(f"{NOTHING}: {given.reason}")
        number = given.value
        if any(abs(number - gold) <= max(self.config.tolerance, self.config.relative * abs(gold)) for gold in right):
            return passed()
        return failed(f"{number:.12g} is not {right[0]:.12g}")

    def given(self, reply: str) -> Stated:
        """Return the number that a reply states, or why it states none."""
        config = self.config
        if not (config.after or config.pattern or config.last):
            return read_number(answer_of(reply)[-config.max_chars :], percent=config.percent)
        if config.last == "number":
            rest = readable(extract(reply, config.model_copy(update={"last": ""})))
            claim = last_sentence(rest)
            return Stated(None, claim.doubt) if claim.doubt else self._only(claim.text)
        answer = readable(extract(reply, config))
        return self._only(answer if config.pattern or config.last else first_sentence(answer))

    def _only(self, text: str) -> Stated:
        number = self._single(text)
        return Stated(number, "" if number is not None else f"{text.strip()!r:.80} is not a single number")

    def _single(self, text: str) -> float | None:
        return single(text, percent=self.config.percent)

    def _right(self, label: str) -> float:
        number = self._single(label)
        if number is None:
            raise MissingLabel(
                f"the label {label!r:.80} holds no single number; where it stands behind a marker, set label_after"
            )
        return number


class NumericGrader(RuleGrader[NumericConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[NumericConfig]] = NumericConfig
    Rule = NumericRule
