"""The final number of a reply, within a tolerance of the label's.

Without options a statement is what stands behind `A:` or `Answer:` at the start of a line, behind `####`, in
`\\boxed{}`, or behind "the answer is". The last one counts, when it holds a single value; a reply that states more than
`MOST_STATED` different ones states none. Without any statement the last sentence counts, when it holds a single value,
is no question and denies nothing.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from mesocosm.rollouts.graders.answer import MOST_STATED, AnswerConfig, MissingLabel, extract, labels
from mesocosm.rollouts.graders.number import values
from mesocosm.rollouts.graders.ready import ReadyGrader
from mesocosm.rollouts.graders.verdict import NOTHING, Verdict, failed, passed

_STATED = re.compile(
    r"^[ \t]*(?:[>#*_-]+[ \t]*)?(?:the\s)?(?:final\s)?(?:answer|a)[ \t]*[*_]*[ \t]*:"
    r"|\#\#\#\#"
    r"|\\boxed(?=\{)"
    r"|\b(?:final[ \t])?answer[ \t]is\b(?![ \t]not\b)",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE = re.compile(r"\n|(?<=[^\W_])[.;](?=\s)|[!?](?=\s|$)")
_DENIED = re.compile(r"\bnot\b|\bn't\b", re.IGNORECASE)
_CONCLUSION = 300
"""Characters of a sentence that can be one."""


class NumericConfig(AnswerConfig):
    """Options of the grader `numeric`.

    Right is what differs from the label by at most `tolerance`, or by `relative` times the label. With `percent`, 25%
    is 0.25, else it is 25. `last = "number"` takes the last sentence, whatever was stated before; it must hold a single
    value like any statement.
    """

    name: str = "numeric"
    tolerance: float = Field(default=1e-6, ge=0, allow_inf_nan=False)
    relative: float = Field(default=0.0, ge=0, lt=1, allow_inf_nan=False)
    percent: bool = False


class NumericRule:
    """1 where the reply's final number is the label's, else 0."""

    def __init__(self, config: NumericConfig | None = None) -> None:
        self.config = config or NumericConfig()

    def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> Verdict:
        """Return the verdict on a reply. Raises MissingLabel where the label holds no number, or several."""
        right = [self._right(text) for text in labels(label, metadata, self.config)]
        given = self.given(reply)
        if given is None:
            return failed(f"{NOTHING}: no single number is stated at the end")
        if any(abs(given - gold) <= max(self.config.tolerance, self.config.relative * abs(gold)) for gold in right):
            return passed()
        return failed(f"{given:.12g} is not {right[0]:.12g}")

    def given(self, reply: str) -> float | None:
        """Return the number that a reply states, None where it states none or several."""
        config = self.config
        if config.after or config.pattern or config.last:
            if config.last == "number":
                rest = extract(reply, config.model_copy(update={"last": ""}))
                return self._single(_last_sentence(rest))
            answer = extract(reply, config)
            return self._single(answer if config.pattern or config.last else _sentence(answer))
        text = reply[-config.max_chars :]
        statements = [found for found in map(self._values, _statements(text)) if found]
        if not statements:
            return self._single(_last_sentence(text))
        if len(set().union(*statements)) > MOST_STATED or len(statements[-1]) != 1:
            return None
        return next(iter(statements[-1]))

    def _values(self, text: str) -> frozenset[float]:
        return values(text, percent=self.config.percent)

    def _single(self, text: str) -> float | None:
        found = self._values(text)
        return next(iter(found)) if len(found) == 1 else None

    def _right(self, label: str) -> float:
        number = self._single(label)
        if number is None:
            raise MissingLabel(
                f"the label {label!r:.80} holds no single number; where it stands behind a marker, set label_after"
            )
        return number


def _statements(reply: str) -> Iterator[str]:
    for found in _STATED.finditer(reply):
        if found[0].endswith("boxed"):
            yield _braced(reply, found.end())
        else:
            rest = reply[found.end() : found.end() + 400].lstrip(" \t*_:=")
            # The value may stand in the next line, alone.
            yield _sentence(rest.lstrip("\n"))


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


class NumericGrader(ReadyGrader[NumericConfig]):
    """The rule as a grader of the SDK."""

    Config = NumericConfig

    def rule(self) -> NumericRule:
        """Return the rule with these options."""
        return NumericRule(self.options)
