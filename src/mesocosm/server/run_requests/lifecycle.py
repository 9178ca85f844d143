"""Changes to submitted runs: cancel, resume, rescore, publish or hide, delete."""

import math
import time
from collections.abc import Mapping
from contextlib import suppress

from pydantic import SecretStr

from mesocosm.core.failure import InfrastructureError, RunLeased, UnknownName
from mesocosm.core.run import RunStatus
from mesocosm.engine.rescoring import rescore_leased
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.server.workspace_secrets import NO_SECRETS, provide_secrets
from mesocosm.store.run_requests import PRIVATE, RunRequest


def cancel_run(service: Service, request: RunRequest, reason: str = "cancelled") -> RunRequest:
    """Cancel a waiting or running run; one that has ended is returned unchanged.

    The worker that runs it notices at its next heartbeat; until then episodes may still finish.
    """
    before = service.store.queue.cancel(request.run_id, reason)
    if before is not None:
        played = before.state == "claimed" and (before.lease_until or 0.0) > time.time()
        with suppress(UnknownName):
            if not played:
                service.store.workspace_secrets.drop_of_run(request.run_id, math.inf)
                release_run(service, request.run_id)
                _mark_stopped(service, request.run_id)
            elif not request.official:
                # The worker of an official run notices by its lease, and finishes the running episodes.
                service.store.runs.request_stop(request.run_id)
    return service.store.run_requests.get(request.run_id) or request


def resume_run(
    service: Service,
    request: RunRequest,
    *,
    retry_failed: bool = False,
    provided: Mapping[str, SecretStr] = NO_SECRETS,
    by: int | None = None,
) -> RunRequest:
    """Queue a run again for its pending episodes.

    With `retry_failed`, and if the run is partial, also for those that failed through no fault of the agent. A run that
    came with values of secrets needs them again, as `provided` by an account. Raises Refusal 409 if it is waiting or
    running, was played elsewhere, if no episode is pending, or a value is missing.
    """
    if request.kind == "imported":
        raise Refusal(
            409,
            f"run {request.run_id} was played elsewhere; continue it there, then push it again with `mesocosm push`",
        )
    if request.open:
        raise Refusal(
            409, f"run {request.run_id} waits or runs already; look at it with `mesocosm run watch {request.run_id}`"
        )
    _check_provided(request, provided)
    run = service.store.runs.get(request.run_id)
    if request.official and run.status is RunStatus.RUNNING:
        raise Refusal(409, f"the last episodes of run {run.id} are still being played; resume it when they have ended")
    provide_secrets(service, request.workspace_id or "", run.id, provided, by)
    removed = service.store.episodes.drop_failed(run.id) if retry_failed or run.status is RunStatus.PARTIAL else 0
    if not removed and not run.counts.pending:
        service.store.workspace_secrets.drop_of_run(run.id, math.inf)
        hint = "" if retry_failed or not run.counts.failed else "; retry_failed=true plays failed ones once more"
        raise Refusal(409, f"run {run.id} has no pending episode{hint}")
    service.store.queue.reopen(run.id)
    return service.store.run_requests.get(run.id) or request


def _check_provided(request: RunRequest, provided: Mapping[str, SecretStr]) -> None:
    """Raise Refusal unless exactly those secrets are given whose values a run came with."""
    scopes = request.config.get("scopes") or {}
    wanted = {name for name, scope in scopes.items() if scope == "run"}
    if lacking := sorted(wanted - provided.keys()):
        words = f"run {request.run_id} came with values for {', '.join(lacking)}, which were not kept; give them again"
        raise Refusal(409, f"{words}, or submit another run", more={"run_secret_names": lacking})
    if unasked := sorted(provided.keys() - wanted):
        raise Refusal(422, f"run {request.run_id} came without values for {', '.join(unasked)}; leave them out")


def rescore_run(service: Service, request: RunRequest, actor: str) -> None:
    """Grade the finished episodes of a run again by the scoring of its environment version, and compute its metrics.

    No episode is run: the manifest of the environment defines the scoring. Raises Refusal 409 for official runs, for
    runs of other kinds and while the run is waiting or running, UnknownName if the version of its environment is gone.
    """
    if request.official:
        raise Refusal(409, "an official run keeps its scores; start ordinary runs for experiments")
    run = service.store.runs.get(request.run_id)
    # Rescoring any other kind would run code or read files of this server.
    if not run.hosted or request.kind == "imported":
        raise Refusal(409, f"run {run.id} was not played by this server; rescore it where it was played")
    if request.open:
        raise Refusal(409, f"run {run.id} waits or runs; rescore it when it has ended")
    rescore_leased(run, service.store)
    service.store.audit.note(actor, "run.rescore", f"run:{run.id}")


def set_visibility(service: Service, request: RunRequest, visibility: str, actor: str) -> RunRequest:
    """Make a run public or private on behalf of `actor`.

    Raises Refusal 409 for runs of guests and official runs, which stay public, and for test episodes, scans, imported
    runs and runs of workspaces, which stay private.
    """
    if request.kind == "imported" and visibility != PRIVATE:
        raise Refusal(409, "a run that was pushed stays private; `mesocosm export --site` publishes runs elsewhere")
    if request.kind == "scan" and visibility != PRIVATE:
        raise Refusal(409, "a scan stays private; its scores are shown with the run that it read")
    if request.workspace_id is not None and visibility != PRIVATE:
        raise Refusal(409, "runs of a workspace are for its members alone; start a run outside of it to publish it")
    if request.official and visibility == PRIVATE:
        raise Refusal(409, "an official run is public, whatever its score; start ordinary runs for experiments")
    if request.actor.startswith("guest:") and visibility == PRIVATE:
        raise Refusal(409, "runs of guests are public and deleted after some days; sign in for private runs")
    if request.purpose == "test" and visibility != PRIVATE:
        raise Refusal(409, "test episodes stay private; start a run that you can publish")
    service.store.run_requests.set_visibility(request.run_id, visibility)
    service.store.audit.note(actor, "run.show", f"run:{request.run_id}", {"visibility": visibility})
    return service.store.run_requests.get(request.run_id) or request


def delete_run(service: Service, request: RunRequest, actor: str) -> None:
    """Delete a run on behalf of `actor`. Its cost stays counted. Raises Refusal 409 while it waits, runs or ends."""
    if request.open:
        raise Refusal(409, f"run {request.run_id} waits or runs; cancel it first")
    try:
        run = service.store.runs.get(request.run_id)
        if request.kind != "imported":
            service.store.run_requests.remember_cost(request, run.usage.cost_usd or 0.0)
        service.store.runs.delete(run.id)
    except UnknownName:
        return
    except InfrastructureError as error:
        raise Refusal(409, f"run {request.run_id} is just ending; try again in a few seconds") from error
    service.store.audit.note(
        actor, "run.delete", f"run:{request.run_id}", {"owner": request.actor, "domain": request.domain_id}
    )


def stop_cancelled(service: Service) -> int:
    """Mark cancelled runs as stopped if their worker died before it could do so; return their number."""
    store, owner, count = service.store, service.store.leases.owner(), 0
    for run_id in service.store.queue.left():
        with suppress(RunLeased, UnknownName):
            store.leases.take(run_id, owner)
            try:
                request = service.store.run_requests.get(run_id)
                if request is not None and not request.open:
                    _mark_stopped(service, run_id)
                    count += 1
            finally:
                store.leases.release(run_id, owner)
    return count


def release_run(service: Service, run_id: str) -> None:
    """Remove the unfinished episodes left by a dead worker; do nothing while a process works on the run."""
    store, owner = service.store, service.store.leases.owner()
    with suppress(RunLeased, UnknownName):
        store.leases.take(run_id, owner)
        store.leases.release(run_id, owner)


def _mark_stopped(service: Service, run_id: str) -> None:
    run = service.store.runs.get(run_id)
    if run.status in {RunStatus.PENDING, RunStatus.RUNNING}:
        run.status, run.ended_at = RunStatus.STOPPED, time.time()
        service.store.runs.save(run)
