"""Text of a comparison of two models: the table of the older tool, with intervals and tests of the differences."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from mesocosm.cli.comparison_report import bounds, count, doubts, lacking, p_value, pair_document, signed
from mesocosm.core.group import Outcome, OutcomeStatus
from mesocosm.server.runs.model_comparison import NONE, ModelComparison, Row, Side, unit_of


def lines(found: ModelComparison) -> Iterator[str]:
    """Yield the text of a comparison: models, benchmarks, the table, and why scores are missing."""
    yield f"Comparison ID: {found.comparison_id}"
    for name, side in zip("AB", found.sides, strict=False):
        yield f"{name}: {side.line}"
    yield f"Benchmarks: {', '.join(row.benchmark for row in found.rows)}"
    yield ""
    heads = [f"{name}: {side.spec}" for name, side in zip("AB", found.sides, strict=False)]
    yield from _table(["benchmark", *heads, "delta (B-A)", "winner", "95 % interval", "p", "n"], found.rows)
    yield ""
    for name, side in zip("AB", found.sides, strict=False):
        for outcome in side.outcomes:
            if side.run(outcome.benchmark) is None or outcome.status is OutcomeStatus.FAILED:
                yield f"{name} {outcome.benchmark}: {outcome.status}: {outcome.reason}"
    for row in found.rows:
        if row.group is not None and row.group.note:
            yield f"{row.benchmark}: {row.group.note}"
        if row.group is not None:
            yield from lacking(row.group)
            yield from doubts(row.group)
        if row.a is not None and row.b is not None and row.a.id == row.b.id:
            yield f"{row.benchmark}: both sides are the run {row.a.id}; with --force each side gets its own"


def document(found: ModelComparison, now: float) -> dict[str, Any]:
    """Return a comparison as JSON; `now` is UNIX seconds."""
    sides = {name: _side(side) for name, side in zip("ab", found.sides, strict=False)}
    return {
        "comparison_id": found.comparison_id,
        "created_at": datetime.fromtimestamp(now, UTC).isoformat(),
        **sides,
        "rows": [_row(row) for row in found.rows],
    }


def _side(side: Side) -> dict[str, Any]:
    request = side.group.request
    names = {"provider": request.get("provider"), "model": request.get("model"), "base_url": side.base_url or None}
    return {
        **names,
        "run_group_id": side.group.id,
        "runs": [_run(side, outcome, names) for outcome in side.outcomes],
    }


def _run(side: Side, outcome: Outcome, names: dict[str, Any]) -> dict[str, Any]:
    run = side.runs.get(outcome.run_id)
    primary = None if run is None else run.primary
    seconds = None if run is None else run.worked_s(run.heartbeat_at or run.created_at)
    return {
        "benchmark_id": outcome.benchmark,
        "run_id": outcome.run_id or None,
        "status": str(outcome.status),
        **names,
        "score": None if primary is None else primary.value,
        "unit": unit_of(run),
        "higher_is_better": None if primary is None else primary.higher_is_better,
        "metrics": {} if run is None else {metric.name: metric.value for metric in run.metrics},
        "duration_seconds": seconds,
        "error": outcome.reason if outcome.status is not OutcomeStatus.SKIPPED else "",
    }


def _row(row: Row) -> dict[str, Any]:
    a, b = row.scores
    return {
        "benchmark_id": row.benchmark,
        "a_score": a,
        "b_score": b,
        "delta": row.delta,
        "higher_is_better": row.higher_is_better,
        "winner": None if row.winner == NONE else row.winner,
        "unit": row.unit,
        "a_run_id": None if row.a is None else row.a.id,
        "b_run_id": None if row.b is None else row.b.id,
        "a_status": row.status[0],
        "b_status": row.status[1],
        "comparison": None if row.pair is None else pair_document(row.pair),
        "note": "" if row.group is None else row.group.note,
    }


def _cells(row: Row) -> list[str]:
    values = [NONE if score is None else f"{score:.4f}" for score in row.scores]
    pair = row.pair
    more = [NONE, NONE, NONE]
    if pair is not None:
        delta = pair.contrast.delta
        more = [bounds(delta.low, delta.high, weak=delta.weak), p_value(pair.p_adjusted), count(pair)]
    return [row.benchmark, *values, signed(row.delta), row.winner, *more]


def _table(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table with columns separated by ` | `, as the older tool prints it."""
    cells = [list(columns), *(_cells(row) for row in rows)]
    if len({len(line) for line in cells}) > 1:
        return
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    for number, line in enumerate(cells):
        yield " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        if not number:
            yield "-+-".join("-" * width for width in widths)
