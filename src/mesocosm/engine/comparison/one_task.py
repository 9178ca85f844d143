"""One task over all who tried it: who solves it, how much they vary, and what that says of the task."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mesocosm.core.verdict import Verdict
from mesocosm.stats import wilson
from mesocosm.stats.interval import Interval

FEWEST = 2
"""Models that must have tried a task before anything is said of it."""

COMPARED = 200
"""Characters of the longest answer that is compared with those of others."""


class Standing(StrEnum):
    """What those who tried a task say of it.

    `saturated`: all solve it; `unsolved`: none does; `disputed`: none does, and most give the same other answer;
    `varies`: some solve it, or not always; `untried`: too few models tried it.
    """

    SATURATED = "saturated"
    UNSOLVED = "unsolved"
    DISPUTED = "disputed"
    VARIES = "varies"
    UNTRIED = "untried"


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished episode of the task; `group` is the same for trials that only chance sets apart."""

    group: str
    player: str
    builtin: bool
    verdict: Verdict | None
    score: float | None
    given: str


@dataclass(frozen=True, slots=True)
class ModelTries:
    """The trials of one group: how many of the `judged` ones passed, and the range of their scores.

    `share` is None if none was judged. `given` is the most frequent answer, with how many gave it.
    """

    group: str
    player: str
    builtin: bool
    trials: int
    passed: int
    judged: int
    share: Interval | None
    low: float | None
    high: float | None
    given: str
    given_by: int

    @property
    def mixed(self) -> bool:
        """Whether it does not come out the same every time."""
        return 0 < self.passed < self.judged if self.judged else self.low != self.high


@dataclass(frozen=True, slots=True)
class TaskReading:
    """A task: those who tried it, models first, and what they say of it in one word and one sentence.

    `models` tried it, `solved` of them solve it at least half of the time. `repeated` groups have several trials,
    of which `mixed` did not come out the same every time.
    """

    tried: tuple[ModelTries, ...]
    standing: Standing
    words: str
    models: int
    solved: int
    repeated: int
    mixed: int


def read_task(trials: Iterable[Trial], expected: str = "") -> TaskReading:
    """Return what the trials of a task say of it; built-in agents are floor and ceiling, and not counted as models.

    `expected` is the right answer as a reader sees it; without it no answer is held against the reference.
    """
    groups: dict[str, list[Trial]] = {}
    for one in trials:
        groups.setdefault(one.group, []).append(one)
    tried = sorted(map(_tried, groups.values()), key=lambda one: (one.builtin, -(one.share.value if one.share else 0)))
    models: dict[str, list[ModelTries]] = {}
    for group in tried:
        if not group.builtin and group.judged:
            models.setdefault(group.player, []).append(group)
    solved = sum(2 * sum(one.passed for one in own) >= sum(one.judged for one in own) for own in models.values())
    standing, words = _standing(models, solved, tried, expected)
    several = [one for one in tried if one.trials > 1 and not one.builtin]
    return TaskReading(
        tuple(tried), standing, words, len(models), solved, len(several), sum(one.mixed for one in several)
    )


def _tried(group: Sequence[Trial]) -> ModelTries:
    first = group[0]
    judged = [one.verdict for one in group if one.verdict in {Verdict.PASSED, Verdict.NOT_PASSED}]
    passed = judged.count(Verdict.PASSED)
    scores = [one.score for one in group if one.score is not None]
    answers = Counter(one.given for one in group if one.given)
    given, given_by = answers.most_common(1)[0] if answers else ("", 0)
    share = wilson(passed, len(judged)) if judged else None
    low, high = (min(scores), max(scores)) if scores else (None, None)
    return ModelTries(
        first.group, first.player, first.builtin, len(group), passed, len(judged), share, low, high, given, given_by
    )


def _standing(
    models: dict[str, list[ModelTries]], solved: int, tried: Sequence[ModelTries], expected: str
) -> tuple[Standing, str]:
    count = len(models)
    if count < FEWEST:
        return Standing.UNTRIED, "Fewer than two models tried it, so nothing can be said of the task."
    ever = any(one.passed for own in models.values() for one in own)
    always = all(one.passed == one.judged for own in models.values() for one in own)
    every = "both models" if count == 2 else f"all {count} models"
    if always:
        floor = any(one.builtin and one.passed and not one.player.startswith("oracle") for one in tried)
        guessed = " A built-in agent that knows nothing passes too." if floor else ""
        return Standing.SATURATED, f"Solved by {every} every time: it tells them no longer apart (saturated).{guessed}"
    if ever:
        several = any(one.judged > 1 for own in models.values() for one in own)
        return (
            Standing.VARIES,
            f"Solved by {solved} of {count} models{' at least half of the time' if several else ''}.",
        )
    none = "neither of two models" if count == 2 else f"none of {count} models"
    answer, by = _agreed(models)
    if expected and 2 * by > count and by >= FEWEST and _same_as(answer) != _same_as(expected):
        who = "Both models answer" if by == count == 2 else f"{by} of {count} models answer"
        return Standing.DISPUTED, f"{who} {answer}, the reference says {expected}: look at the reference."
    wrong = "its reference is wrong" if expected else "broken"
    return Standing.UNSOLVED, f"Solved by {none}: too hard, or {wrong}."


def _agreed(models: dict[str, list[ModelTries]]) -> tuple[str, int]:
    """Return the answer that most models give, each its most frequent one, and by how many it is given."""
    shown: dict[str, str] = {}
    votes: Counter[str] = Counter()
    for own in models.values():
        given = max(own, key=lambda one: one.given_by).given
        if given and len(given) <= COMPARED:
            key = _same_as(given)
            shown.setdefault(key, given)
            votes[key] += 1
    if not votes:
        return "", 0
    key, by = votes.most_common(1)[0]
    return shown[key], by


def _same_as(answer: str) -> str:
    """Return what is equal for answers that mean the same: the number, or the words without case and full stop."""
    words = " ".join(answer.casefold().split()).rstrip(".")
    try:
        return str(float(words.replace(",", "").strip("$€£ ")))
    except ValueError:
        return words
