"""The JSON form of a run: the server's field names, then everything else."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from mesocosm.core.run import Run
from mesocosm.core.score import MetricResult


def moment(stamp: float | None) -> str | None:
    """Return a UNIX time as ISO 8601 with offset."""
    return None if stamp is None else datetime.fromtimestamp(stamp, UTC).isoformat(timespec="milliseconds")


def _config(run: Run) -> dict[str, Any]:
    """Return the configuration of a run, with the server's field names."""
    selection = run.spec.selection
    return {
        "domain_id": run.benchmark,
        "binding_vow_version": run.benchmark_version,
        "agent_config": {
            "model": run.model,
            "system_prompt": run.spec.agent.options.get("system_prompt"),
            "techniques": techniques(run),
            "temperature": run.spec.model.temperature,
            "max_tokens": run.spec.model.max_tokens,
        },
        "seed_set": None if selection.seeds is None else list(selection.seeds),
        "num_episodes": run.counts.planned,
        "max_parallel": run.spec.parallel,
        "env_id": None,
    }


def without_files(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's provenance without the digests of environment files, which only comparisons need."""
    return {name: value for name, value in provenance.items() if name != "files"}


def run_document(run: Run) -> dict[str, Any]:
    """Return a run as JSON: the server's field names, then everything else."""
    selection = run.spec.selection
    return {
        "id": run.id,
        "status": run.status,
        "config": _config(run),
        "created_at": moment(run.created_at),
        "started_at": moment(run.started_at),
        "completed_at": moment(run.ended_at),
        "requester_id": None,
        "team_id": None,
        "env_id": None,
        "scores": {metric.name: metric.value for metric in run.metrics},
        "metrics": [msgspec.to_builtins(metric) for metric in run.metrics],
        "counts": {
            "planned": run.counts.planned,
            "completed": run.counts.completed,
            "truncated": run.counts.truncated,
            "timeout": run.counts.timeout,
            "failed": run.counts.failed,
            "owed": run.counts.pending,
        },
        "usage": {
            "prompt_tokens": run.usage.prompt,
            "completion_tokens": run.usage.completion,
            "cost_usd": run.usage.cost_usd,
            "calls": run.usage.calls,
        },
        "benchmark": run.benchmark,
        "benchmark_title": run.benchmark_title,
        "benchmark_digest": run.benchmark_digest,
        "rescored": run.rescored or None,
        "doubt": run.doubt or None,
        "model": run.model,
        "agent": msgspec.to_builtins(run.spec.agent),
        "kind": run.kind,
        "name": run.name,
        "tags": list(run.tags),
        "attempt": run.attempt,
        "signature": run.signature,
        "state": _state(run),
        "error": run.error or None,
        "warnings": list(run.warnings),
        "trials": selection.trials,
        "provenance": without_files(run.provenance),
    }


def run_item(run: Run) -> dict[str, Any]:
    """Return a run as an item of a list: its identity, status, score and counts."""
    return {
        "id": run.id,
        "status": _state(run),
        "created_at": moment(run.created_at),
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "name": run.name,
        "title": run.title,
        "benchmark": run.benchmark,
        "model": run.model,
        "agent": run.agent,
        "score": None if run.primary is None else number_document(run.primary),
        "episodes": {
            "planned": run.counts.planned,
            "done": run.counts.done,
            "failed": run.counts.failed,
            "passed": run.counts.passed,
            "not_passed": run.counts.not_passed,
            "errors": run.counts.errors,
        },
        "cost_usd": run.usage.cost_usd,
        "tags": list(run.tags),
        "rescored": run.rescored or None,
        "doubt": run.doubt or None,
    }


def number_document(metric: MetricResult) -> dict[str, Any]:
    """Return a number with its interval, the count that it is from, and what is missing by cause."""
    return {
        "metric": metric.name,
        "value": metric.value,
        "low": metric.low,
        "high": metric.high,
        "n": metric.n_scored,
        "planned": metric.n_planned,
        "missing": dict(metric.missing),
    }


def techniques(run: Run) -> list[dict[str, Any]]:
    """Return the techniques of a run in the server's format."""
    declared: dict[str, Any] = {
        str(item.get("technique_id")): {} for item in run.info.get("vow", {}).get("techniques", [])
    }
    chosen = {**declared, **run.spec.agent.options.get("techniques", {})}
    return [{"technique_id": name, "params": params} for name, params in chosen.items() if params is not False]


def _state(run: Run) -> str:
    from mesocosm.store.lease_owner import state

    return state(run)
