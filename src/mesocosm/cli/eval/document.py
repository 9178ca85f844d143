"""The JSON documents of `eval` commands: in the older tool's format, with additions."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.core.run import Run
from mesocosm.engine.results import RunResults
from mesocosm.interop.record import moment, run_document

if TYPE_CHECKING:
    from mesocosm.server.schemas.metric import MetricDocument
    from mesocosm.server.schemas.run import RunDetail, RunSummary

SCHEMA_VERSION = 1


def listed(items: "Sequence[Run | RunSummary]", cursor: str | None, *, more: bool = False) -> dict[str, Any]:
    """Return a list of runs, of this machine or of a server; `more`: there are some that `cursor` does not lead to."""
    return {
        "schema_version": SCHEMA_VERSION,
        "items": [_item(run) if isinstance(run, Run) else shared_run(run) for run in items],
        "total_count": len(items),
        "has_more": more or cursor is not None,
        "next_offset": None,
        "next_cursor": cursor,
    }


def detail(run: Run, found: RunResults) -> dict[str, Any]:
    """Return the details of one run."""
    facts = run.provenance.get("eval", {})
    options = run.spec.benchmark.options
    data = {
        "eval_run": _run(run),
        "summary": summary(run, found),
        "config": _config(run),
        "results": msgspec.to_builtins(found),
        "model": run.model,
        "dataset": run.benchmark,
        "rows": run.info.get("description", ""),
        "rollout": run.agent,
        "entrypoint": options.get("entrypoint"),
        "env_config": options.get("environment", {}),
        "secrets": list(options.get("secrets", ())),
        "workspace_directory": facts.get("workspace"),
        "run": run_document(run),
    }
    return {"schema_version": SCHEMA_VERSION, "data": data}


def summary(run: Run, found: RunResults) -> dict[str, Any]:
    """Return the main numbers: `avg_reward` is over graded samples; in `pass_rate` a failure never passes."""
    counts = found.counts
    return {
        "avg_reward": None if found.reward is None else found.reward.mean,
        "pass_rate": found.seed_pass_rate,
        "pass_threshold": found.pass_threshold,
        "graded": counts.graded,
        "passed": counts.passed,
        "failed": counts.failed,
        "skipped": counts.skipped,
        "total_samples": counts.done,
        "total_tokens": run.usage.total,
        "progress": {"completed": counts.done, "total": counts.planned, "unit": "samples"},
    }


def operation(name: str, run: "Run | RunDetail", status: str, message: str) -> dict[str, Any]:
    """Return what a command did to a run, of this machine or of a server."""
    return {
        "schema_version": SCHEMA_VERSION,
        "status": status,
        "operation": name,
        "resource": _run(run) if isinstance(run, Run) else shared_run(run),
        "message": message,
        "next_steps_structured": [{"command": shlex.join(["mesocosm", "eval", "info", run.name or run.id])}],
    }


def shared_run(run: "RunSummary") -> dict[str, Any]:
    """Return a run of a server in the format of `listed`, with the server's own document of it as `run`."""
    rate = next((one for one in getattr(run, "metrics", ()) if one.name == "pass_rate"), None)
    return {
        "id": run.id,
        "name": run.name or run.id,
        "status": run.state,
        "model_name": run.model,
        "dataset_name": run.benchmark,
        "rollout_name": run.agent,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "completed_at": run.ended_at,
        "error": run.error,
        "tags": run.tags,
        "summary": {
            "avg_reward": _value(run.primary),
            "pass_rate": _value(rate),
            "failed": run.counts.failed,
            "progress": {"completed": run.counts.done, "total": run.counts.planned, "unit": "samples"},
        },
        "run": run,
    }


def _value(metric: "MetricDocument | None") -> float | None:
    return None if metric is None else metric.value


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "name": run.name or run.id,
        "status": run.status,
        "model_name": run.model,
        "dataset_name": run.benchmark,
        "rollout_name": run.agent,
        "created_at": moment(run.created_at),
        "started_at": moment(run.started_at),
        "completed_at": moment(run.ended_at),
        "error": run.error,
        "tags": list(run.tags),
    }


def _item(run: Run) -> dict[str, Any]:
    reward = next((metric for metric in run.metrics if metric.primary), None)
    rate = next((metric for metric in run.metrics if metric.name == "pass_rate"), None)
    return {
        **_run(run),
        "summary": {
            "avg_reward": None if reward is None else reward.value,
            "pass_rate": None if rate is None else rate.value,
            "failed": run.counts.failed,
            "progress": {"completed": run.counts.done, "total": run.counts.planned, "unit": "samples"},
        },
    }


def _config(run: Run) -> dict[str, Any]:
    options = run.spec.benchmark.options
    return {
        "limit": "all" if options.get("everything") else options.get("limit"),
        "sample": options.get("sample"),
        "seed": options.get("seed"),
        "n": run.spec.selection.trials,
        "batch_size": None if options.get("capped") else run.spec.parallel,
        "pass_threshold": options.get("pass_threshold", 1.0),
        "agent_workflow_timeout_s": options.get("workflow_seconds", 450.0),
        "grader_timeout_s": options.get("grader_seconds", 150.0),
    }
