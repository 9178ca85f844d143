"""Gates: conditions on runs, each answered with pass, fail, undecided or error.

`worse-by` states a requirement; all other conditions state what must not hold.

regression p<0.05           a run is worse than its baseline with a p value below this
regression                  the same at 0.05, and the interval of the difference also excludes 0
regression>0.02             the mean score fell by more than this, regardless of significance
worse-by<0.02               required: the interval of the difference excludes a loss above the margin
missing>2%                  more than this share of a run's planned episodes has no value
failed>0                    more than this many episodes of a run failed
score<0.8                   the primary metric is below this; also with the name of any other metric
score[difficulty=hard]<0.6  the same for the tasks with this label; also pass_rate, missing and failed
pass@3<0.5, pass^3<0.5      the probability that at least one of k trials passes, or all of them
cost>5, tokens>1e6, calls>9 usage of the run; with .mean, usage per episode
latency>2, latency.p95>10   seconds per episode: the mean, p50, p90, p95, p99 or max

Conditions on a baseline are corrected over all pairs of the gate (Holm's p values, Bonferroni's intervals), so the
answers hold jointly.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.reading import nearest
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import Metric, MetricResult, interval_text, number_text
from mesocosm.engine.comparison.pair import PairedContrast
from mesocosm.engine.comparison.runs import ComparedRuns, RunComparison, RunPair, going_on, metrics_of
from mesocosm.engine.metrics import outcome
from mesocosm.engine.results import PASS_RATE, Latency, Samples, results
from mesocosm.engine.slices import slices
from mesocosm.stats import fewest_pairs, pairs_needed, smallest_difference, smallest_flip_difference

REGRESSION, WORSE_BY, SCORE, MISSING, FAILED, LATENCY = (
    "regression",
    "worse-by",
    "score",
    "missing",
    "failed",
    "latency",
)
PAIRWISE = frozenset({REGRESSION, WORSE_BY})
"""Kinds of conditions that need a baseline."""
USED = frozenset({"cost", "tokens", "calls", "cost.mean", "tokens.mean", "calls.mean"})
LATENCIES = frozenset({LATENCY, *(f"{LATENCY}.{name}" for name in ("mean", "p50", "p90", "p95", "p99", "max"))})
KINDS = (REGRESSION, WORSE_BY, SCORE, MISSING, FAILED, LATENCY, "cost", "tokens", "calls", "pass")
"""The words that conditions start with; any other word is the name of a metric."""
COUNTED = frozenset({FAILED, "calls", "tokens"})

_CONDITION = re.compile(
    r"(?P<kind>pass[@^]\d+|[A-Za-z_][\w.@^/:-]*)"
    r"(?:\[(?P<label>[^\]=]+)=(?P<value>[^\]]*)\])?"
    r"\s*(?:(?P<p>p)\s*)?(?:(?P<sign><=|>=|<|>)\s*(?P<number>[0-9.eE+-]+)\s*(?P<percent>%)?)?"
)
_PASSES = re.compile(r"pass([@^])(\d+)")
_EXAMPLES = (
    "'regression p<0.05', 'regression>0.02', 'worse-by<0.02', 'missing>2%', 'score<0.8', "
    "'score[difficulty=hard]<0.6', 'pass@3<0.5', 'failed>0', 'cost>5', 'latency.p95>10'"
)
_MOST_TASKS = 10**9


class ConditionAnswer(StrEnum):
    """Answer of a gate to a condition. UNDECIDED: the data does not decide it. ERROR: there was nothing to judge."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    UNDECIDED = "undecided"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: `kind` is what to look at, `sign` and `number` what to compare it with.

    `by_chance` compares the p value. `label` and `value` restrict it to a slice of tasks, empty for all tasks.
    """

    text: str
    kind: str
    sign: str = ""
    number: float = 0.0
    by_chance: bool = False
    label: str = ""
    value: str = ""

    @property
    def pairwise(self) -> bool:
        """Whether it needs a baseline."""
        return self.kind in PAIRWISE

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
class GateVerdict:
    """The answer to one condition for one run or pair: `subject` names it, `found` describes the finding.

    If it is `lacking`, the condition is about a metric that the ended run does not have: no more data will decide it.
    """

    condition: str
    benchmark: str
    subject: str
    answer: ConditionAnswer
    found: str
    lacking: bool = False

    @property
    def broken(self) -> str:
        """The finding, empty if the condition passes."""
        return "" if self.answer is ConditionAnswer.PASS else self.found


def metric_named(condition: Condition) -> str:
    """Return the metric that a condition names, empty if it is about something that every run has."""
    kind = condition.kind
    known = kind in {SCORE, MISSING, FAILED, REGRESSION, WORSE_BY, *USED, *LATENCIES} or _PASSES.fullmatch(kind)
    return "" if known or (condition.label and kind == PASS_RATE) else kind


def check_metrics(conditions: Sequence[Condition], known: Sequence[str], whose: str, *, below: bool = False) -> None:
    """Raise UsageError, with the nearest name, for a metric that is not among those `known` of `whose`.

    `below`: there may be further ones that are called like one of these, a dot, and more.
    """
    for condition in conditions:
        name = metric_named(condition)
        if name in {"", *known} or (below and name.rpartition(".")[0] in known):
            continue
        near = nearest(name, (*known, SCORE, MISSING, FAILED, LATENCY, "cost", "tokens", "calls"))
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join(known) or 'none'}"
        raise UsageError(f"{condition.text!r}: {whose} has no metric {name!r}; {hint}")


def check_run_metrics(conditions: Sequence[Condition], runs: Sequence[Run]) -> None:
    """Raise UsageError for a metric that none of these runs has, if all of them have ended."""
    if not runs or any(going_on(run) for run in runs):
        return
    known = dict.fromkeys(name for run in runs for name in (*metrics_of(run), *(one.name for one in run.metrics)))
    check_metrics(conditions, list(known), " and ".join(dict.fromkeys(run.benchmark for run in runs)))


def read_condition(text: str) -> Condition:
    """Parse a condition. Raises UsageError with examples.

    Any unknown word is the name of a metric. Conditions that can never hold are rejected: such a gate would always
    pass.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a condition; write for example {_EXAMPLES}")
    kind, by_chance, sign = match["kind"], bool(match["p"]), match["sign"] or ""
    if (by_chance and (kind != REGRESSION or sign not in {"<", "<="})) or (not sign and kind != REGRESSION):
        raise UsageError(f"{text!r} is incomplete or does not fit {kind}; write for example {_EXAMPLES}")
    try:
        number = float(match["number"] or 0) / (100 if match["percent"] else 1)
    except ValueError as error:
        raise UsageError(f"{match['number']!r} in {text!r} is not a number") from error
    if not math.isfinite(number):
        raise UsageError(f"{text!r} has no finite number to compare with")
    label, value = (match["label"] or "").strip(), (match["value"] or "").strip()
    found = Condition(text.strip(), kind, sign, number, by_chance, label, value)
    _check_slice(found)
    _check_number(found, percent=bool(match["percent"]), written=match["number"] or "")
    return found


def judge(
    conditions: Sequence[Condition], runs: Sequence[Run], samples: Samples, compared: RunComparison | None = None
) -> tuple[GateVerdict, ...]:
    """Return verdicts on runs, and on the pairs of `compared` for conditions that need a baseline.

    There is at least one verdict per condition: if nothing could be judged, it is an ERROR.
    """
    found: list[GateVerdict] = []
    for condition in conditions:
        if condition.pairwise:
            verdicts, nothing = list(_compared(condition, compared)), "there is nothing to compare"
        else:
            verdicts, nothing = [_alone(run, condition, samples) for run in runs], "there is no run to judge"
        found += verdicts or [GateVerdict(condition.text, "", "", ConditionAnswer.ERROR, nothing)]
    return tuple(_apart(found))


def _apart(verdicts: Sequence[GateVerdict]) -> Iterator[GateVerdict]:
    """Number the verdicts on runs with the same name: test reports merge cases with equal names."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for one in verdicts:
        name = (one.condition, one.benchmark, one.subject)
        seen[name] += 1
        yield one if seen[name] == 1 else replace(one, subject=f"{one.subject} ({seen[name]})")


def judge_comparison(
    found: RunComparison, conditions: Sequence[Condition], samples: Samples
) -> tuple[GateVerdict, ...]:
    """Return the verdicts on compared runs.

    `missing` and `failed` are judged on all runs, other conditions on the later ones.
    """
    later = [run for group in found.groups for run in group.runs[1:]]
    return tuple(
        verdict
        for condition in conditions
        for verdict in judge(
            [condition], found.runs if condition.kind in {MISSING, FAILED} else later, samples, compared=found
        )
    )


def exit_code(verdicts: Sequence[GateVerdict], *, allow_undecided: bool = False) -> int:
    """Return 0 if every verdict passes, 1 if one fails or had nothing to judge, else 3 (undecided and not allowed).

    A condition about a metric that a run lacks is never allowed.
    """
    answers = {verdict.answer for verdict in verdicts}
    if answers & {ConditionAnswer.FAIL, ConditionAnswer.ERROR}:
        return 1
    open_ = [one for one in verdicts if one.answer is ConditionAnswer.UNDECIDED]
    return 3 if any(one.lacking or not allow_undecided for one in open_) else 0


def _check_slice(condition: Condition) -> None:
    if condition.label and (condition.pairwise or condition.kind in USED | LATENCIES or _PASSES.match(condition.kind)):
        raise UsageError(
            f"{condition.text!r}: {condition.kind} applies to whole runs; only score, pass_rate, missing "
            "and failed can have a label, as in 'score[difficulty=hard]<0.6'"
        )


def _check_number(condition: Condition, *, percent: bool, written: str) -> None:
    """Raise UsageError if the number does not fit the quantity it is compared with."""
    text, kind, number = condition.text, condition.kind, condition.number
    if percent and kind in COUNTED | USED | LATENCIES:
        other = f"'missing{condition.sign}{written}%' for a share, or " if kind == FAILED else ""
        raise UsageError(
            f"{text!r}: {kind} is not a share; write {other}'{kind}{condition.sign}{written}' for a number"
        )
    if kind in COUNTED and number != int(number):
        instead = f", or 'missing{condition.sign}{number * 100:g}%' for a share" if kind == FAILED else ""
        raise UsageError(f"{text!r}: {kind} are counted; write a whole number{instead}")
    share = kind == MISSING or condition.by_chance or _PASSES.fullmatch(kind) is not None
    if share and number > 1:
        raise UsageError(
            f"{text!r}: this is a share between 0 and 1, and {written} means {number:.0%}; "
            f"did you mean '{text.replace(written, written + '%')}'?"
            if not percent
            else f"{text!r}: this is a share, which cannot exceed 100 %"
        )
    if kind == WORSE_BY and condition.sign.startswith(">"):
        raise UsageError(
            f"{text!r}: worse-by states the loss to exclude: write 'worse-by<{written}'; "
            f"for a loss that must not be observed, write 'regression{condition.sign}{written}'"
        )
    amount = share or condition.pairwise or kind in COUNTED | USED | LATENCIES
    if amount and (number < 0 or (condition.sign == "<" and number == 0 and kind != WORSE_BY)):
        raise UsageError(f"{text!r} can never hold: {kind} is never below 0")
    if share and condition.sign == ">" and number == 1:
        raise UsageError(f"{text!r} can never hold: a share cannot exceed 1; did you mean {written}%?")
    if condition.by_chance and number == 0:
        raise UsageError(f"{text!r} can never hold: no p value is 0")
    if condition.kind == REGRESSION and condition.sign.startswith("<") and not condition.by_chance:
        raise UsageError(
            f"{text!r} would fail even without a loss; write 'regression>{written}' for a loss above that, or "
            f"'worse-by<{written}' to require that such a loss is excluded"
        )


def _alone(run: Run, condition: Condition, samples: Samples) -> GateVerdict:
    try:
        answer, found = _judged(run, condition, samples)
    except UnknownName as error:
        answer, found = ConditionAnswer.ERROR, str(error)
    undecided = answer is ConditionAnswer.UNDECIDED and not going_on(run)
    lacking = undecided and metric_named(condition) not in {"", *(one.name for one in run.metrics)}
    return GateVerdict(condition.text, run.benchmark, _named(run), answer, found, lacking)


def _judged(run: Run, condition: Condition, samples: Samples) -> tuple[ConditionAnswer, str]:
    kind = condition.kind
    if going_on(run):
        return ConditionAnswer.UNDECIDED, f"it is {_state(run)}"
    if condition.label:
        return _slice(run, condition, samples)
    metric = next((one for one in run.metrics if one.name == kind), None)
    if metric is None and kind == SCORE:
        metric = run.primary
    if metric is not None:
        return _metric(condition, metric, metrics_of(run).get(metric.name), run)
    return _whole(run, condition, samples)


def _whole(run: Run, condition: Condition, samples: Samples) -> tuple[ConditionAnswer, str]:
    """Judge a quantity that every run has; a metric with the same name takes precedence."""
    kind = condition.kind
    if kind == FAILED:
        return _growing(run, condition, run.counts.failed, f"{run.counts.failed:,} failed")
    if kind == MISSING:
        return _missing(run, condition)
    if kind in USED:
        return _used(run, condition)
    if kind in LATENCIES:
        return _latency(condition, results(run, samples, run.metrics).latency, run)
    if _PASSES.fullmatch(kind):
        return _passes(run, condition, samples)
    names = ", ".join(one.name for one in run.metrics) or "none"
    return ConditionAnswer.UNDECIDED, f"it has no metric {kind!r}; it has {names}"


def _metric(
    condition: Condition, result: MetricResult, declared: Metric | None, run: Run
) -> tuple[ConditionAnswer, str]:
    name, value = result.name, result.value
    if value is None:
        return ConditionAnswer.ERROR, f"{name} has no value{_why(result.missing)}"
    said = f"{number_text(value)} {interval_text(result.low, result.high, weak=result.weak)}".rstrip()
    finding = f"{name} is {said}{_why(result.missing)}"
    low, high = _range(result.aggregation, declared)
    if low is not None and high is not None and low <= value <= high and _never(condition, low, high):
        return (
            ConditionAnswer.ERROR,
            f"{finding}, and lies between {low:g} and {high:g}, so the condition can never hold",
        )
    return _settled(run, condition.holds(value), finding) or _by_missing(condition, result, finding)


def _by_missing(condition: Condition, result: MetricResult, finding: str) -> tuple[ConditionAnswer, str]:
    """Answer for a value that is good enough: undecided if missing values could change that."""
    worst = result.pessimistic
    if worst is not None and condition.holds(worst):
        return ConditionAnswer.UNDECIDED, f"{finding}; with missing values counted as worst it is {worst:.4f}"
    return ConditionAnswer.PASS, finding


def _settled(run: Run, holds: bool, finding: str) -> tuple[ConditionAnswer, str] | None:
    """Return undecided for an incomplete or doubtful run, fail if the condition holds, None if neither applies."""
    if _status(run) is not RunStatus.FINISHED:
        return ConditionAnswer.UNDECIDED, f"{finding}, but it is {_state(run)}"
    if run.doubt:
        return ConditionAnswer.UNDECIDED, f"{finding}, but {run.doubt}"
    return (ConditionAnswer.FAIL, finding) if holds else None


def _growing(run: Run, condition: Condition, value: float, finding: str) -> tuple[ConditionAnswer, str]:
    """Judge a quantity that can only grow while a run continues: too much now is final."""
    if not run.counts.done:
        return ConditionAnswer.ERROR, "it has no finished episode"
    if condition.sign.startswith(">") and condition.holds(value):
        return ConditionAnswer.FAIL, finding
    return _settled(run, condition.holds(value), finding) or (ConditionAnswer.PASS, finding)


def _missing(run: Run, condition: Condition) -> tuple[ConditionAnswer, str]:
    primary = run.primary
    if primary is None or not primary.n_planned:
        return ConditionAnswer.ERROR, "it has no score that could be missing"
    return _share(run, condition, sum(primary.missing.values()), primary.n_planned, primary.missing)


def _share(
    run: Run, condition: Condition, lacking: int, planned: int, causes: Mapping[str, int] | None = None
) -> tuple[ConditionAnswer, str]:
    share = lacking / planned
    finding = f"{lacking:,} of {planned:,} have no value ({share:.1%}{_causes(causes or {}, ': ')})"
    if run.doubt:
        return ConditionAnswer.UNDECIDED, f"{finding}, but {run.doubt}"
    return (ConditionAnswer.FAIL if condition.holds(share) else ConditionAnswer.PASS), finding


def _used(run: Run, condition: Condition) -> tuple[ConditionAnswer, str]:
    name, _, mean = condition.kind.partition(".")
    usage = run.usage
    if not usage.calls:
        return ConditionAnswer.ERROR, "no model call of it is recorded, so its usage is unknown"
    total = {"cost": usage.cost_usd, "tokens": usage.total, "calls": usage.calls}[name]
    if total is None:
        return ConditionAnswer.UNDECIDED, "its cost is unknown, because a model has no known price"
    if not mean:
        finding = f"it cost ${total:,.4f}" if name == "cost" else f"it took {total:,} {name}"
        return _growing(run, condition, total, finding)
    if not run.counts.done:
        return ConditionAnswer.ERROR, "it has no finished episode"
    each = total / run.counts.done
    finding = f"an episode cost ${each:,.4f}" if name == "cost" else f"an episode took {each:,.1f} {name}"
    return _settled(run, condition.holds(each), finding) or (ConditionAnswer.PASS, finding)


def _latency(condition: Condition, latency: Latency | None, run: Run) -> tuple[ConditionAnswer, str]:
    if latency is None:
        return ConditionAnswer.ERROR, "no episode has a known duration"
    which = condition.kind.partition(".")[2] or "mean"
    seconds: float = getattr(latency, which)
    finding = f"an episode took {seconds:.2f} s ({which} of {latency.n:,})"
    return _settled(run, condition.holds(seconds), finding) or (ConditionAnswer.PASS, finding)


def _passes(run: Run, condition: Condition, samples: Samples) -> tuple[ConditionAnswer, str]:
    match = _PASSES.fullmatch(condition.kind)
    assert match is not None
    k, found = int(match[2]), results(run, samples, run.metrics).passes
    one = next((one for one in found if one.k == k), None)
    if one is None:
        most = f"no task has {k} trials; the maximum is {found[-1].k}" if found else "no pass threshold is defined"
        return ConditionAnswer.ERROR, f"it has no {condition.kind}: {most}"
    chance = one.at if match[1] == "@" else one.hat
    finding = f"{condition.kind} is {chance.value:.4f} over {chance.tasks:,} tasks"
    settled = _settled(run, condition.holds(chance.value), finding)
    if settled is None and chance.pessimistic is not None and condition.holds(chance.pessimistic):
        settled = (
            ConditionAnswer.UNDECIDED,
            f"{finding}; with missing trials counted as not passed it is {chance.pessimistic:.4f}",
        )
    return settled or (ConditionAnswer.PASS, finding)


def _slice(run: Run, condition: Condition, samples: Samples) -> tuple[ConditionAnswer, str]:
    found = slices(run, samples, condition.label, only=condition.value)
    if not found.slices:
        return ConditionAnswer.ERROR, f"no task has {condition.label} = {condition.value!r}"
    (part,) = found.slices
    kind, counted = condition.kind, part.samples - part.skipped
    if kind == FAILED:
        return _growing(run, condition, part.failed, f"{part.failed:,} of {part.samples:,} have no score")
    if kind == MISSING:
        if not counted:
            return ConditionAnswer.ERROR, "all of its samples were skipped"
        return _share(run, condition, part.missing, counted)
    result = part.pass_rate if kind == PASS_RATE else part.reward if kind in {SCORE, part.reward.name} else None
    if result is None:
        return ConditionAnswer.ERROR, f"a slice has no metric {kind!r}; it has {part.reward.name}" + (
            f" and {PASS_RATE}" if part.pass_rate is not None else ""
        )
    return _metric(condition, result, metrics_of(run).get(result.name), run)


def _compared(condition: Condition, found: RunComparison | None) -> Iterator[GateVerdict]:
    if found is None:
        return
    pairs = sum(len(group.pairs) for group in found.groups)
    for group in found.groups:
        name, base = group.runs[0].benchmark, group.runs[0]
        if len(group.runs) == 1:
            finding = f"there is no other run of {name} to compare it with"
            yield GateVerdict(condition.text, name, _named(base), ConditionAnswer.ERROR, finding)
        for run in group.runs[1:]:
            pair = next((pair for pair in group.pairs if pair.b == run.id), None)
            answer, finding = _against(condition, group, run, pair, pairs)
            against = _named(base) if _named(base) != _named(run) else "the baseline"
            yield GateVerdict(condition.text, name, f"{_named(run)} against {against}", answer, finding)


def _against(
    condition: Condition, group: ComparedRuns, run: Run, pair: RunPair | None, pairs: int
) -> tuple[ConditionAnswer, str]:
    metric = group.metric
    if metric is None:
        return ConditionAnswer.ERROR, "they have no metric in common"
    if pair is None:
        return ConditionAnswer.ERROR, f"they cannot be compared: one of them has no value of {metric.name}"
    if not pair.contrast.paired:
        return ConditionAnswer.ERROR, "they share no scored task"
    finding = _difference(metric, pair)
    if metrics_of(run)[metric.name] != metric:
        return (
            ConditionAnswer.UNDECIDED,
            f"{finding}, but the runs declare {metric.name} differently; rescore one of them",
        )
    weak = _weak(group.runs[0], run, pair.contrast)
    if weak:
        return ConditionAnswer.UNDECIDED, f"{finding}, but {weak}"
    answer, finding = _seen(condition, metric, pair, pairs, finding)
    if answer is ConditionAnswer.PASS and pair.pessimistic is not None:
        # Holm's p value is unknown for this pair with other values; Bonferroni's is never smaller.
        p_adjusted = min(pair.pessimistic.found.p_value * pairs, 1.0)
        worst = replace(pair, contrast=pair.pessimistic, p_adjusted=p_adjusted)
        turned, delta = _seen(condition, metric, worst, pairs, "")[0], worst.contrast.delta
        if turned is not ConditionAnswer.PASS:
            bounds = _bounds(delta.low, delta.high, weak=delta.weak)
            return (
                ConditionAnswer.UNDECIDED,
                f"{finding}; with missing values counted against it {delta.value:+.4f} {bounds}",
            )
    return answer, finding


def _seen(condition: Condition, metric: Metric, pair: RunPair, pairs: int, finding: str) -> tuple[ConditionAnswer, str]:
    """Judge by the available values."""
    delta, reach = pair.contrast.delta, _reach(metric)
    loss = -delta.value if metric.higher_is_better else delta.value
    if condition.by_chance or not condition.sign:
        return _by_chance(condition, pair, loss, pairs, finding)
    if reach is not None and abs(loss) <= reach <= condition.number:
        return ConditionAnswer.ERROR, f"{finding}; no loss can exceed {reach:g}, so the condition is meaningless"
    if condition.kind == WORSE_BY:
        return _worse_by(condition, metric, pair.contrast, finding)
    return (ConditionAnswer.FAIL if condition.holds(loss) else ConditionAnswer.PASS), finding


def _difference(metric: Metric, pair: RunPair) -> str:
    contrast = pair.contrast
    delta, common = contrast.delta, _common(contrast)
    said = f"{number_text(delta.value, signed=True)} {_bounds(delta.low, delta.high, weak=delta.weak)}"
    finding = f"{metric.name} {said}, p = {pair.p_adjusted:.3g}"
    finding += f", {common:,} tasks" if common == contrast.n_a else f", {common:,} tasks of {contrast.n_a:,} items"
    if metric.aggregation not in {"mean", "pass_rate"}:
        finding += f" (of means; the metric is a {metric.aggregation})"
    if not metric.directed:
        finding += f" (no direction is declared; higher {metric.name} is assumed to be better)"
    return finding


def _weak(base: Run, run: Run, contrast: PairedContrast) -> str:
    """Return why two runs cannot be compared whatever their scores: one is incomplete, or they share too few tasks."""
    for one, side in ((base, "the baseline"), (run, "it")):
        if _status(one) is not RunStatus.FINISHED:
            return f"{side} is {_state(one)}"
        if one.doubt:
            return f"{side} is in doubt: {one.doubt}"
    if _rules(base) != _rules(run):
        return "they follow different rules, because the benchmark's content differs; run the baseline again"
    common = _common(contrast)
    most = common + max(contrast.counts.only_a, contrast.counts.only_b)
    return f"they share {common:,} of {most:,} tasks; at least half are needed" if 2 * common < most else ""


def _rules(run: Run) -> str:
    """Return the digest of everything that turns an answer into a score.

    Tasks with different content are never paired. So the shared rows of a dataset can be compared even if it was
    selected or changed differently, as long as the same declared grader scored them. A grader inside the rollout's own
    code cannot be distinguished from the code to be judged.
    """
    inputs = run.info.get("inputs") or {}
    return str(inputs.get("grader", "")) if "dataset" in inputs else run.rules


def _by_chance(
    condition: Condition, pair: RunPair, loss: float, pairs: int, finding: str
) -> tuple[ConditionAnswer, str]:
    contrast = pair.contrast
    bar = condition if condition.by_chance else Condition(condition.text, REGRESSION, "<=", 0.05, by_chance=True)
    apart = contrast.family.excludes(0)
    if loss > 0 and bar.holds(pair.p_adjusted) and (condition.by_chance or contrast.delta.excludes(0)):
        return ConditionAnswer.FAIL, finding
    needed = _fewest(bar, pairs)
    if contrast.n_a < needed:
        among = f" among {pairs:,} comparisons" if pairs > 1 else ""
        return ConditionAnswer.UNDECIDED, (
            f"{finding}; too few to show any loss at {bar.number:g}{among}; at least {needed:,} are needed"
        )
    level = 1 - bar.number / pairs
    if loss > 0 and apart:
        more = _needed(loss, contrast, level)
        return ConditionAnswer.UNDECIDED, f"{finding}; the interval excludes 0, but the test does not reject{more}"
    smallest = _smallest(contrast, level)
    seen = "" if smallest is None else f"; a loss of {smallest:.4f} would have been detected (80 % power)"
    return ConditionAnswer.PASS, f"{finding}{seen}"


def _worse_by(
    condition: Condition, metric: Metric, contrast: PairedContrast, finding: str
) -> tuple[ConditionAnswer, str]:
    """Judge a margin by the interval that holds for all pairs jointly: pass if it is below, fail if it is above."""
    family, margin, n = contrast.family, condition.number, contrast.n_a
    low, high = (-family.high, -family.low) if metric.higher_is_better else (family.low, family.high)
    least = fewest_pairs(family.level)
    if n < least:
        return ConditionAnswer.UNDECIDED, f"{finding}; too few to decide; at least {least:,} are needed"
    if low == high:
        # Unseen tasks may differ even if all seen ones agree: the Clopper-Pearson bound on their share, times the
        # largest possible difference.
        reach = _reach(metric)
        reach = contrast.reach if reach is None else max(reach, contrast.reach)
        high += reach * (1 - ((1 - family.level) / 2) ** (1 / n))
    shown = f"{finding}; the loss is at most {high:.4f}" if math.isfinite(high) else finding
    if condition.holds(high):
        return ConditionAnswer.PASS, shown
    if low > margin:
        return ConditionAnswer.FAIL, f"{finding}; the loss is at least {low:.4f}"
    loss = -family.value if metric.higher_is_better else family.value
    return ConditionAnswer.UNDECIDED, f"{shown}{_to_decide(loss, margin, contrast, high)}"


def _to_decide(loss: float, margin: float, contrast: PairedContrast, high: float) -> str:
    if contrast.sd:
        return _needed(loss - margin, contrast, contrast.family.level)
    if loss >= margin or not margin > 0 or not math.isfinite(high) or high <= loss:
        return "; more such tasks would not decide it"
    # Nothing varies: the bound shrinks with the number of tasks.
    return _takes(contrast.n_a * (high - loss) / (margin - loss))


def _needed(difference: float, contrast: PairedContrast, level: float) -> str:
    """Return the words for how many tasks would show a true `difference` with 80 % power."""
    if not contrast.sd:
        return _takes(fewest_pairs(level))
    try:
        return _takes(pairs_needed(difference, contrast.sd, level=level))
    except ValueError:
        return "; no number of tasks can decide a loss equal to the margin"


def _takes(tasks: float) -> str:
    return f"; about {math.ceil(tasks):,} tasks are needed" if tasks < _MOST_TASKS else "; too many tasks are needed"


def _fewest(bar: Condition, pairs: int) -> int:
    """Return the smallest number of tasks for which the exact paired test can reject among `pairs` comparisons."""
    n = 1
    while not bar.holds(pairs * math.ldexp(2.0, -n)):
        n += 1
    return n


def _smallest(contrast: PairedContrast, level: float) -> float | None:
    """Return the loss that these tasks would show with 80 % power; None if it cannot be computed."""
    n, sd = contrast.n_a, contrast.sd or 0.0
    if contrast.found.test.startswith("mcnemar"):
        rate = min(max(sd * sd * (n - 1) / n + contrast.delta.value**2, 0.0), 1.0)
        found = smallest_flip_difference(round(rate * n) / n, n, level=level)
    elif sd:
        found = smallest_difference(sd, n, level=level)
    else:
        return None
    return found if math.isfinite(found) else None


def _common(contrast: PairedContrast) -> int:
    counts = contrast.counts
    return counts.a_better + counts.b_better + counts.same


def _status(run: Run) -> RunStatus:
    """Return the status of a run; older versions called runs finished that lack too many values."""
    if run.status is not RunStatus.FINISHED or not run.metrics:
        return run.status
    return outcome(run.metrics, run.spec.limits.max_missing)[0]


def _state(run: Run) -> str:
    status = "still running" if going_on(run) else str(_status(run))
    return f"{status} with {run.counts.done:,} of {run.counts.planned:,} episodes"


def _never(condition: Condition, low: float, high: float) -> bool:
    return not condition.holds(low) and not condition.holds(high)


def _range(aggregation: str, declared: Metric | None) -> tuple[float | None, float | None]:
    if aggregation == "pass_rate":
        return 0.0, 1.0
    if declared is None or aggregation == "sum":
        return None, None
    return declared.low, declared.high


def _reach(metric: Metric) -> float | None:
    """Return the largest possible difference of two values as declared by the metric, None if it declares no bounds."""
    if metric.aggregation == "pass_rate":
        return 1.0
    return None if metric.low is None or metric.high is None else metric.high - metric.low


def _why(missing: Mapping[str, int]) -> str:
    total = sum(missing.values())
    return f" ({total:,} missing{_causes(missing, ': ')})" if total else ""


def _causes(missing: Mapping[str, int], before: str) -> str:
    return before + ", ".join(f"{count:,} {cause}" for cause, count in missing.items()) if missing else ""


def _bounds(low: float, high: float, *, weak: bool) -> str:
    return interval_text(low, high, weak=weak) or "[no interval]"


def _named(run: Run) -> str:
    return run.name or run.model
