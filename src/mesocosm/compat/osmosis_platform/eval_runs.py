"""`/api/cli/eval-runs`: evaluation runs of a workspace for the `osmosis` command line."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mesocosm.compat.osmosis_platform.eval_log import log_entries
from mesocosm.compat.osmosis_platform.eval_results import metrics_of, results_of, status_of
from mesocosm.compat.osmosis_platform.pages import Cursor, Limit, Offset, log_page
from mesocosm.compat.osmosis_platform.scope import Place
from mesocosm.core.failure import UnknownName
from mesocosm.interop.record import moment
from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.refusal import Refusal
from mesocosm.server.web.requests import base_url

router = APIRouter(prefix="/api/cli/eval-runs", include_in_schema=False)

RunName = Annotated[str, Path(max_length=300)]
_OVER = frozenset({"finished", "failed", "stopped"})
_SCOPES = {"personal": "user"}


class SecretsOfRetry(BaseModel):
    """Values of secrets that a run came with; they were not kept."""

    model_config = ConfigDict(hide_input_in_errors=True)

    secrets: dict[str, SecretStr] = Field(default={}, max_length=200)


def found_run(grant: Grant, place: str, reference: str) -> VisibleRun:
    """Return a run of a workspace by its id or name. Raises Refusal 404."""
    return grant.run(grant.workspace(place).run_id(reference))


@router.get("", **access(Access.INSIDER))
def list_runs(
    place: Place, request: Request, grant: Granted, service: Served, limit: Limit = 50, offset: Offset = 0
) -> dict[str, Any]:
    """List the runs of a workspace, newest first."""
    base = base_url(request, service.settings)
    ids, total = grant.workspace(place).run_ids(limit, offset)
    runs = []
    for run_id in ids:
        try:
            run = grant.run(run_id)
        except UnknownName:
            continue  # deleted in this moment
        runs.append({**run_row(run, base), "results": results_of(run, metrics=False), "config": _config(run)})
    end = offset + len(ids)
    more = bool(ids) and end < total
    return {"eval_runs": runs, "total_count": total, "has_more": more, "next_offset": end if more else None}


@router.get("/{name:path}/metrics", **access(Access.INSIDER))
def get_metrics(name: RunName, place: Place, grant: Granted) -> dict[str, Any]:
    """Return counts and statistics of a run."""
    return metrics_of(found_run(grant, place, name))


@router.get("/{name:path}/logs", **access(Access.INSIDER))
def list_logs(name: RunName, place: Place, grant: Granted, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    """Return what happened in a run, and what its programs printed."""
    found = grant.own_run(grant.workspace(place).run_id(name))
    return log_page(list(log_entries(found)), limit, cursor)


@router.post("/{name:path}/stop", **access(Access.INSIDER))
def stop_run(name: RunName, place: Place, grant: Granted) -> dict[str, Any]:
    """Stop a run; it is stopped when its worker has ended it. 409 if it is over."""
    run = grant.own_run(grant.workspace(place).run_id(name))
    status = status_of(run)
    if status in _OVER:
        raise Refusal(409, f"the run {run_name(run)!r} is {status} and cannot be stopped")
    run.stop()
    return {"id": run.id, "name": run_name(run), "status": status_of(run.again())}


@router.post("/{name:path}/retry", **access(Access.INSIDER))
def retry_run(
    name: RunName, body: SecretsOfRetry, place: Place, request: Request, grant: Granted, service: Served
) -> dict[str, Any]:
    """Run again what was not run or failed for other reasons than the agent's. 409 if the run is not over.

    409 also for a run that came with values of secrets, until they are given again.
    """
    run = grant.own_run(grant.workspace(place).run_id(name))
    asked, shown, status = run.request, run_name(run), status_of(run)
    if asked is not None and asked.kind == "imported":
        local = {"eval_run_name": run.record.name or shown, "config_path": asked.configuration or None}
        words = f"the run {shown!r} was run elsewhere; repeat it there and upload it again"
        raise Refusal(409, words, more={"local_run": local})
    if status not in _OVER:
        raise Refusal(409, f"the run {shown!r} is {status}; stop it, or wait for its end, before you repeat samples")
    fresh = not run.record.counts.done
    run.resume(retry_failed=True, provided=body.secrets)
    again = run.again()
    return {
        "id": run.id,
        "name": shown,
        "status": status_of(again),
        "workflow_id": run.id,
        "retryable_samples": 0 if fresh else again.record.counts.pending,
        "platform_url": _url(run, base_url(request, service.settings)),
    }


@router.get("/{name:path}", **access(Access.INSIDER))
def get_run(name: RunName, place: Place, request: Request, grant: Granted, service: Served) -> dict[str, Any]:
    """Return a run by its name or id, with its results so far."""
    run = found_run(grant, place, name)
    shown, asked = run_row(run, base_url(request, service.settings)), run.request
    given = {} if asked is None else asked.config
    tables = given.get("config") or {}
    results = results_of(run)
    rows = _dataset_rows(grant, place, run)
    if results is not None and rows is not None:
        results["total_dataset_rows"] = rows
    return {
        "eval_run": shown,
        "results": results,
        "config": _config(run),
        "dataset": shown["dataset"],
        "rollout": shown["rollout"],
        "entrypoint": given.get("entrypoint"),
        "branch": (asked.branch or None) if asked is not None else None,
        "commit_sha": (asked.commit_id or None) if asked is not None else None,
        "env_config": tables.get("env") or None,
        "resolved_secret_scopes": {
            one: _SCOPES.get(scope, scope) for one, scope in (given.get("scopes") or {}).items()
        },
        "dataset_df_stats": None,
        "is_internal_user": False,
    }


def run_name(run: VisibleRun) -> str:
    """Return the name by which the workspace knows a run."""
    request = run.request
    return (request.name if request is not None else "") or run.id


def run_row(run: VisibleRun, base: str) -> dict[str, Any]:
    """Return a run as lists have it, without results and settings."""
    record, request = run.record, run.request
    rollout = (request.config.get("rollout") if request is not None else None) or record.agent
    who = request.actor_name if request is not None else None
    return {
        "id": run.id,
        "name": run_name(run),
        "status": status_of(run),
        "created_at": moment(record.created_at),
        "started_at": moment(record.started_at),
        "completed_at": moment(record.ended_at) if status_of(run) in _OVER else None,
        "model": {"name": record.model},
        "dataset": {"id": request.dataset_id if request is not None else None, "name": _dataset_name(run)},
        "rollout": {"id": rollout, "name": rollout},
        "creator_name": who,
        "creator_email": who,
        "platform_url": _url(run, base),
    }


def _url(run: VisibleRun, base: str) -> str:
    return f"{base}/runs/{run.id}"


def _dataset_name(run: VisibleRun) -> str:
    request = run.request
    return str((request.config.get("dataset") if request is not None else "") or run.record.benchmark)


def _dataset_rows(grant: Grant, place: str, run: VisibleRun) -> int | None:
    request = run.request
    if request is None or request.dataset_id is None:
        return None
    try:
        return grant.workspace(place).dataset(request.dataset_id).document(request.dataset_version).current.rows
    except Refusal:
        return None  # deleted


def _config(run: VisibleRun) -> dict[str, Any]:
    """Return the settings of a run: those of its configuration, and what they came to."""
    record, request = run.record, run.request
    given = {} if request is None else request.config
    tables = given.get("config") or {}
    evaluation = dict(tables.get("evaluation") or {}) if isinstance(tables, dict) else {}
    prefix = "evaluation."
    changed = (given.get("assignments") or {}).items()
    evaluation |= {name.removeprefix(prefix): value for name, value in changed if name.startswith(prefix)}
    if given.get("limit") is not None:
        evaluation["limit"] = given["limit"]
    return {**evaluation, "model_path": record.model, "n": record.spec.selection.trials}
