"""Two models on the same benchmarks: the run groups of one comparison, benchmark by benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from mesocosm.core.failure import UnknownName
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.run import Run
from mesocosm.engine.comparison.runs import ComparedRuns, RunComparison, RunPair, adjusted, compare
from mesocosm.server.schemas.document import discreet, instant
from mesocosm.server.schemas.metric import MetricDocument
from mesocosm.server.schemas.model_comparison import (
    ModelComparisonDocument,
    ModelComparisonRow,
    SideDocument,
    SideResult,
)

if TYPE_CHECKING:
    from mesocosm.server.permissions.benchmark_records import BenchmarkRecords

NONE = "n/a"
"""Text shown for a missing value."""


@dataclass(frozen=True, slots=True)
class Side:
    """One model: its run group, and the outcome of each benchmark in the requested order."""

    group: RunGroup
    outcomes: tuple[Outcome, ...]
    runs: dict[str, Run]

    @property
    def spec(self) -> str:
        """The model as `provider:model`."""
        return f"{self.group.request.get('provider', '')}:{self.group.request.get('model', '')}"

    @property
    def base_url(self) -> str:
        """URL of the model's server; empty if none was given."""
        return str(self.group.request.get("base_url") or "")

    @property
    def line(self) -> str:
        """The model as shown in the header of the table."""
        return f"{self.spec} @ {self.base_url}" if self.base_url else self.spec

    def outcome(self, benchmark: str) -> Outcome | None:
        """Return the outcome of a benchmark, None if there is none."""
        return next((outcome for outcome in self.outcomes if outcome.benchmark == benchmark), None)

    def run(self, benchmark: str) -> Run | None:
        """Return the run of a benchmark, None if there is none."""
        outcome = self.outcome(benchmark)
        return None if outcome is None else self.runs.get(outcome.run_id)


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark: the runs of both sides, and their comparison if they can be compared."""

    benchmark: str
    a: Run | None
    b: Run | None
    group: ComparedRuns | None
    status: tuple[str, str]

    @property
    def pair(self) -> RunPair | None:
        """The comparison, None if there is none."""
        return self.group.pairs[0] if self.group is not None and self.group.pairs else None

    @property
    def scores(self) -> tuple[float | None, float | None]:
        """The score of each side."""
        return _score(self.a), _score(self.b)

    @property
    def delta(self) -> float | None:
        """B minus A, over the tasks that both scored if the runs share tasks; None if there is no comparison."""
        if None in self.scores or self.pair is None:
            return None
        return self.pair.contrast.delta.value

    @property
    def winner(self) -> str:
        """`A` or `B`; `tie` unless the interval of the difference excludes 0; `n/a` if a side is missing."""
        if None in self.scores or self.pair is None:
            return NONE
        return {"a": "A", "b": "B"}.get(self.pair.winner, "tie")

    @property
    def unit(self) -> str | None:
        """The unit of the scores, None if unknown."""
        return unit_of(self.a) or unit_of(self.b)

    @property
    def higher_is_better(self) -> bool | None:
        """The direction of the scores, None if there is no score."""
        primary = next((run.primary for run in (self.a, self.b) if run is not None and run.primary), None)
        return None if primary is None else primary.higher_is_better


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """A comparison of two models."""

    comparison_id: str
    sides: tuple[Side, ...]
    rows: tuple[Row, ...]

    @property
    def comparison(self) -> RunComparison:
        """All benchmarks as one comparison; a benchmark that one side did not score has one run or none."""
        groups = [row.group or _lone(row) for row in self.rows]
        known = tuple(group for group in groups if group is not None)
        return RunComparison(tuple(run for group in known for run in group.runs), (), known)

    @property
    def complete(self) -> bool:
        """Whether both sides exist."""
        return len(self.sides) == 2

    @property
    def failed(self) -> bool:
        """Whether a benchmark failed on one side."""
        return self._any(OutcomeStatus.FAILED)

    @property
    def incompatible(self) -> bool:
        """Whether a benchmark could not run on one side."""
        return self._any(OutcomeStatus.INCOMPATIBLE)

    def _any(self, status: OutcomeStatus) -> bool:
        return any(outcome.status is status for side in self.sides for outcome in side.outcomes)


def read_model_comparison(records: "BenchmarkRecords", comparison_id: str) -> ModelComparison:
    """Return a stored comparison, recomputed from its runs. Raises UnknownName if there is none."""
    outcomes = records.outcomes_of_comparison(comparison_id)
    if not outcomes:
        raise UnknownName(f"no comparison {comparison_id!r} is stored in {records.place}")
    groups = [records.group(group_id) for group_id in dict.fromkeys(outcome.group_id for outcome in outcomes)]
    groups.sort(key=lambda group: (str(group.request.get("side", "")), group.created_at))
    sides = tuple(_side(records, group, outcomes) for group in groups[:2])
    benchmarks = dict.fromkeys(outcome.benchmark for side in sides for outcome in side.outcomes)
    rows = [_row(sides, benchmark) for benchmark in benchmarks]
    return ModelComparison(comparison_id, sides, _compared(records, rows))


def _compared(records: "BenchmarkRecords", rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows with their comparisons; p values are adjusted over all of them."""
    both = [(row, row.a.id, row.b.id) for row in rows if row.a is not None and row.b is not None]
    different = [(row, [a, b]) for row, a, b in both if a != b]
    found = adjusted(
        [compare(records.run, records.score_rows, ids, pairs=len(different)).groups[0] for _, ids in different]
    )
    groups = {row.benchmark: group for (row, _), group in zip(different, found, strict=True)}
    return tuple(replace(row, group=groups.get(row.benchmark)) for row in rows)


def _lone(row: Row) -> ComparedRuns | None:
    """Return a group with the only run of a benchmark, None if there is none."""
    run = row.a or row.b
    if run is None:
        return None
    return ComparedRuns((run,), None, (), (run.primary,), (), same_content=True, note="")


def unit_of(run: Run | None) -> str | None:
    """Return the unit of a run's score, None if unknown."""
    card = {} if run is None else run.info.get("card", {})
    unit = card.get("unit") if isinstance(card, dict) else None
    return unit if isinstance(unit, str) else None


def _side(records: "BenchmarkRecords", group: RunGroup, outcomes: Sequence[Outcome]) -> Side:
    own = tuple(outcome for outcome in outcomes if outcome.group_id == group.id)
    runs: dict[str, Run] = {}
    for outcome in own:
        if outcome.run_id:
            runs[outcome.run_id] = records.run(outcome.run_id)
    return Side(group, own, runs)


def _row(sides: Sequence[Side], benchmark: str) -> Row:
    both = [side.run(benchmark) for side in sides]
    a, b = (*both, None, None)[:2]
    outcomes = [side.outcome(benchmark) for side in sides]
    statuses = [NONE if outcome is None else str(outcome.status) for outcome in outcomes]
    first, second = (*statuses, NONE, NONE)[:2]
    return Row(benchmark, a, b, None, (first, second))


def _score(run: Run | None) -> float | None:
    return None if run is None or run.primary is None else run.primary.value


def model_comparison_document(found: ModelComparison) -> ModelComparisonDocument:
    """Return a comparison as a document."""
    return ModelComparisonDocument(
        id=found.comparison_id,
        sides=[_side_document("a" if place == 0 else "b", side) for place, side in enumerate(found.sides)],
        rows=[_row_document(found, row) for row in found.rows],
    )


def _side_document(name: Literal["a", "b"], side: Side) -> SideDocument:
    request = side.group.request
    return SideDocument(
        name=name,
        provider=str(request.get("provider") or ""),
        model=discreet(str(request.get("model") or "")),
        base_url=discreet(side.base_url),
        group_id=side.group.id,
        created_at=instant(side.group.created_at),
    )


def _result(found: ModelComparison, place: int, benchmark: str) -> SideResult:
    outcome = found.sides[place].outcome(benchmark) if place < len(found.sides) else None
    if outcome is None:
        return SideResult(run_id=None, status=None, reason="", score=None)
    run = found.sides[place].runs.get(outcome.run_id)
    reason = "" if outcome.status is OutcomeStatus.SKIPPED else discreet(outcome.reason)
    score = None if run is None or run.primary is None else MetricDocument.of(run.primary)
    return SideResult(run_id=outcome.run_id or None, status=outcome.status, reason=reason, score=score)


def _row_document(found: ModelComparison, row: Row) -> ModelComparisonRow:
    pair = row.pair
    contrast = None if pair is None else pair.contrast
    run = row.a or row.b
    return ModelComparisonRow(
        benchmark=row.benchmark,
        title="" if run is None else run.benchmark_title,
        unit=row.unit,
        higher_is_better=row.higher_is_better,
        a=_result(found, 0, row.benchmark),
        b=_result(found, 1, row.benchmark),
        delta=row.delta,
        low=None if contrast is None else contrast.delta.low,
        high=None if contrast is None else contrast.delta.high,
        weak=contrast is not None and contrast.delta.weak,
        level=None if contrast is None else contrast.delta.level,
        p_value=None if pair is None else pair.p_adjusted,
        n_a=None if contrast is None else contrast.n_a,
        n_b=None if contrast is None else contrast.n_b,
        paired=None if contrast is None else contrast.paired,
        winner=pair.winner if pair is not None and None not in row.scores else None,
        note="" if row.group is None else row.group.note,
    )
