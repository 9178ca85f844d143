"""The common part of all ready-made graders: pass the sample to a rule, and set the reward from its verdict."""

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from mesocosm.rollouts.graders.answer import AnswerConfig, answer_text
from mesocosm.rollouts.sdk.config import GraderConfig
from mesocosm.rollouts.sdk.context import GraderContext
from mesocosm.rollouts.sdk.workflow import Grader

EXPLANATION = "explanation"
"""The extra field of a sample that explains its reward."""

NOTHING = "there is no answer"

C = TypeVar("C", bound=AnswerConfig)


@dataclass(frozen=True, slots=True)
class GraderVerdict:
    """`value` is the reward, from 0 to 1; `scores` are further numbers by name; `explanation` is for readers."""

    value: float
    scores: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""


def passed(explanation: str = "") -> GraderVerdict:
    """Return the verdict with the full reward."""
    return GraderVerdict(1.0, explanation=explanation)


def failed(explanation: str) -> GraderVerdict:
    """Return the verdict without reward, and why."""
    return GraderVerdict(0.0, explanation=explanation)


class AnswerRule(Protocol):
    """Grades an answer, independent of samples."""

    def grade(self, reply: str, label: str | None, metadata: dict[str, Any] | None) -> GraderVerdict:
        """Grade a whole reply. Raises MissingLabel if the row has no right answer."""
        ...


class ReadyGrader(Grader, Generic[C]):
    """A grader whose options are keyword arguments (`NumericGrader(after="A:")`) or a configuration."""

    Config: ClassVar[type[AnswerConfig]]

    def __init__(self, config: GraderConfig | None = None, **options: Any) -> None:
        chosen = config
        if options or not isinstance(config, self.Config):
            given = {} if config is None else config.model_dump(exclude_unset=True, by_alias=True)
            chosen = self.Config.model_validate({**given, **options})
        super().__init__(chosen)
        self.options: C = chosen  # type: ignore[assignment]  # validated against Config, which is C

    def lacking(self) -> str:
        """Return what is not installed on this machine and is needed, and how to get it; empty if nothing is."""
        return ""

    @abstractmethod
    async def verdict(self, ctx: GraderContext, reply: str) -> GraderVerdict:
        """Grade a reply. Raises ValueError if the row has no right answer."""

    async def grade(self, ctx: GraderContext) -> None:
        """Set the reward, the named scores and the explanation. Raises ValueError if the row cannot be graded."""
        if ctx.sample is None:
            raise ValueError(
                "there is no sample to grade: the workflow returned no messages and registered no source of samples"
            )
        verdict = await self.verdict(ctx, answer_text(ctx.sample.messages))
        for name, value in verdict.scores.items():
            ctx.set_score(name, value)
        if verdict.explanation:
            ctx.sample.extra_fields[EXPLANATION] = verdict.explanation
        ctx.set_reward(verdict.value)


class RuleGrader(ReadyGrader[C]):
    """A grader that applies a rule to the reply only."""

    Rule: ClassVar[type[Any]]
    slow: ClassVar[bool] = False

    def rule(self) -> AnswerRule:
        """Return the rule with these options."""
        rule: AnswerRule = self.Rule(self.options)
        return rule

    async def verdict(self, ctx: GraderContext, reply: str) -> GraderVerdict:
        """Apply the rule to a reply; in a thread if it uses users' expressions, which may be slow."""
        rule, label, metadata = self.rule(), ctx.label, ctx.metadata
        if self.slow or self.options.pattern:
            return await asyncio.to_thread(rule.grade, reply, label, metadata)
        return rule.grade(reply, label, metadata)
