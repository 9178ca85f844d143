"""What the `osmosis` command line shows of a run's results: counts and statistics as the hosted platform defines them.

Our own metrics with their intervals, the cost and the digest of the dataset are further keys, which it passes through.
"""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.interop.older_index import IndexRecord, IndexSummary, metrics_document
from mesocosm.interop.samples import SampleRules, finite
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.figures import figures_of, kept

_summaries = Cache[IndexSummary](1_000)


def status_of(run: VisibleRun) -> str:
    """Return pending, running, finished, failed or stopped.

    A run that is being stopped is running until its worker has ended it. One that stopped by itself, at an outage or a
    budget, is failed: its log says why.
    """
    request, status = run.request, run.record.status
    state = "ended" if request is None else request.state
    if state == "queued":
        return "pending"
    if status in (RunStatus.PENDING, RunStatus.RUNNING):
        return "pending" if state == "claimed" and status is RunStatus.PENDING else "running"
    if state == "claimed":
        return "running"
    if status is RunStatus.STOPPED:
        return "stopped" if state == "cancelled" else "failed"
    return "failed" if status is RunStatus.FAILED else "finished"


def rows_of(run: Run) -> int:
    """Return the number of rows of a run, each of which is attempted `n` times."""
    return run.counts.planned // max(run.spec.selection.trials, 1)


def summary_of(run: VisibleRun) -> IndexSummary:
    """Return counts and rewards of the samples that are finished."""
    return kept(_summaries, run, lambda: _summary(run))


def _summary(run: VisibleRun) -> IndexSummary:
    rules = SampleRules.of(run.record)
    found = IndexSummary(rules.bar)
    for one in _records(run, rules.primary):
        found.add(one)
    found.tokens = run.record.usage.total
    return found


def _records(run: VisibleRun, primary: str) -> Iterator[IndexRecord]:
    """Yield a record of each finished sample with what a summary reads of it."""
    places: dict[str, int] = {}
    attempts = Counter[str]()
    for row in run.result_rows(primary):
        place, attempt = places.setdefault(row.task, len(places)), attempts[row.task]
        attempts[row.task] += 1
        reward = finite(row.score) if row.outcome == "scored" else None
        status = "success" if reward is not None else "skipped" if row.outcome == "skipped" else "failed"
        yield IndexRecord(place, attempt, "", status, place, reward, 0, 0, row.missing or row.failure, None)


def results_of(run: VisibleRun, *, metrics: bool = True) -> dict[str, Any] | None:
    """Return `results` of a run, None before its first sample is finished; without `metrics` as lists have them."""
    record = run.record
    if not record.counts.done and not record.counts.planned:
        return None
    found = summary_of(run)
    shown = metrics_document(record, found)["summary"]
    rewards = shown["reward_stats"]
    at_k = {str(one["k"]): one["value"] for one in shown["pass_at_k"]}
    results: dict[str, Any] = {
        "score": shown["score"],
        "pass_rate": shown["pass_rate"] if found.total else None,
        "graded": shown["graded"],
        "passed": shown["passed"],
        "failed": shown["failed"],
        "skipped": shown["skipped"],
        "total_runs": found.total,
        "sampled_rows": rows_of(record),
        "pass_threshold": shown["pass_threshold"],
        "total_tokens": found.tokens,
        "reward_stats": None if rewards is None else {**rewards, **({"pass_at_k": at_k} if at_k else {})},
        "cost_usd": shown["cost_usd"],
        **_data(run),
    }
    if metrics:
        results["intervals"] = [_interval(one) for one in figures_of(run).metrics]
        if record.status is RunStatus.PARTIAL:
            results["partial"] = True
        if record.doubt:
            results["doubt"] = record.doubt
    return {name: value for name, value in results.items() if value is not None}


def metrics_of(run: VisibleRun) -> dict[str, Any]:
    """Return the answer about a run's metrics."""
    record, found = run.record, summary_of(run)
    shown = metrics_document(record, found)["summary"]
    return {
        "eval_run_id": run.id,
        "status": status_of(run),
        "overview": {
            "duration_ms": _duration(record),
            "total_samples": record.counts.planned,
            "completed_samples": found.total,
            **{name: shown[name] for name in ("graded", "passed", "failed", "skipped", "pass_rate", "pass_threshold")},
            "tokens_used": found.tokens,
            "cost_usd": shown["cost_usd"],
        },
        "reward_stats": shown["reward_stats"],
        "pass_at_k": shown["pass_at_k"],
        "metrics": [_interval(one) for one in figures_of(run).metrics],
    }


def metrics_file(run: VisibleRun, name: str) -> dict[str, Any]:
    """Return the content of metrics.json, for a run with this name."""
    found = metrics_document(run.record, summary_of(run))
    return {**found, "eval_run": {**found["eval_run"], "name": name, "status": status_of(run)}}


def _duration(record: Run) -> int | None:
    seconds = record.worked_s(time.time())
    return None if seconds is None else round(seconds * 1_000)


def _data(run: VisibleRun) -> dict[str, Any]:
    """Return which data a run is of: the version of the dataset and the SHA-256 of its file."""
    request = run.request
    if request is None:
        return {}
    return {"dataset_version": request.dataset_version, "dataset_sha256": request.config.get("dataset_digest")}


def _interval(metric: MetricResult) -> dict[str, Any]:
    return {
        "name": metric.name,
        "value": finite(metric.value),
        "low": finite(metric.low),
        "high": finite(metric.high),
        "level": metric.level,
        "method": metric.method,
        "planned": metric.n_planned,
        "scored": metric.n_scored,
        "missing": metric.missing,
        "primary": metric.primary,
    }
