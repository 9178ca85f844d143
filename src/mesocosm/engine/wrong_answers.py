"""The wrong answers of a run taken apart: how many of each kind, with intervals, and beside another run."""

from dataclasses import dataclass
from typing import Protocol

from mesocosm.stats import rate_difference, wilson
from mesocosm.stats.interval import Interval

SHOWN = 50
"""Most groups that are returned: those with the most answers."""


class CountedGroup(Protocol):
    """Wrong answers with the same value, and the position of the first of them in the plan."""

    @property
    def value(self) -> str | None:
        """What they have in common; None for those without one."""
        ...

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    @property
    def first(self) -> int:
        """The position of the first one in the plan."""
        ...


class WrongSamples(Protocol):
    """What is needed of the store."""

    def wrong_groups(self, run_id: str, by: str) -> tuple[CountedGroup, ...]:
        """Return the wrong answers of a run grouped by a field, the most frequent first. Raise UsageError."""
        ...


@dataclass(frozen=True, slots=True)
class WrongKind:
    """One group: its share of the wrong answers, and the difference to its share in the other run.

    `first` is the position of its first episode in the plan. `other` is the number in the other run.
    """

    value: str | None
    count: int
    share: Interval
    first: int
    other: int | None = None
    difference: Interval | None = None


@dataclass(frozen=True, slots=True)
class WrongAnswers:
    """The wrong answers of a run by one field; `more` kinds are not shown. `other_wrong` is the other run's number."""

    by: str
    wrong: int
    kinds: tuple[WrongKind, ...]
    more: int
    other_wrong: int | None = None


def wrong_answers(store: WrongSamples, run_id: str, by: str, against: str = "") -> WrongAnswers:
    """Return the wrong answers of a run by `by`, the agent's own failures among them.

    Shares have Wilson intervals; differences to the run `against` are of independent shares. Raises UsageError for an
    unknown field.
    """
    groups = store.wrong_groups(run_id, by)
    wrong = sum(group.count for group in groups)
    beside = {group.value: group.count for group in store.wrong_groups(against, by)} if against else None
    all_beside = sum(beside.values()) if beside is not None else 0
    kinds = []
    for group in groups[:SHOWN]:
        other = None if beside is None else beside.get(group.value, 0)
        difference = None if other is None or not all_beside else rate_difference(group.count, wrong, other, all_beside)
        kinds.append(WrongKind(group.value, group.count, wilson(group.count, wrong), group.first, other, difference))
    return WrongAnswers(by, wrong, tuple(kinds), max(len(groups) - SHOWN, 0), None if beside is None else all_beside)
