"""How far a grader can be trusted: compare its scores with human scores of the same answers.

Pass and fail: agreement, Cohen's kappa (Cohen 1960, Educational and Psychological Measurement 20:37) and the four
counts behind them. Scores: Pearson's and Spearman's correlation and the signed bias. The trials of a task form one
cluster: agreement by `proportion_clustered` (Wilson if every task has one trial), bias and kappa by the cluster-robust
error, kappa through its influence values (delta method, as Fleiss, Cohen & Everitt 1969, Psychological Bulletin
72:323), correlations by Fisher's z on the number of tasks (Bonett & Wright 2000, Psychometrika 65:23, for Spearman's).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mesocosm.core.episode import Episode
from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.stats.distribution import normal_quantile
from mesocosm.stats.interval import Interval, Method, clustered_error, critical_value
from mesocosm.stats.mean import clustered, proportion_clustered

FEW = 30
"""Number of labelled answers below which a threshold fitted to them is mostly chance."""
TASK_COLUMNS = ("row", "task", "task_id", "row_index", "id")
HUMAN_COLUMNS = ("human", "human_score", "score", "label", "rating")
_WORDS = {"true": 1.0, "yes": 1.0, "pass": 1.0, "passed": 1.0, "false": 0.0, "no": 0.0, "fail": 0.0, "failed": 0.0}


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """A human score of an answer, from 0 to 1. If `trial` is None, it applies to all trials of the task."""

    task: str
    trial: int | None
    score: float


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """The grader's and the human score of one answer, both from 0 to 1."""

    task: str
    judged: float
    human: float


@dataclass(frozen=True, slots=True)
class Matched:
    """Labels joined with a run. `unknown` labels match no episode; `unscored` episodes have no score to compare."""

    pairs: tuple[ScoredAnswer, ...]
    unknown: tuple[str, ...]
    unscored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Confusion:
    """How many answers pass with both, with the grader only, with humans only, with neither."""

    both: int
    grader_only: int
    human_only: int
    neither: int

    @property
    def agreeing(self) -> int:
        """Number of answers on which both agree."""
        return self.both + self.neither


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The threshold with the highest agreement between grader and humans, and that agreement, in these labels."""

    threshold: float
    agreement: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The results of a calibration; a value that the labels do not allow is None, with the reason in `warnings`."""

    n: int
    tasks: int
    threshold: float
    human_threshold: float
    agreement: Interval
    confusion: Confusion
    kappa: Interval | None
    pearson: Interval | None
    spearman: Interval | None
    bias: Interval
    suggested: Suggestion
    warnings: tuple[str, ...]


def read_labels(
    rows: Sequence[Mapping[str, object]], subject: str, *, low: float = 0.0, high: float = 1.0
) -> list[HumanLabel]:
    """Return the labels in the rows of a table, scaled from `low`..`high` to 0..1.

    The task is read from the first of `TASK_COLUMNS` that has a value, the score from the first of `HUMAN_COLUMNS`, the
    optional trial from `trial`. Raises UsageError for an impossible scale, InvalidInput with all problems.
    """
    if not low < high:
        raise UsageError(f"a scale from {low:g} to {high:g} is none; the lower end comes first")
    problems: list[Problem] = []
    labels: list[HumanLabel] = []
    seen: set[tuple[str, int | None]] = set()
    for number, row in enumerate(rows, start=1):
        try:
            label = _label(row, low, high)
        except ValueError as error:
            problems.append(Problem(f"row {number}", str(error)))
            continue
        if (label.task, label.trial) in seen:
            problems.append(Problem(f"row {number}", f"task {label.task!r} is labelled twice; keep one line for each"))
        seen.add((label.task, label.trial))
        labels.append(label)
    if problems:
        raise InvalidInput(subject, problems)
    return labels


def _label(row: Mapping[str, object], low: float, high: float) -> HumanLabel:
    task, human, trial = _first(row, TASK_COLUMNS), _first(row, HUMAN_COLUMNS), row.get("trial")
    score = _number(human, "the score")
    if not low <= score <= high:
        raise ValueError(
            f"the score {score:g} lies outside the scale {low:g} to {high:g}; give the scale of the labels"
        )
    if trial in (None, ""):
        return HumanLabel(_name(task), None, (score - low) / (high - low))
    number = _number(trial, "the trial")
    if number < 0 or not number.is_integer():
        raise ValueError(f"the trial {trial!r} is not a whole number from 0")
    return HumanLabel(_name(task), int(number), (score - low) / (high - low))


def _first(row: Mapping[str, object], columns: Sequence[str]) -> object:
    for column in columns:
        if row.get(column) not in (None, ""):
            return row[column]
    raise ValueError(f"there is no value in any of the columns {', '.join(columns)}")


def _name(task: object) -> str:
    return str(int(task)) if isinstance(task, float) and task.is_integer() else str(task).strip()


def _number(value: object, what: str) -> float:
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{what} is {value!r:.40}, and should be a number")
    return number


def matched(labels: Iterable[HumanLabel], episodes: Iterable[Episode], score: str) -> Matched:
    """Return labels and episodes of a run, joined by task and trial.

    `score` names the score to compare. An episode without it, or one that failed before it was graded, is unscored.
    """
    by_task: dict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        by_task[episode.task_id].append(episode)
    pairs: list[ScoredAnswer] = []
    unknown: list[str] = []
    unscored: list[str] = []
    for label in labels:
        meant = [episode for episode in by_task.get(label.task, ()) if label.trial in (None, episode.trial)]
        name = label.task if label.trial is None else f"{label.task} (trial {label.trial})"
        if not meant:
            unknown.append(name)
        for episode in meant:
            value = next((held.value for held in episode.scores if held.name == score and not held.worst), None)
            if value is None:
                unscored.append(f"{episode.task_id} (trial {episode.trial})")
            else:
                pairs.append(ScoredAnswer(label.task, value, label.score))
    return Matched(tuple(pairs), tuple(unknown), tuple(unscored))


def calibrate(pairs: Sequence[ScoredAnswer], *, threshold: float = 0.5, human_threshold: float = 0.5) -> Calibration:
    """Return the agreement of grader and humans; scores from the threshold on pass. Raises UsageError without pairs."""
    if not pairs:
        raise UsageError("there is nothing to calibrate with: no label belongs to an answer that was scored")
    clusters = _by_task(pairs)
    agrees = [[_agrees(pair, threshold, human_threshold) for pair in group] for group in clusters]
    confusion = _confusion(pairs, threshold, human_threshold)
    kappa = _kappa(clusters, threshold, human_threshold)
    judged, human = [pair.judged for pair in pairs], [pair.human for pair in pairs]
    pearson = _correlation(judged, human, len(clusters), "pearson", lambda _: 1.0)
    spearman = _correlation(_ranks(judged), _ranks(human), len(clusters), "spearman", lambda r: 1 + r * r / 2)
    return Calibration(
        n=len(pairs),
        tasks=len(clusters),
        threshold=threshold,
        human_threshold=human_threshold,
        agreement=proportion_clustered([(len(group), sum(group)) for group in agrees]),
        confusion=confusion,
        kappa=kappa,
        pearson=pearson,
        spearman=spearman,
        bias=_bias(clusters),
        suggested=suggest(pairs, threshold, human_threshold),
        warnings=tuple(_warnings(len(pairs), kappa, pearson)),
    )


def _bias(clusters: Sequence[Sequence[ScoredAnswer]]) -> Interval:
    found = clustered([[pair.judged - pair.human for pair in group] for group in clusters])
    return found.clipped(-1.0, 1.0) if len(clusters) > 1 else found


def _warnings(n: int, kappa: Interval | None, pearson: Interval | None) -> Iterator[str]:
    if n < FEW:
        yield f"only {n} labelled answers: the suggested threshold fits these, and maybe no others; label {FEW} or more"
    if kappa is None:
        yield "kappa does not exist: grader and people each gave all answers the same verdict"
    if pearson is None:
        yield "correlations do not exist: the grader or the people gave every answer the same score"


def _by_task(pairs: Sequence[ScoredAnswer]) -> list[list[ScoredAnswer]]:
    groups: dict[str, list[ScoredAnswer]] = defaultdict(list)
    for pair in pairs:
        groups[pair.task].append(pair)
    return list(groups.values())


def _agrees(pair: ScoredAnswer, threshold: float, human_threshold: float) -> bool:
    return (pair.judged >= threshold) == (pair.human >= human_threshold)


def _confusion(pairs: Sequence[ScoredAnswer], threshold: float, human_threshold: float) -> Confusion:
    seen = [(pair.judged >= threshold, pair.human >= human_threshold) for pair in pairs]
    return Confusion(*(seen.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))))


def _kappa(clusters: Sequence[Sequence[ScoredAnswer]], threshold: float, human_threshold: float) -> Interval | None:
    """Return Cohen's kappa, or None if agreement by chance is certain."""
    cells = [[(pair.judged >= threshold, pair.human >= human_threshold) for pair in group] for group in clusters]
    flat = [cell for group in cells for cell in group]
    p, q = (sum(side) / len(flat) for side in zip(*flat, strict=True))
    observed = sum(one == other for one, other in flat) / len(flat)
    chance = p * q + (1 - p) * (1 - q)
    if chance == 1:
        return None
    kappa = (observed - chance) / (1 - chance)

    def influence(cell: tuple[bool, bool]) -> float:
        one, other = cell
        by_chance = (2 * q - 1) * (one - p) + (2 * p - 1) * (other - q)
        change = ((one == other) - observed) * (1 - chance) - by_chance * (1 - observed)
        return float(change / ((1 - chance) * (1 - chance)))

    if len(cells) < 2:
        return Interval(kappa, -1.0, 1.0, len(flat), "none")
    sums = [math.fsum(map(influence, group)) for group in cells]
    margin = critical_value(0.95, len(cells) - 1) * clustered_error(sums, list(map(len, cells)), 0.0)
    return Interval(kappa, *_clipped(kappa - margin, kappa + margin), len(flat), "influence")


def _clipped(low: float, high: float) -> tuple[float, float]:
    return max(-1.0, low), min(1.0, high)


def _correlation(
    xs: Sequence[float], ys: Sequence[float], units: int, method: Method, spread: Callable[[float], float]
) -> Interval | None:
    """Return a correlation, by Fisher's z with variance `spread(r) / (units - 3)`; None if a side is constant."""
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    dx, dy = [x - mean_x for x in xs], [y - mean_y for y in ys]
    size = math.hypot(*dx) * math.hypot(*dy)
    if size == 0:
        return None
    r = max(-1.0, min(1.0, _product(dx, dy) / size))
    if units < 4 or abs(r) == 1:
        return Interval(r, *((-1.0, 1.0) if units < 4 else (r, r)), len(xs), method)
    margin = normal_quantile(0.975) * math.sqrt(spread(r) / (units - 3))
    return Interval(r, math.tanh(math.atanh(r) - margin), math.tanh(math.atanh(r) + margin), len(xs), method)


def _product(xs: Sequence[float], ys: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(xs, ys, strict=True))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    return ranks


def suggest(pairs: Sequence[ScoredAnswer], threshold: float, human_threshold: float) -> Suggestion:
    """Return the threshold with the most agreement, midway between two scores; of ties, the one nearest `threshold`."""
    ordered = sorted(pairs, key=lambda pair: pair.judged)
    # A threshold below all scores passes everything, which is right for the answers that humans passed.
    agreeing = sum(pair.human >= human_threshold for pair in ordered)
    best = [(agreeing, ordered[0].judged)]
    for place, pair in enumerate(ordered):
        agreeing += 1 if pair.human < human_threshold else -1
        if place + 1 < len(ordered) and ordered[place + 1].judged > pair.judged:
            best.append((agreeing, (pair.judged + ordered[place + 1].judged) / 2))
    most = max(agreeing for agreeing, _ in best)
    chosen = min((place for agreeing, place in best if agreeing == most), key=lambda place: abs(place - threshold))
    now = sum(_agrees(pair, threshold, human_threshold) for pair in pairs)
    return Suggestion(threshold if now >= most else chosen, max(now, most) / len(pairs))
