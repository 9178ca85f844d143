"""Grade an answer that must equal the label, character by character."""

from collections.abc import Mapping
from typing import Any, ClassVar

from mesocosm.rollouts.graders.answer import AnswerConfig, extract, labels
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, RuleGrader, failed, passed


class ExactConfig(AnswerConfig):
    """Options of the grader `exact`: those of AnswerConfig."""

    name: str = "exact"


class ExactRule:
    """Grade 1 if the answer equals the label, ignoring surrounding white space, else 0."""

    def __init__(self, config: ExactConfig | None = None) -> None:
        self.config: ExactConfig = config or ExactConfig()

    def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Return the verdict on a reply. Raises MissingLabel."""
        right = labels(label, metadata, self.config)
        answer = extract(reply, self.config)
        if not answer:
            return failed(NOTHING)
        return passed() if answer in right else failed(f"{answer!r:.200} is not {right[0]!r:.200}")


class ExactGrader(RuleGrader[ExactConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[ExactConfig]] = ExactConfig
    Rule = ExactRule
