"""Full benches: one run for each model of the operator's list, and the job that holds them together."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from mesocosm.client.documents.job import BenchJob, JobStatus, ModelResult
from mesocosm.client.documents.run import AgentInput, RunInput, RunStatus
from mesocosm.core.ids import new_id
from mesocosm.core.run import Run
from mesocosm.server.auth.principal import Principal
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.lifecycle import cancel_run
from mesocosm.server.run_requests.submission import submit_run
from mesocosm.server.run_requests.view import TERMINAL, public_status, scores_of
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.service import Service
from mesocosm.store.batch_runs import TAKEN, Job
from mesocosm.store.environments import EnvironmentRow
from mesocosm.store.run_requests import OPEN, RunRequest, RunRequestFilter

MAX_TOKENS = 4096
OUTSIDE = "outside"
"""Who claims a job that no worker of this platform carries out."""

Pair: TypeAlias = tuple[RunRequest, Run]


def bench_input(service: Service, row: EnvironmentRow, model: str, episodes: int, seed: int | None = None) -> RunInput:
    """Return what a bench asks for in an environment. Refuses with 400 one that is not ready."""
    domain = service.domains.get(row.domain_id) if row.domain_id else None
    if row.ready_version is None or domain is None:
        raise Refusal(400, f"environment {row.id} is not ready ({row.status}); see `mesocosm env logs {row.id}`")
    vow = domain.document.get("binding_vow") or {}
    return RunInput(
        domain_id=domain.id,
        binding_vow_version=str(vow.get("version", "")),
        agent_config=AgentInput(model=model, max_tokens=MAX_TOKENS),
        seed_set=None if seed is None else [seed],
        num_episodes=episodes,
        max_parallel=episodes,
        env_id=row.id,
        team_id=row.team_id,
    )


def begin_bench(service: Service, caller: Principal, row: EnvironmentRow) -> Job:
    """Ask for a run of every model of a full bench; return the job. One that cannot be run is among the results."""
    names = service.catalogue.full_bench()
    if not names:
        raise Refusal(409, "this platform has no models for full benches; its operator can mark some as full_bench")
    inputs = [bench_input(service, row, name, service.settings.full_bench_episodes) for name in names]
    job_id = new_id()
    results: list[dict[str, Any]] = []
    for place, wanted in enumerate(inputs):
        name = wanted.agent_config.model
        try:
            order = submit_run(service, caller, wanted, purpose="full_bench", job_id=job_id, cooldown=place == 0)
            results.append({"model": name, "run_id": order.run_id})
        except Refusal as refusal:
            if not place:
                # Nothing was accepted, so nothing was spent either.
                raise
            results.append({"model": name, "error": str(refusal)})
    job = Job(
        id=job_id,
        environment_id=row.id,
        domain_id=row.domain_id,
        user_id=caller.user_id,
        source=row.source,
        results=results,
        created_at=time.time(),
    )
    service.batch_runs.add(job)
    return job


def job_document(service: Service, job: Job) -> BenchJob:
    """Return a job as it stands."""
    (document,) = job_documents(service, [job])
    return document


def job_documents(service: Service, jobs: Sequence[Job]) -> list[BenchJob]:
    """Return jobs as they stand, in two queries however many there are.

    What a job has reached is read from its runs, unless a program outside carried it out and reported.
    """
    ids = [str(result["run_id"]) for job in jobs for result in job.results if result.get("run_id")]
    orders, runs = service.run_requests.of(ids), service.run_requests.runs(ids)
    pairs = {name: (orders[name], runs[name]) for name in ids if name in orders and name in runs}
    return [_document(job, pairs) for job in jobs]


def claim_job(service: Service, job: Job) -> Job:
    """Give a job to a program outside: its runs, none of which has begun, are cancelled. Raises Refusal 409."""
    if service.batch_runs.take_back(service.settings.run_s):
        job = service.batch_runs.get(job.id) or job
    waiting = job_document(service, job).status == "queued"
    if not waiting or not service.batch_runs.claim(job.id, OUTSIDE):
        raise Refusal(409, f"job {job.id} is not queued any more; the workers of this platform play its runs")
    for order in service.run_requests.list(RunRequestFilter(job_id=job.id, states=OPEN)):
        cancel_run(service, order, TAKEN)
    return service.batch_runs.get(job.id) or job


def _document(job: Job, runs: Mapping[str, Pair]) -> BenchJob:
    mine = [runs[name] for result in job.results if (name := str(result.get("run_id"))) in runs]
    ends = [run.ended_at for _, run in mine if run.ended_at is not None]
    if job.status == "queued":
        results: list[ModelResult | dict[str, Any]] = [_result(result, runs) for result in job.results]
        status, ended = _status(mine), max(ends, default=None)
    else:
        results, status, ended = list(job.results), job.status, job.completed_at
    over = status in {"completed", "failed"}
    return BenchJob(
        id=job.id,
        env_id=job.environment_id,
        domain_id=job.domain_id,
        status=cast("JobStatus", status),
        created_at=instant(job.created_at),
        completed_at=moment(ended) if over else None,
        github_url=job.source,
        model_results=results,
    )


def _result(result: Mapping[str, Any], runs: Mapping[str, Pair]) -> ModelResult:
    name, run_id = str(result.get("model", "")), str(result.get("run_id") or "")
    if run_id not in runs:
        error = str(result.get("error") or "its run was deleted")
        return ModelResult(model=name, run_id=run_id or None, status=RunStatus.FAILED.value, error=error)
    order, run = runs[run_id]
    return ModelResult(model=name, run_id=run_id, status=public_status(order, run).value, scores=scores_of(run))


def _status(runs: Sequence[Pair]) -> str:
    states = {public_status(order, run) for order, run in runs}
    if states <= TERMINAL:
        return "completed" if RunStatus.COMPLETED in states else "failed"
    return (
        "queued" if states == {RunStatus.PENDING} and all(order.state == "queued" for order, _ in runs) else "running"
    )
