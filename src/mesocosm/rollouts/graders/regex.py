"""Grade an answer by a regular expression."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from mesocosm.rollouts.graders.answer import AnswerConfig, extract, labels
from mesocosm.rollouts.graders.matching import TooSlow, check_pattern, found
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, RuleGrader, failed, passed

LABEL = "{label}"
_ANYTHING = ("0", "no", "\x00", "Zq7 - !")
_ANY_TEXT = ("12345", "I do not know.", "Zq7 - !")


class RegexConfig(AnswerConfig):
    """Options of the grader `regex`.

    `match`: the expression that the whole answer must match; with `anywhere`, some part of it. `{label}` in it is
    replaced by the label as literal text. With `group` (a number or a name), all matches of that group must equal the
    label. `ignore_case`, `multiline`, `dotall` as in Python.
    """

    name: str = "regex"
    match: str = Field(min_length=1, max_length=5000)
    anywhere: bool = False
    group: int | str | None = None
    ignore_case: bool = False
    multiline: bool = False
    dotall: bool = False

    @property
    def flags(self) -> int:
        """The flags as Python's integer."""
        chosen = {re.IGNORECASE: self.ignore_case, re.MULTILINE: self.multiline, re.DOTALL: self.dotall}
        return int(sum(flag for flag, on in chosen.items() if on))

    @model_validator(mode="after")
    def _sound(self) -> "RegexConfig":
        pattern = _with_label(self.match, "label")
        check_pattern(pattern, self.flags)
        compiled = re.compile(pattern, self.flags)
        if isinstance(self.group, str) and self.group not in compiled.groupindex:
            raise ValueError(f"match has no group called {self.group!r}")
        if isinstance(self.group, int) and not 0 <= self.group <= compiled.groups:
            raise ValueError(f"match has {compiled.groups} groups, and none with number {self.group}")
        if self.group is None:
            matches = compiled.search if self.anywhere else compiled.fullmatch
            if any(all(map(matches, texts)) for texts in (_ANYTHING, _ANY_TEXT)):
                raise ValueError("match accepts any answer whatever; say what a right one must look like")
        return self


def _with_label(match: str, label: str) -> str:
    return match.replace(LABEL, f"(?:{re.escape(label)})")


class RegexRule:
    """Grade 1 if the expression matches, else 0. An answer on which it takes too long gets 0."""

    def __init__(self, config: RegexConfig) -> None:
        self.config = config

    def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Return the verdict on a reply. Raises MissingLabel if the expression needs a label and the row has none."""
        config = self.config
        compared = config.group is not None or LABEL in config.match
        right = labels(label, metadata, config) if compared else [""]
        try:
            answer = extract(reply, config)
            if not answer:
                return failed(NOTHING)
            return (
                passed() if any(self._fits(answer, text) for text in right) else failed("the expression finds nothing")
            )
        except TooSlow as error:
            return GraderVerdict(0.0, {"match_too_slow": 1.0}, str(error))

    def _fits(self, answer: str, label: str) -> bool:
        config = self.config
        pattern = _with_label(config.match, label)
        group = 0 if config.group is None else config.group
        hits = found(pattern, answer, flags=config.flags, full=not config.anywhere, group=group)
        return {hit.strip() for hit in hits} == {label} if config.group is not None else bool(hits)


class RegexGrader(RuleGrader[RegexConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[RegexConfig]] = RegexConfig
    Rule = RegexRule
    slow = True
