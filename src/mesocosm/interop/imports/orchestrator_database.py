"""Read the runs of an `orchestrator.sqlite` of the elizaOS benchmarks: one run for each row that was executed.

Its database holds one number for a whole benchmark and no items, so a run has one episode, whose task is the benchmark
with its configuration and whose trial is the attempt. One alone has no interval.
"""

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import RULES, Cause, Failure, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.run import RunStatus
from mesocosm.core.score import COUNT, Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage
from mesocosm.interop.imports.assembly import ForeignHead, ForeignSample, ImportedRun, assemble
from mesocosm.interop.imports.inspect_sample import moment
from mesocosm.interop.imports.trace_writer import TraceWriter
from mesocosm.store.foreign_database import is_orchestrator, read_only

__all__ = ["is_orchestrator", "left_out", "read_orchestrator"]

FORM = "orchestrator"

JSON = dict[str, Any]

_PLAYED = ("succeeded", "failed")
_LABELS = frozenset({"agent", "harness", "per_benchmark"})
"""Keys of the configuration that say who played, not what."""

_SHARES = frozenset({"ratio", "accuracy", "rate", "fraction"})
_COUNTS = ("n", "total", "total_tasks", "num_samples", "sample_count")


def read_orchestrator(path: Path, redactor: Redactor) -> Iterator[ImportedRun]:
    """Yield the runs that were executed, in the order in which they began. Raises UsageError."""
    rows = _rows(path)
    found = [row for row in rows if row.get("status") in _PLAYED]
    if not found:
        raise UsageError(
            f"{path} is a database of the elizaOS orchestrator, and holds no run that was executed "
            f"({left_out(rows) or 'no run at all'}); nothing was imported"
        )
    for row in found:
        head = _head(path, row)
        yield assemble(head, partial(_samples, row, head, redactor), path, redactor)


def left_out(rows: list[JSON]) -> str:
    """Return how many rows are no executed runs, by status; empty if there are none."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.get("status") not in _PLAYED:
            counts[str(row.get("status"))] = counts.get(str(row.get("status")), 0) + 1
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))


def _rows(path: Path) -> list[JSON]:
    try:
        with read_only(path) as connection:
            connection.row_factory = sqlite3.Row
            query = "SELECT * FROM benchmark_runs ORDER BY started_at, run_id"
            return [dict(row) for row in connection.execute(query)]
    except sqlite3.Error as error:
        raise UsageError(f"{path} cannot be read as a database of the elizaOS orchestrator: {error}") from error


def _head(path: Path, row: JSON) -> ForeignHead:
    benchmark, unit = str(row["benchmark_id"]), str(row.get("unit") or "")
    share = unit.lower() in _SHARES
    higher = row.get("higher_is_better")
    metric = Metric(
        "score",
        "score",
        higher_is_better=higher != 0,
        low=0.0 if share else None,
        high=1.0 if share else None,
        primary=True,
        directed=higher is not None,
        lone=True,
    )
    kept = ("run_id", "run_group_id", "signature", "benchmark_directory", "benchmarks_commit", "eliza_commit")
    failed = row["status"] == "failed"
    provider, model = str(row.get("provider") or "unknown"), str(row.get("model") or "unknown")
    begun = moment(row.get("started_at")) or moment(row.get("created_at")) or 0.0
    return ForeignHead(
        form=FORM,
        identity=[row["run_id"], row.get("run_group_id"), row.get("signature")],
        benchmark=benchmark,
        version=str(row.get("benchmark_version") or ""),
        content=[FORM, benchmark, row.get("benchmark_version"), _config(row)],
        model=f"{provider}/{model}",
        agent=str(row.get("agent") or "eliza"),
        status=RunStatus.FINISHED,
        error=str(row.get("error") or "") if failed else "",
        created_at=begun,
        started_at=begun,
        ended_at=moment(row.get("ended_at")),
        metrics=(metric,),
        attempt=int(row.get("attempt") or 1),
        headline={"score": row["score"]} if _is_number(row.get("score")) else {},
        provenance={
            "orchestrator": {
                **{name: row[name] for name in kept if row.get(name)},
                **({"unit": unit} if unit else {}),
                "config": _config(row),
            }
        },
    )


def _samples(row: JSON, head: ForeignHead, redactor: Redactor) -> Iterator[ForeignSample]:
    begun, ended = head.created_at, head.ended_at
    trace = TraceWriter(redactor, begun)
    trial = max(head.attempt - 1, 0)
    trace.event(Kind.EPISODE_START, {"task": head.benchmark, "trial": trial})
    failed = row["status"] == "failed"
    failure = None
    if failed:
        message = str(row.get("error") or "the benchmark's program failed")
        failure = Failure(Cause.PROGRAM_FAILED, RULES[Cause.PROGRAM_FAILED].boundary, message)
        trace.event(Kind.ERROR, {"cause": failure.cause, "boundary": failure.boundary, "message": message})
    status = EpisodeStatus.FAILED if failed else EpisodeStatus.COMPLETED
    trace.event(Kind.EPISODE_END, {"status": status, "steps": 0, "total_reward": 0.0}, ended)
    metrics = _object(row.get("metrics_json"))
    yield ForeignSample(
        task=Task(head.benchmark, input={"benchmark": head.benchmark, "config": _config(row)}),
        trial=trial,
        status=status,
        started_at=begun,
        ended_at=ended,
        scores=_scores(row, metrics, failed=failed),
        failure=failure,
        usage=Usage(
            _count(row.get("total_prompt_tokens")),
            _count(row.get("total_completion_tokens")),
            _count(row.get("total_cache_read_input_tokens")),
            cost_usd=None,
            calls=_count(row.get("llm_call_count")),
        ),
        facts={"metrics": metrics} if metrics else {},
        trace=trace,
    )


def _scores(row: JSON, metrics: Mapping[str, Any], *, failed: bool) -> list[Score]:
    if failed:
        return [Score("score", missing=Cause.PROGRAM_FAILED)]
    if not _is_number(row.get("score")):
        return [Score("score", missing=Cause.VALUE_MISSING)]
    count = next((metrics[name] for name in _COUNTS if _is_number(metrics.get(name)) and metrics[name] >= 1), None)
    counted = [Score(f"score{COUNT}", float(count))] if count is not None else []
    return [Score("score", float(row["score"])), *counted]


def _config(row: JSON) -> JSON:
    given = _object(row.get("extra_config_json"))
    return {name: value for name, value in given.items() if name not in _LABELS}


def _object(text: Any) -> JSON:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _count(value: Any) -> int:
    return max(int(value), 0) if _is_number(value) else 0


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
