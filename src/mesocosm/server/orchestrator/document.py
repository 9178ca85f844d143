"""viewer_data.json: the newest runs and groups with all their columns, and what they come to.

Keys: generated_at, runs, run_groups, latest_scores, benchmark_summary, model_summary, agent_summary,
calibration_summary; runs_total and run_groups_total count also what was left out. `generated_at` is the newest time in
the data, not the clock's, so that equal results make equal files.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.interop.files import replacing
from mesocosm.server.orchestrator.summaries import Summaries

if TYPE_CHECKING:
    from mesocosm.store import SqlStore

NAME = "viewer_data.json"

RUNS, GROUPS = 10_000, 3_000
"""Rows at most, the newest ones."""

_SUFFIX = "_json"
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def viewer_data(store: "SqlStore") -> dict[str, Any]:
    """Return the whole document; `write_viewer_data` writes the same without holding it."""
    return {name: list(part) if isinstance(part, Iterator) else part for name, part in _parts(store)}


def write_viewer_data(store: "SqlStore", folder: Path) -> Path:
    """Write viewer_data.json into `folder` and return its path; whoever reads it sees the old or the new one, whole.

    Raises UsageError when the place cannot be written.
    """
    path = folder / NAME
    with replacing(path) as file:
        for number, (name, part) in enumerate(_parts(store)):
            file.write(b"{\n" if number == 0 else b",\n")
            file.write(_encode(name) + b": ")
            if not isinstance(part, Iterator):
                file.write(_encode(part))
                continue
            file.write(b"[")
            for row, content in enumerate(part):
                file.write((b"\n" if row == 0 else b",\n") + _encode(content))
            file.write(b"]")
        file.write(b"\n}\n")
    return path


def _parts(store: "SqlStore") -> Iterator[tuple[str, Any]]:
    sums = Summaries(store.ledger_lines())
    groups = [_decoded(row) for row in store.newest_ledger_groups(GROUPS)]
    runs_total, groups_total = store.ledger_totals()
    yield "generated_at", max([sums.newest, *(str(row["updated_at"]) for row in groups)]) or None
    yield "runs_total", runs_total
    yield "runs", (_run(row) for row in store.newest_ledger_runs(RUNS))
    yield "run_groups_total", groups_total
    yield "run_groups", groups
    yield "latest_scores", sums.latest_scores()
    yield "benchmark_summary", sums.benchmarks()
    yield "model_summary", sums.models()
    yield "agent_summary", sums.agents()
    yield "calibration_summary", sums.calibration()


def _run(row: dict[str, Any]) -> dict[str, Any]:
    decoded = _decoded(row)
    better = decoded["higher_is_better"]
    return {**decoded, "higher_is_better": None if better is None else bool(better)}


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its JSON columns read, under their names without the suffix."""
    return {
        name.removesuffix(_SUFFIX): _decode(value) if name.endswith(_SUFFIX) and value is not None else value
        for name, value in row.items()
    }
