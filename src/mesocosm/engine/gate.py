"""Conditions that a comparison must not meet, for gates in continuous integration.

regression p<0.05       a later run is worse than the first, and chance would do that less often than so
regression              the same, where the comparison names the first run the winner
regression>0.02         the score fell by more than so much, whatever chance has to do with it
missing>2%              more than this share of a run's planned episodes has no value
score<0.8               the score of a later run lies below
failed>0                so many episodes of a run failed
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mesocosm.core.failure import UsageError
from mesocosm.core.run import Run
from mesocosm.engine.comparison import Comparison, Group, Pair

KINDS = ("regression", "missing", "score", "failed")
_CONDITION = re.compile(
    r"(?P<kind>[A-Za-z_][\w.@^-]*)\s*(?:(?P<p>p)\s*)?(?:(?P<sign><=|>=|<|>)\s*(?P<number>[0-9.eE+-]+)\s*(?P<percent>%)?)?"
)
_EXAMPLES = "'regression p<0.05', 'regression>0.02', 'missing>2%', 'score<0.8', 'failed>0'"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: what is looked at, how it is compared, with which number; `by_chance` compares the p value."""

    text: str
    kind: str
    sign: str = ""
    number: float = 0.0
    by_chance: bool = False

    def holds(self, value: float) -> bool:
        """Return whether `value` meets the condition."""
        match self.sign:
            case "<":
                return value < self.number
            case "<=":
                return value <= self.number
            case ">":
                return value > self.number
        return value >= self.number


@dataclass(frozen=True, slots=True)
class Verdict:
    """One condition looked at in one place: `subject` names it, `broken` says what was found where it is met."""

    condition: str
    benchmark: str
    subject: str
    broken: str = ""


def read_condition(text: str, *, anything: bool = False) -> Condition:
    """Return the condition that `text` spells. Raises UsageError with examples.

    With `anything` any word may be compared with a number: the name of a metric, for `judge_run`.
    """
    match = _CONDITION.fullmatch(text.strip())
    kind = match["kind"] if match else ""
    if match is None or (kind not in KINDS and not anything):
        raise UsageError(f"{text!r} is no condition; write for example {_EXAMPLES}")
    by_chance, sign = bool(match["p"]), match["sign"] or ""
    if (by_chance and (kind != "regression" or sign not in {"<", "<="})) or (not sign and kind != "regression"):
        raise UsageError(f"{text!r} says too little or does not fit {kind}; write for example {_EXAMPLES}")
    try:
        number = float(match["number"] or 0) / (100 if match["percent"] else 1)
    except ValueError as error:
        raise UsageError(f"{match['number']!r} in {text!r} is no number") from error
    if not math.isfinite(number):
        raise UsageError(f"{text!r} names no number to compare with")
    return Condition(text.strip(), kind, sign, number, by_chance)


def judge(found: Comparison, conditions: Sequence[Condition]) -> tuple[Verdict, ...]:
    """Return a verdict for each condition in each place that it concerns.

    What cannot be compared at all (a run without a score) breaks every condition about regressions and scores: a gate
    must not open because there is nothing to see.
    """
    return tuple(verdict for condition in conditions for group in found.groups for verdict in _judged(group, condition))


def judge_run(run: Run, conditions: Sequence[Condition]) -> tuple[Verdict, ...]:
    """Return a verdict for each condition about one run: `score` (the primary metric), `failed`, `missing`, any metric.

    A metric that it does not have, or that has no value, breaks its condition.
    """
    return tuple(_alone(run, condition) for condition in conditions)


def _alone(run: Run, condition: Condition) -> Verdict:
    subject, kind = _named(run), condition.kind
    if kind == "failed":
        count = run.counts.failed
        return _verdict(condition, run.benchmark, subject, f"{count:,} failed", broken=condition.holds(count))
    primary = run.primary
    if kind == "missing":
        lacking, planned = (sum(primary.missing.values()), primary.n_planned) if primary else (1, 1)
        share = lacking / planned if planned else 0.0
        told = f"{lacking:,} of {planned:,} have no value ({share:.1%})"
        return _verdict(condition, run.benchmark, subject, told, broken=primary is None or condition.holds(share))
    metric = primary if kind == "score" else next((one for one in run.metrics if one.name == kind), None)
    if metric is None:
        names = ", ".join(one.name for one in run.metrics) or "none"
        return _verdict(condition, run.benchmark, subject, f"it has no metric {kind!r}; it has {names}", broken=True)
    if metric.value is None:
        return _verdict(condition, run.benchmark, subject, f"{metric.name} has no value", broken=True)
    told = f"{metric.name} is {metric.value:.4f}"
    return _verdict(condition, run.benchmark, subject, told, broken=condition.holds(metric.value))


def _judged(group: Group, condition: Condition) -> Iterator[Verdict]:
    name = group.runs[0].benchmark
    for run, score in zip(group.runs, group.scores, strict=True):
        if condition.kind == "missing":
            lacking, planned = (sum(score.missing.values()), score.n_planned) if score else (1, 1)
            share = lacking / planned if planned else 0.0
            told = f"{lacking:,} of {planned:,} have no value ({share:.1%})" if score else "it has no score"
            yield _verdict(condition, name, _named(run), told, broken=score is None or condition.holds(share))
        elif condition.kind == "failed":
            count = run.counts.failed
            yield _verdict(condition, name, _named(run), f"{count:,} episodes failed", broken=condition.holds(count))
    for place, run in enumerate(group.runs[1:], 1):
        if condition.kind == "score":
            score = group.scores[place]
            value = None if score is None else score.value
            told = "it has no score" if value is None else f"{group.scores[place].name} is {value:.4f}"  # type: ignore[union-attr]
            yield _verdict(condition, name, _named(run), told, broken=value is None or condition.holds(value))
        elif condition.kind == "regression":
            pair = next((pair for pair in group.pairs if pair.b == run.id), None)
            subject = f"{_named(run)} against {_named(group.runs[0])}"
            yield _regression(condition, group, name, subject, pair)


def _regression(condition: Condition, group: Group, name: str, subject: str, pair: Pair | None) -> Verdict:
    if pair is None or group.metric is None:
        return _verdict(condition, name, subject, "they cannot be compared", broken=True)
    delta = pair.contrast.delta
    worse = -delta.value if group.metric.higher_is_better else delta.value
    told = f"{group.metric.name} {delta.value:+.4f} [{delta.low:.4f}, {delta.high:.4f}], p = {pair.p_adjusted:.3g}"
    if condition.by_chance:
        broken = worse > 0 and condition.holds(pair.p_adjusted)
    elif condition.sign:
        broken = condition.holds(worse)
    else:
        broken = pair.winner == "a"
    return _verdict(condition, name, subject, told, broken=broken)


def _verdict(condition: Condition, benchmark: str, subject: str, told: str, *, broken: bool) -> Verdict:
    return Verdict(condition.text, benchmark, subject, told if broken else "")


def _named(run: Run) -> str:
    return run.name or run.model
