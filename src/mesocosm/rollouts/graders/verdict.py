"""The result of a rule."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class GraderVerdict:
    """`value` is the reward, from 0 to 1; `scores` are further numbers by name; `explanation` is for readers."""

    value: float
    scores: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""


NOTHING = "there is no answer"


def passed(explanation: str = "") -> GraderVerdict:
    """Return the verdict with the full reward."""
    return GraderVerdict(1.0, explanation=explanation)


def failed(explanation: str) -> GraderVerdict:
    """Return the verdict without reward, and why."""
    return GraderVerdict(0.0, explanation=explanation)
