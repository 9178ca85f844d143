"""Runs against a baseline of their benchmark: a difference only where it means something, else the reason why not."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from mesocosm.core.run import Run
from mesocosm.core.score import MetricResult
from mesocosm.engine.comparison.leaderboard import Reference, reference
from mesocosm.engine.comparison.pair import paired_delta
from mesocosm.engine.comparison.runs import Rows, going_on, metrics_of
from mesocosm.engine.comparison.sample import Tasks, read_sample
from mesocosm.stats import Interval

FEWEST_TASKS = 30
"""Minimum number of scored tasks for a baseline, and for a difference to it."""

State = Literal["baseline", "difference", "other_tasks", "few_tasks", "no_score", "no_baseline", "going_on", "builtin"]
TaskSet = Callable[[str], str]
"""Returns a digest of the set of tasks that a run (by id) has finished."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A run against its baseline; `delta` is the run's mean minus the baseline's over the tasks of both.

    `better` is None unless the interval excludes 0 and the metric has a direction. `why` explains the state.
    """

    run_id: str
    state: State
    baseline_id: str | None
    delta: Interval | None
    better: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class AgentBound:
    """What a built-in agent reached on the benchmark of a run: its floor or ceiling."""

    run_id: str
    model: str
    value: float
    n: int
    same_tasks: bool


def same_tasks(a: Run, b: Run, task_set: TaskSet) -> bool:
    """Return whether two runs of a benchmark plan the same tasks with the same content."""
    if a.benchmark != b.benchmark or a.benchmark_digest != b.benchmark_digest or a.rules != b.rules:
        return False
    if a.counts.pending or b.counts.pending:
        one, other = (
            (run.spec.selection.seeds, run.spec.selection.count, run.spec.benchmark.options) for run in (a, b)
        )
        return one == other
    return task_set(a.id) == task_set(b.id)


def baselines(runs: Iterable[Run], chosen: Collection[str] = ()) -> dict[str, Run]:
    """Return the baseline of each benchmark: the chosen run, else the best one over at least FEWEST_TASKS tasks.

    Built-in agents, runs in progress and runs in doubt are baselines only if they are chosen.
    """
    found: dict[str, tuple[float, int, float]] = {}
    baseline: dict[str, Run] = {}
    named = set[str]()
    for run in runs:
        result = run.primary
        if run.id in chosen:
            baseline[run.benchmark] = run
            named.add(run.benchmark)
        if run.benchmark in named or not _comparable(run, result) or result is None or result.value is None:
            continue
        place = (result.value if result.higher_is_better else -result.value, result.n_tasks, run.created_at)
        if run.benchmark not in found or place > found[run.benchmark]:
            found[run.benchmark] = place
            baseline[run.benchmark] = run
    return baseline


def _comparable(run: Run, result: MetricResult | None) -> bool:
    if reference(run.model) or going_on(run) or run.doubt:
        return False
    return result is not None and result.n_tasks >= FEWEST_TASKS


def standing(run: Run, base: Run | None, rows: Rows, task_set: TaskSet) -> Standing:
    """Return a run against `base`, the baseline of its benchmark."""
    alone = _alone(run)
    if base is not None and run.id == base.id:
        alone = "baseline", "the other runs of this benchmark are compared with this one"
    elif alone is None and base is None:
        alone = "no_baseline", f"no run of this benchmark has a score over {FEWEST_TASKS} tasks"
    elif alone is None and base is not None:
        alone = _apart(run, base, task_set)
    if alone is not None or base is None:
        state, why = alone or ("no_baseline", "")
        return Standing(run.id, state, None if base is None else base.id, None, None, why)
    return _measured(run, base, rows)


def _alone(run: Run) -> tuple[State, str] | None:
    """Return why a run is compared with no baseline at all."""
    role, result = reference(run.model), run.primary
    if role:
        return "builtin", f"a built-in agent: the {role} of its benchmark"
    if going_on(run):
        return "going_on", "the run goes on; it is compared when it has ended"
    if run.doubt:
        return "no_score", f"the run is in doubt: {run.doubt}"
    if result is None or result.value is None or not result.n_tasks:
        return "no_score", "nothing was scored"
    if result.n_tasks < FEWEST_TASKS:
        return "few_tasks", f"{result.n_tasks} tasks were scored; a difference needs {FEWEST_TASKS}"
    return None


def _apart(run: Run, base: Run, task_set: TaskSet) -> tuple[State, str] | None:
    """Return why a run cannot be compared with this baseline."""
    mine, theirs = run.primary, base.primary
    if theirs is None or mine is None or theirs.name != mine.name:
        return "no_score", "the baseline has another primary metric, or none"
    if theirs.n_tasks < FEWEST_TASKS:
        return "few_tasks", f"the baseline has {theirs.n_tasks} scored tasks; a difference needs {FEWEST_TASKS}"
    if same_tasks(run, base, task_set):
        return None
    if run.benchmark_digest != base.benchmark_digest or run.rules != base.rules:
        return "other_tasks", "the baseline has another version of the benchmark, or of its grading"
    return "other_tasks", "the baseline has other tasks"


def _measured(run: Run, base: Run, rows: Rows) -> Standing:
    result = run.primary
    assert result is not None  # or it would stand alone
    tasks, metric = Tasks(), metrics_of(base)[result.name]
    a, b = (read_sample(rows(one.id, metric.score), metric, tasks) for one in (base, run))
    try:
        delta = paired_delta(a, b, tasks, result.level)
    except ValueError as error:
        return Standing(run.id, "no_score", base.id, None, None, str(error))
    percent = f"{100 * delta.level:g} %"
    if not delta.excludes(0):
        why = f"{percent} interval of the difference includes 0 (paired by {delta.n:,} tasks)"
        return Standing(run.id, "difference", base.id, delta, None, why)
    why = f"{percent} interval of the difference excludes 0 (paired by {delta.n:,} tasks)"
    return Standing(run.id, "difference", base.id, delta, _better(delta, metric.directed, result), why)


def _better(delta: Interval, directed: bool, result: MetricResult) -> bool | None:
    return (delta.value > 0) == result.higher_is_better if directed else None


def bounds(run: Run, references: Sequence[Run], task_set: TaskSet) -> dict[Reference, AgentBound]:
    """Return floor and ceiling of a run from runs of built-in agents: those with its tasks before others.

    Of several with the same tasks, the floor is the highest one and the ceiling the newest.
    """
    found: dict[Reference, tuple[tuple[bool, float], AgentBound]] = {}
    for other in references:
        result, role = other.primary, reference(other.model)
        if not role or other.benchmark != run.benchmark or other.rules != run.rules or going_on(other):
            continue
        if result is None or result.value is None or (run.primary is not None and run.primary.name != result.name):
            continue
        equal = same_tasks(run, other, task_set)
        place = (equal, result.value if role == "floor" else other.created_at)
        if role not in found or place > found[role][0]:
            found[role] = (place, AgentBound(other.id, other.model, result.value, result.n_tasks, equal))
    return {role: bound for role, (_, bound) in found.items()}
