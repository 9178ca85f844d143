"""What owners do to their runs later: cancel, resume, show, hide, delete. Nobody else's code may do it another way."""

import time
from contextlib import suppress

from mesocosm.core.failure import InfrastructureError, RunHeld, UnknownName
from mesocosm.core.run import RunStatus
from mesocosm.server.auth.belonging import PRIVATE
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest


def cancel_request(service: Service, order: RunRequest, reason: str = "cancelled") -> RunRequest:
    """Cancel a run wherever it is: waiting, claimed, or claimed by a worker that is gone. Done ones stay as they are.

    A worker that plays it hears of it with its next heartbeat; until then episodes may still end.
    """
    before = service.run_requests.cancel(order.run_id, reason)
    if before is not None:
        played = before.state == "claimed" and (before.lease_until or 0.0) > time.time()
        with suppress(UnknownName):
            if not played:
                let_go(service, order.run_id)
                _stopped(service, order.run_id)
            elif not order.official:
                # The worker of an official run hears of it by its lease, and plays what it began: see Playing.stop.
                service.store.request_stop(order.run_id)
    return service.run_requests.get(order.run_id) or order


def resume_request(service: Service, order: RunRequest, *, retry_failed: bool = False) -> RunRequest:
    """Put a run back into the queue, for the episodes that it owes.

    With `retry_failed`, and where it is partial, also for those whose failure says nothing about the agent. Raises
    Refusal 409 when it waits or runs, or when nothing is owed.
    """
    if order.open:
        raise Refusal(
            409, f"run {order.run_id} waits or runs already; look at it with `mesocosm run watch {order.run_id}`"
        )
    run = service.store.get_run(order.run_id)
    if order.official and run.status is RunStatus.RUNNING:
        raise Refusal(409, f"the last episodes of run {run.id} are still being played; resume it when they have ended")
    dropped = service.store.drop_failed(run.id) if retry_failed or run.status is RunStatus.PARTIAL else 0
    if not dropped and not run.counts.owed:
        hint = "" if retry_failed or not run.counts.failed else "; retry_failed=true plays failed ones once more"
        raise Refusal(409, f"run {run.id} owes no episode{hint}")
    service.run_requests.reopen(run.id)
    return service.run_requests.get(run.id) or order


def show_request(service: Service, order: RunRequest, visibility: str, by: str) -> RunRequest:
    """Say who may see a run; `by` is the actor that wants it.

    Raises Refusal 409 for a guest's run and an official one, which are for everybody, and for test episodes.
    """
    if order.official and visibility == PRIVATE:
        raise Refusal(409, "an official run is public, whatever its score; start ordinary runs to try things out")
    if order.actor.startswith("guest:") and visibility == PRIVATE:
        raise Refusal(409, "runs of guests are public and go after some days; sign in for private runs")
    if order.purpose == "test" and visibility != PRIVATE:
        raise Refusal(409, "test episodes stay private; start a run to show it")
    service.run_requests.set_visibility(order.run_id, visibility)
    service.audit.note(by, "run.show", f"run:{order.run_id}", {"visibility": visibility})
    return service.run_requests.get(order.run_id) or order


def delete_request(service: Service, order: RunRequest, by: str) -> None:
    """Delete a run for good; `by` is the actor that wants it. What it cost stays counted.

    Raises Refusal 409 while it waits or is played.
    """
    if order.open:
        raise Refusal(409, f"run {order.run_id} waits or runs; cancel it first")
    try:
        run = service.store.get_run(order.run_id)
        service.run_requests.remember_cost(order, run.usage.cost_usd or 0.0)
        service.store.delete_run(run.id)
    except UnknownName:
        return
    except InfrastructureError as error:
        raise Refusal(409, f"run {order.run_id} is being ended; try again in a few seconds") from error
    service.audit.note(by, "run.delete", f"run:{order.run_id}", {"owner": order.actor, "domain": order.domain_id})


def settle_left(service: Service) -> int:
    """Stop the runs that were cancelled, but whose worker died before it could stop them; return how many."""
    store, holder, count = service.store, service.store.holder(), 0
    for run_id in service.run_requests.left():
        with suppress(RunHeld, UnknownName):
            store.hold(run_id, holder)
            try:
                order = service.run_requests.get(run_id)
                if order is not None and not order.open:
                    _stopped(service, run_id)
                    count += 1
            finally:
                store.release(run_id, holder)
    return count


def let_go(service: Service, run_id: str) -> None:
    """Remove what a worker that is gone left unfinished of a run; nothing happens while somebody works on it."""
    store, holder = service.store, service.store.holder()
    with suppress(RunHeld, UnknownName):
        store.hold(run_id, holder)
        store.release(run_id, holder)


def _stopped(service: Service, run_id: str) -> None:
    run = service.store.get_run(run_id)
    if run.status in {RunStatus.PENDING, RunStatus.RUNNING}:
        run.status, run.ended_at = RunStatus.STOPPED, time.time()
        service.store.save_run(run)
