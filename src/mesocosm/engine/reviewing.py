"""What people's verdicts say: which episodes to judge, agreement, fitness of judges, and scores of the run."""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.ports import EngineStore
from mesocosm.core.review import Answer, Order, Round, RoundItem, Verdict
from mesocosm.core.run import Run
from mesocosm.core.scan_question import SCANNED, YES_NO
from mesocosm.core.score import MALFORMED, Metric, Score
from mesocosm.engine.metrics import so_far
from mesocosm.stats import (
    Agreement,
    ConfusionCounts,
    Interval,
    agreement,
    alpha_interval,
    corrected_rate,
    fit,
    paired_rate_difference,
)

HUMAN = "human"
"""Name of the score and the metric made of people's verdicts. It never becomes primary."""

REVIEWED = {"reviewed": "by people"}
"""The part of the tasks that the metric covers: no other episode is missing from it."""

_METRIC = Metric(HUMAN, HUMAN, low=0.0, high=1.0, where=REVIEWED)
_CALLED = {"right": True, "wrong": False}


def draw(
    episodes: Sequence[Episode],
    *,
    sample: int | None,
    seed: int,
    order: Order,
    passing: "PassRules",
    earlier: Iterable[Verdict] = (),
) -> tuple[str, ...]:
    """Return the ids of the episodes of a round in their order.

    `sample` episodes are drawn at random by `seed`, all if None. With the order `disputed` those come first on which
    graders, or people who judged before (`earlier`), disagree; the drawing does not depend on the order.
    """
    chosen = (
        list(episodes) if sample is None else random.Random(seed).sample(list(episodes), min(sample, len(episodes)))
    )
    if order == "disputed":
        said: dict[str, list[Verdict]] = defaultdict(list)
        for verdict in earlier:
            said[verdict.episode_id].append(verdict)
        chosen.sort(key=lambda episode: -_disputes(passing.verdicts(episode), said[episode.id]))
    return tuple(episode.id for episode in chosen)


def _disputes(graders: Mapping[str, bool], said: Sequence[Verdict]) -> int:
    """Return how many pairs of graders and people disagree about an episode."""
    calls = [*graders.values(), *(_CALLED[one.answer] for one in said if one.answer in _CALLED)]
    doubts = sum(one.grader == "wrong" for one in said)
    return calls.count(True) * calls.count(False) + doubts


class PassRules:
    """Which scores of some runs say right or wrong: those with a threshold, and those that are 0 or 1."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._bars: dict[tuple[str, str], float] = {}
        self.primary: dict[str, str] = {}
        self._silent: set[tuple[str, str]] = set()
        for run in runs:
            try:
                metrics = run.terms.metrics
            except msgspec.ValidationError:  # An imported run may declare anything.
                continue
            # The thresholds of pass rates go before those of other metrics, as where passed episodes are listed.
            for metric in sorted(metrics, key=lambda metric: metric.aggregation == "pass_rate"):
                if metric.where.get(SCANNED, YES_NO) != YES_NO:
                    # A label, or a number without a threshold: 1 does not say that the answer is right.
                    self._silent.add((run.id, metric.score))
                if metric.aggregation == "pass_rate" or metric.primary:
                    self._bars[run.id, metric.score] = metric.bar
                if metric.primary:
                    self.primary[run.id] = metric.score

    def verdicts(self, episode: Episode) -> dict[str, bool]:
        """Return what each grader says of an episode, by the name of its score; others say neither right nor wrong."""
        return {
            score.name: passed
            for score in episode.scores
            if score.name not in {HUMAN, MALFORMED} and (passed := self.passed(episode.run_id, score)) is not None
        }

    def passed(self, run_id: str, score: Score) -> bool | None:
        """Return whether a score passes; None if it is missing, or neither 0 nor 1 without a threshold."""
        if score.worst:
            return False
        return self.value(run_id, score.name, score.value)

    def value(self, run_id: str, name: str, value: float | None) -> bool | None:
        """Return whether a value of a score passes, as `passed` does."""
        if value is None or (run_id, name) in self._silent:
            return None
        if value in {0.0, 1.0}:
            return value > self._bars.get((run_id, name), 0.5) if (run_id, name) in self._bars else value == 1
        bar = self._bars.get((run_id, name))
        # A primary score has the bar 0 where none was declared, which says nothing of values between 0 and 1.
        return None if not bar else value > bar


@dataclass(frozen=True, slots=True)
class Judged:
    """An item of a round with what people and graders say of it.

    `verdicts` are those that hold, without `settled`, which decides where they disagree. `called` is the word of the
    people: that of `settled`, else of the majority; empty without one.
    """

    item: RoundItem
    episode: Episode
    verdicts: tuple[Verdict, ...]
    settled: Verdict | None
    graders: dict[str, bool]

    @property
    def answers(self) -> list[Answer]:
        """What each person says of the answer, also that they cannot tell."""
        return [verdict.answer for verdict in self.verdicts]

    @property
    def called(self) -> Answer:
        """The word of the people."""
        if self.settled is not None:
            return self.settled.answer
        counts = Counter(answer for answer in self.answers if answer != "unsure").most_common(2)
        if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
            return ""
        return counts[0][0]

    @property
    def disputed(self) -> bool:
        """Whether people say different things and nobody has settled it."""
        return self.settled is None and len(set(self.answers)) > 1

    @property
    def dispute(self) -> float:
        """How far people are apart: 0 if all say the same, rising with the share that says something else."""
        return 1 - max(Counter(self.answers).values()) / len(self.answers) if self.disputed else 0.0

    def against(self, grader: str) -> bool:
        """Return whether people and a grader say the opposite."""
        return grader in self.graders and self.called in _CALLED and _CALLED[self.called] != self.graders[grader]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two people; None if no item was judged by both."""

    one: str
    other: str
    agreement: Agreement | None


@dataclass(frozen=True, slots=True)
class GraderAgreement:
    """Agreement of the word of the people with a grader or judge, and what follows for its scores.

    `bias` is how much more often the grader says right. `rate` is its share of right over all episodes of the runs,
    `corrected` what people would call right of them: None if the items are not drawn from all of them at random, or if
    it cannot be computed.
    """

    name: str
    primary: bool
    agreement: Agreement | None
    fit: bool
    confusion: ConfusionCounts
    bias: Interval | None
    rate: float | None
    corrected: Interval | None


@dataclass(frozen=True, slots=True)
class RoundReport:
    """What a round has found. `people` maps authors to names, in the order of their first verdicts."""

    items: tuple[Judged, ...]
    people: dict[str, str]
    pairs: tuple[PairAgreement, ...]
    alpha: Interval | None
    graders: tuple[GraderAgreement, ...]


def judged(
    items: Sequence[RoundItem], episodes: Sequence[Episode], verdicts: Sequence[Verdict], passing: PassRules
) -> tuple[Judged, ...]:
    """Return the items with the verdicts that hold (`verdicts`); those of deleted episodes are left out."""
    known = {episode.id: episode for episode in episodes}
    said: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        said[verdict.episode_id].append(verdict)
    found = []
    for item in items:
        if (episode := known.get(item.episode_id)) is None:
            continue
        mine = said[item.episode_id]
        settled = next((one for one in reversed(mine) if one.settles), None)
        plain = tuple(one for one in mine if not one.settles)
        found.append(Judged(item, episode, plain, settled, passing.verdicts(episode)))
    return tuple(found)


def report(
    made: Round, items: Sequence[Judged], passing: PassRules, rates: Callable[[str], tuple[int, int] | None]
) -> RoundReport:
    """Return agreement between people, and between people and graders.

    `rates` returns how many episodes of the runs a grader calls right, and of how many; None if the items are no random
    draw of them. `unsure` is no judgement: it counts in no agreement.
    """
    people = {one.author: one.author_name for item in items for one in item.verdicts}
    units = [[[answer for answer in item.answers if answer != "unsure"] for item in group] for group in _tasks(items)]
    names = dict.fromkeys(name for item in items for name in item.graders)
    # The graders that decide come first.
    ranked = sorted(names, key=lambda name: name not in passing.primary.values())
    return RoundReport(
        items=tuple(items),
        people=people,
        pairs=tuple(PairAgreement(a, b, _between(items, a, b)) for a, b in combinations(people, 2)),
        alpha=alpha_interval(units),
        graders=tuple(
            _grader(name, items, made.bar, rates(name), primary=name in passing.primary.values()) for name in ranked
        ),
    )


def _between(items: Sequence[Judged], one: str, other: str) -> Agreement | None:
    groups = []
    for group in _tasks(items):
        said = [{verdict.author: verdict.answer for verdict in item.verdicts} for item in group]
        pairs = [(found.get(one, "unsure"), found.get(other, "unsure")) for found in said]
        groups.append([pair for pair in pairs if "unsure" not in pair])
    return agreement(groups)


def _grader(
    name: str, items: Sequence[Judged], bar: float, rate: tuple[int, int] | None, *, primary: bool
) -> GraderAgreement:
    both = [item for item in items if name in item.graders and item.called in _CALLED]
    groups = [[(_CALLED[item.called], item.graders[name]) for item in group] for group in _tasks(both)]
    found = agreement(groups)
    cells = Counter((item.graders[name], _CALLED[item.called]) for item in both)
    table = ConfusionCounts(cells[True, True], cells[True, False], cells[False, True], cells[False, False])
    bias = paired_rate_difference(table.yes_yes, table.yes_no, table.no_yes, table.no_no) if table.n else None
    yes, n = rate or (0, 0)
    return GraderAgreement(
        name=name,
        primary=primary,
        agreement=found,
        fit=fit(found, bar),
        confusion=table,
        bias=bias,
        rate=yes / n if n else None,
        corrected=corrected_rate(yes, n, table) if n else None,
    )


def _tasks(items: Sequence[Judged]) -> list[list[Judged]]:
    """Return items grouped by task: the trials of one are not independent, and neither are two models' answers."""
    found: dict[str, list[Judged]] = defaultdict(list)
    for item in items:
        found[item.episode.cluster or item.episode.task_digest].append(item)
    return list(found.values())


def most_disputed(items: Iterable[Judged]) -> list[Judged]:
    """Return items in the order in which somebody should settle them: those furthest apart first."""
    return sorted(items, key=lambda item: (-item.dispute, item.item.number))


def human_score(item: Judged) -> Score | None:
    """Return what people say of an episode as a score; None if nobody said anything.

    1 for right, 0 for wrong. An episode that is disputed, faulty, or that nobody can tell about is skipped.
    """
    said = ((item.settled,) if item.settled else ()) + item.verdicts
    if not said:
        return None
    words = ", ".join(f"{one.author_name}: {one.answer}{' (settled)' if one.settles else ''}" for one in said)
    if item.called in _CALLED:
        return Score(HUMAN, float(_CALLED[item.called]), explanation=words)
    return Score(HUMAN, missing=Cause.SKIPPED, explanation=words)


def of_people(run: Run) -> tuple[Metric, ...]:
    """Return the metric of people's verdicts, which stays when a run is graded or measured again."""
    return tuple(metric for metric in run.terms.metrics if metric.name == HUMAN and metric.where == REVIEWED)


def added_metrics(run: Run) -> tuple[Metric, ...]:
    """Return the metrics that people and scans added, which stay when a run is graded or measured again."""
    return (*of_people(run), *(metric for metric in run.terms.metrics if SCANNED in metric.where))


def take_as_scores(run: Run, items: Sequence[Judged], store: EngineStore) -> Run:
    """Store what people say of the episodes of a run as its score and metric `human`, and return the run.

    Nothing is graded, and the primary metric stays what it was. Episodes in `items` without a verdict lose an earlier
    score. Raises UsageError if the run has a score of that name of its own, RunLeased while a process works on it.
    """
    owner = store.leases.owner()
    store.leases.take(run.id, owner)
    try:
        run = store.runs.get(run.id)
        mine = of_people(run)
        others = [metric for metric in run.terms.metrics if metric not in mine]
        named = any(HUMAN in {metric.name, metric.score} for metric in others)
        if named or (not mine and any(score.name == HUMAN for item in items for score in item.episode.scores)):
            raise UsageError(f"run {run.id} has a score {HUMAN!r} of its own; people's verdicts cannot be added")
        scored = []
        for item in items:
            kept = tuple(score for score in item.episode.scores if score.name != HUMAN)
            found = human_score(item)
            scored.append((item.episode.id, kept if found is None else (*kept, found)))
        store.episodes.save_scores(run.id, scored)
        run.info = {**run.info, "metrics": msgspec.to_builtins((*others, _METRIC))}
        run.provenance = {**run.provenance, "reviewed_at": time.time()}
        run.metrics = so_far(run, store)
        store.runs.save(run, terms=True)
        return store.runs.get(run.id)
    finally:
        store.leases.release(run.id, owner)
