"""Whether our run of a framework's benchmark says the same as the framework's own runner, value by value."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from mesocosm.guests.messages import OriginalSample

ROUNDING = 1e-9
"""Differences up to this are those of adding in another order."""

Values = Mapping[str, float]


class GuestSample(msgspec.Struct, frozen=True):
    """One task as one side played it: the scores that it has, and why it failed, if it did."""

    task: str
    trial: int
    scores: dict[str, float]
    failed: str = ""


class ScoreDifference(msgspec.Struct, frozen=True):
    """A score that the two sides disagree about; None is no score."""

    task: str
    trial: int
    score: str
    theirs: float | None
    ours: float | None


class SamplePair(msgspec.Struct, frozen=True):
    """A sample on both sides; None if a side has not played it."""

    task: str
    trial: int
    theirs: GuestSample | None
    ours: GuestSample | None

    @property
    def differences(self) -> list[ScoreDifference]:
        """What differs, by the names of scores."""
        theirs = self.theirs.scores if self.theirs is not None else {}
        ours = self.ours.scores if self.ours is not None else {}
        names = dict.fromkeys((*theirs, *ours))
        found = [ScoreDifference(self.task, self.trial, name, theirs.get(name), ours.get(name)) for name in names]
        return [one for one in found if not _same(one.theirs, one.ours)]

    @property
    def equal(self) -> bool:
        """Whether both sides played it, with the same scores."""
        return self.theirs is not None and self.ours is not None and not self.differences


def their_samples(samples: Iterable[OriginalSample], tasks: Sequence[str]) -> list[GuestSample]:
    """Return what the framework's own runner told; `tasks` are the ids of the tasks by their places."""
    return [
        GuestSample(
            tasks[sample.place],
            sample.trial,
            {score.name: score.value for score in sample.scores if score.value is not None},
            sample.failed,
        )
        for sample in samples
    ]


def paired(theirs: Iterable[GuestSample], ours: Iterable[GuestSample]) -> list[SamplePair]:
    """Return the samples of both sides by task and trial, in the order of ours."""
    one = {(sample.task, sample.trial): sample for sample in theirs}
    other = {(sample.task, sample.trial): sample for sample in ours}
    return [SamplePair(*place, one.get(place), other.get(place)) for place in dict.fromkeys((*other, *one))]


def _same(theirs: float | None, ours: float | None) -> bool:
    if theirs is None or ours is None:
        return theirs is ours
    return abs(theirs - ours) <= ROUNDING * max(1.0, abs(theirs))
