"""Two models on the same benchmarks: the table of the older tool, and behind it what the differences are worth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mesocosm.cli.comparing import bounds, count, p_value, page, pair_document, signed
from mesocosm.core.failure import UnknownName
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.run import Run
from mesocosm.engine.comparison import Group, Pair, compare

if TYPE_CHECKING:
    from mesocosm.cli.main import Options
    from mesocosm.store import SqlStore

NONE = "n/a"


@dataclass(frozen=True, slots=True)
class Side:
    """One model: what was asked of it, and what came of each benchmark, in the order of asking."""

    group: RunGroup
    outcomes: tuple[Outcome, ...]
    runs: dict[str, Run]

    @property
    def spec(self) -> str:
        """The model as `provider:model`."""
        return f"{self.group.request.get('provider', '')}:{self.group.request.get('model', '')}"

    @property
    def base_url(self) -> str:
        """Where it is served; empty where nobody said."""
        return str(self.group.request.get("base_url") or "")

    @property
    def line(self) -> str:
        """The model for the head of the table."""
        return f"{self.spec} @ {self.base_url}" if self.base_url else self.spec

    def outcome(self, benchmark: str) -> Outcome | None:
        """Return what came of a benchmark."""
        return next((outcome for outcome in self.outcomes if outcome.benchmark == benchmark), None)

    def run(self, benchmark: str) -> Run | None:
        """Return the run of a benchmark, None where there is none."""
        outcome = self.outcome(benchmark)
        return None if outcome is None else self.runs.get(outcome.run_id)

    def document(self) -> dict[str, Any]:
        """Return the side as JSON."""
        request = self.group.request
        names = {"provider": request.get("provider"), "model": request.get("model"), "base_url": self.base_url or None}
        return {
            **names,
            "run_group_id": self.group.id,
            "runs": [self._run(outcome, names) for outcome in self.outcomes],
        }

    def _run(self, outcome: Outcome, names: dict[str, Any]) -> dict[str, Any]:
        run = self.runs.get(outcome.run_id)
        primary = None if run is None else run.primary
        seconds = None if run is None else run.worked_s(run.heartbeat_at or run.created_at)
        return {
            "benchmark_id": outcome.benchmark,
            "run_id": outcome.run_id or None,
            "status": str(outcome.status),
            **names,
            "score": None if primary is None else primary.value,
            "unit": _unit(run),
            "higher_is_better": None if primary is None else primary.higher_is_better,
            "metrics": {} if run is None else {metric.name: metric.value for metric in run.metrics},
            "duration_seconds": seconds,
            "error": outcome.reason if outcome.status is not OutcomeStatus.SKIPPED else "",
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark: the runs of both sides, and the pair where they can be compared."""

    benchmark: str
    a: Run | None
    b: Run | None
    group: Group | None
    status: tuple[str, str]

    @property
    def pair(self) -> Pair | None:
        """The comparison, None where there is none."""
        return self.group.pairs[0] if self.group is not None and self.group.pairs else None

    @property
    def scores(self) -> tuple[float | None, float | None]:
        """The score of each side."""
        return _score(self.a), _score(self.b)

    @property
    def delta(self) -> float | None:
        """B minus A of the scores as each run states them."""
        a, b = self.scores
        return None if a is None or b is None else b - a

    @property
    def winner(self) -> str:
        """`A`, `B`, `tie` unless the interval of the difference excludes 0, `n/a` where a side is missing."""
        if None in self.scores or self.pair is None:
            return NONE
        return {"a": "A", "b": "B"}.get(self.pair.winner, "tie")

    def cells(self) -> list[str]:
        """Return the row of the table."""
        values = [NONE if score is None else f"{score:.4f}" for score in self.scores]
        pair = self.pair
        more = [NONE, NONE, NONE]
        if pair is not None:
            delta = pair.contrast.delta
            more = [bounds(delta.low, delta.high), p_value(pair.p_adjusted), count(pair)]
        return [self.benchmark, *values, signed(self.delta), self.winner, *more]

    def document(self) -> dict[str, Any]:
        """Return the row as JSON."""
        a, b = self.scores
        primary = next((run.primary for run in (self.a, self.b) if run is not None and run.primary), None)
        pair = None if self.pair is None else pair_document(self.pair)
        return {
            "benchmark_id": self.benchmark,
            "a_score": a,
            "b_score": b,
            "delta": self.delta,
            "higher_is_better": None if primary is None else primary.higher_is_better,
            "winner": None if self.winner == NONE else self.winner,
            "unit": _unit(self.a) or _unit(self.b),
            "a_run_id": None if self.a is None else self.a.id,
            "b_run_id": None if self.b is None else self.b.id,
            "a_status": self.status[0],
            "b_status": self.status[1],
            "comparison": pair,
            "note": "" if self.group is None else self.group.note,
        }


@dataclass(frozen=True, slots=True)
class Contest:
    """A comparison of two models."""

    comparison_id: str
    store: "SqlStore"
    sides: tuple[Side, ...]
    rows: tuple[Row, ...]

    @property
    def complete(self) -> bool:
        """Whether both sides are there."""
        return len(self.sides) == 2

    @property
    def failed(self) -> bool:
        """Whether a benchmark failed on one side."""
        return any(outcome.status is OutcomeStatus.FAILED for side in self.sides for outcome in side.outcomes)

    def lines(self) -> Iterator[str]:
        """Yield the text of the comparison: who, what, the table, and why a score is missing."""
        yield f"Comparison ID: {self.comparison_id}"
        for name, side in zip("AB", self.sides, strict=False):
            yield f"{name}: {side.line}"
        yield f"Benchmarks: {', '.join(row.benchmark for row in self.rows)}"
        yield ""
        heads = [f"{name}: {side.spec}" for name, side in zip("AB", self.sides, strict=False)]
        yield from _table(["benchmark", *heads, "delta (B-A)", "winner", "95 % interval", "p", "n"], self.rows)
        yield ""
        for name, side in zip("AB", self.sides, strict=False):
            for outcome in side.outcomes:
                if side.run(outcome.benchmark) is None or outcome.status is OutcomeStatus.FAILED:
                    yield f"{name} {outcome.benchmark}: {outcome.status}: {outcome.reason}"
        for row in self.rows:
            if row.group is not None and row.group.note:
                yield f"{row.benchmark}: {row.group.note}"

    def address(self, chosen: "Options") -> str:
        """Return where the browser shows it; empty where there is nothing to compare."""
        ids = [run.id for row in self.rows if row.pair is not None for run in (row.a, row.b) if run is not None]
        return page(ids[:20], self.store, chosen) if ids else ""

    def document(self, now: float) -> dict[str, Any]:
        """Return the comparison as JSON; `now` is UNIX seconds."""
        sides = {name: side.document() for name, side in zip("ab", self.sides, strict=False)}
        return {
            "comparison_id": self.comparison_id,
            "created_at": datetime.fromtimestamp(now, UTC).isoformat(),
            **sides,
            "rows": [row.document() for row in self.rows],
        }


def read_contest(store: "SqlStore", comparison_id: str) -> Contest:
    """Return a stored comparison, computed anew from its runs. Raises UnknownName when there is none."""
    outcomes = store.outcomes_of_comparison(comparison_id)
    if not outcomes:
        raise UnknownName(f"no comparison {comparison_id!r} is stored in {store.place}")
    groups = [store.group(group_id) for group_id in dict.fromkeys(outcome.group_id for outcome in outcomes)]
    groups.sort(key=lambda group: (str(group.request.get("side", "")), group.created_at))
    sides = tuple(_side(store, group, outcomes) for group in groups[:2])
    benchmarks = dict.fromkeys(outcome.benchmark for side in sides for outcome in side.outcomes)
    return Contest(comparison_id, store, sides, tuple(_row(store, sides, benchmark) for benchmark in benchmarks))


def _side(store: "SqlStore", group: RunGroup, outcomes: Sequence[Outcome]) -> Side:
    own = tuple(outcome for outcome in outcomes if outcome.group_id == group.id)
    runs: dict[str, Run] = {}
    for outcome in own:
        if outcome.run_id:
            runs[outcome.run_id] = store.get_run(outcome.run_id)
    return Side(group, own, runs)


def _row(store: "SqlStore", sides: Sequence[Side], benchmark: str) -> Row:
    both = [side.run(benchmark) for side in sides]
    a, b = (*both, None, None)[:2]
    group = None
    if a is not None and b is not None and a.id != b.id:
        group = compare(store, [a.id, b.id]).groups[0]
    outcomes = [side.outcome(benchmark) for side in sides]
    statuses = [NONE if outcome is None else str(outcome.status) for outcome in outcomes]
    first, second = (*statuses, NONE, NONE)[:2]
    return Row(benchmark, a, b, group, (first, second))


def _score(run: Run | None) -> float | None:
    return None if run is None or run.primary is None else run.primary.value


def _unit(run: Run | None) -> str | None:
    unit = None if run is None else run.info.get("card", {}).get("unit")
    return unit if isinstance(unit, str) else None


def _table(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table with columns apart by ` | `, as the older tool prints it."""
    cells = [list(columns), *(row.cells() for row in rows)]
    if len({len(line) for line in cells}) > 1:
        return
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    for number, line in enumerate(cells):
        yield " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        if not number:
            yield "-+-".join("-" * width for width in widths)
