"""Batch runs: submit a run for each model of the operator's list, and report them together."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from mesocosm.compat.swecc.documents import TERMINAL
from mesocosm.core.ids import new_id
from mesocosm.core.model import MAX_TOKENS
from mesocosm.core.run import Run
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.lifecycle import cancel_run
from mesocosm.server.run_requests.submission import submit_run
from mesocosm.server.run_requests.view import public_status, scores_of
from mesocosm.server.schemas.batch_run import BatchRunDocument, BatchStatus, ModelResult
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.schemas.run_request import AgentInput, RunInput
from mesocosm.server.service import Service
from mesocosm.store.batch_runs import TAKEN, BatchRun
from mesocosm.store.environments import EnvironmentRow
from mesocosm.store.run_requests import OPEN, RunRequest, RunRequestFilter

OUTSIDE = "outside"
"""Owner of a batch run that an outside program has claimed."""

RequestedRun: TypeAlias = tuple[RunRequest, Run]


def submit_batch(service: Service, viewer: Viewer, row: EnvironmentRow) -> BatchRun:
    """Submit a run for every model of the operator's list; a model that cannot be run becomes a result with an error.

    Raises Refusal, 409 if the operator lists no models.
    """
    names = service.catalogue.full_bench()
    if not names:
        raise Refusal(409, "this server has no models for batch runs; its operator can mark some as full_bench")
    inputs = [_run_input(service, row, name) for name in names]
    batch_id = new_id()
    results: list[dict[str, Any]] = []
    for position, wanted in enumerate(inputs):
        name = wanted.agent_config.model
        try:
            request = submit_run(service, viewer, wanted, purpose="full_bench", job_id=batch_id, cooldown=position == 0)
            results.append({"model": name, "run_id": request.run_id})
        except Refusal as refusal:
            if not position:
                # Nothing was accepted, so nothing was spent.
                raise
            results.append({"model": name, "error": str(refusal)})
    batch = BatchRun(
        id=batch_id,
        environment_id=row.id,
        domain_id=row.domain_id,
        user_id=viewer.caller.user_id,
        source=row.source,
        results=results,
        created_at=time.time(),
    )
    service.store.batch_runs.add(batch)
    return batch


def batch_document(service: Service, batch: BatchRun) -> BatchRunDocument:
    """Return the current state of a batch run."""
    (document,) = batch_documents(service, [batch])
    return document


def batch_documents(service: Service, batches: Sequence[BatchRun]) -> list[BatchRunDocument]:
    """Return the current state of batch runs, with two queries.

    Results are read from the runs, unless an outside program carried out the batch run and reported them.
    """
    ids = [str(result["run_id"]) for batch in batches for result in batch.results if result.get("run_id")]
    requests, runs = service.store.run_requests.of(ids), service.store.run_requests.runs(ids)
    requested = {name: (requests[name], runs[name]) for name in ids if name in requests and name in runs}
    return [_document(batch, requested) for batch in batches]


def claim_batch(service: Service, batch: BatchRun) -> BatchRun:
    """Assign a batch run to an outside program and cancel its runs. Raises Refusal 409 if one of them has started."""
    if service.store.batch_runs.take_back(service.settings.run_s):
        batch = service.store.batch_runs.get(batch.id) or batch
    waiting = batch_document(service, batch).status == "queued"
    if not waiting or not service.store.batch_runs.claim(batch.id, OUTSIDE):
        raise Refusal(409, f"batch run {batch.id} is no longer queued; the workers of this server play its runs")
    for request in service.store.run_requests.list(RunRequestFilter(job_id=batch.id, states=OPEN)):
        cancel_run(service, request, TAKEN)
    return service.store.batch_runs.get(batch.id) or batch


def _run_input(service: Service, row: EnvironmentRow, model: str) -> RunInput:
    """Return the input of the run for one model. Raises Refusal 400 if the environment is not ready."""
    domain = service.store.domains.get(row.domain_id) if row.domain_id else None
    if row.ready_version is None or domain is None:
        raise Refusal(400, f"environment {row.id} is not ready ({row.status}); see `mesocosm env logs {row.id}`")
    vow = domain.document.get("binding_vow") or {}
    episodes = service.settings.full_bench_episodes
    return RunInput(
        domain_id=domain.id,
        binding_vow_version=str(vow.get("version", "")),
        agent_config=AgentInput(model=model, max_tokens=MAX_TOKENS),
        num_episodes=episodes,
        max_parallel=episodes,
        env_id=row.id,
        team_id=row.team_id,
    )


def _document(batch: BatchRun, runs: Mapping[str, RequestedRun]) -> BatchRunDocument:
    own = [runs[name] for result in batch.results if (name := str(result.get("run_id"))) in runs]
    ends = [run.ended_at for _, run in own if run.ended_at is not None]
    if batch.status == "queued":
        results: list[ModelResult | dict[str, Any]] = [_result(result, runs) for result in batch.results]
        status, ended = _status(own), max(ends, default=None)
    else:
        results, status, ended = list(batch.results), batch.status, batch.completed_at
    over = status in {"completed", "failed"}
    return BatchRunDocument(
        id=batch.id,
        env_id=batch.environment_id,
        domain_id=batch.domain_id,
        status=cast("BatchStatus", status),
        created_at=instant(batch.created_at),
        completed_at=moment(ended) if over else None,
        source=batch.source,
        model_results=results,
    )


def _result(result: Mapping[str, Any], runs: Mapping[str, RequestedRun]) -> ModelResult:
    name, run_id = str(result.get("model", "")), str(result.get("run_id") or "")
    if run_id not in runs:
        error = str(result.get("error") or "its run was deleted")
        return ModelResult(model=name, run_id=run_id or None, status="failed", error=error)
    request, run = runs[run_id]
    return ModelResult(model=name, run_id=run_id, status=public_status(request, run).value, scores=scores_of(run))


def _status(runs: Sequence[RequestedRun]) -> str:
    states = {public_status(request, run).value for request, run in runs}
    if states <= TERMINAL:
        return "completed" if "completed" in states else "failed"
    untouched = states == {"pending"} and all(request.state == "queued" for request, _ in runs)
    return "queued" if untouched else "running"
