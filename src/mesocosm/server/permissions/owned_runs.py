"""Runs that the caller may change: their own, those of their teams and workspaces, and for administrators all."""

from collections.abc import Callable, Mapping
from typing import Self

from pydantic import SecretStr

from mesocosm.core.run import Run, RunStatus
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.permissions.run_processes import Workplace, start, workplace
from mesocosm.server.permissions.visible_runs import VisibleRun, readable_run
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests import lifecycle
from mesocosm.server.run_requests.submission import checked_name, checked_tags
from mesocosm.server.schemas.run_request import RunUpdate
from mesocosm.server.service import Service
from mesocosm.server.workspace_secrets import NO_SECRETS
from mesocosm.store.lease_owner import abandoned
from mesocosm.store.run_requests import RunRequest


class OwnedRun(VisibleRun):
    """A run that the caller may change.

    On a laptop, methods signal its process or start a new one. On a server they change its request, and workers
    follow the request.
    """

    @classmethod
    def find(cls, service: Service, viewer: Viewer, run_id: str) -> Self:
        """Return a run.

        Raises UnknownName if the caller may not read it; Refusal: 403 if they may only read it, 409 if it was not
        requested on this server.
        """
        return cls(service, viewer, *requested_run(service, viewer, run_id, viewer.may_change_run))

    def again(self) -> "OwnedRun":
        """Return the run, read again from the store."""
        return OwnedRun.find(self._service, self._viewer, self.id)

    def stop(self) -> None:
        """Stop the run; finished episodes stay. A run that has ended is left unchanged.

        Raises Refusal 409 on a laptop if the process of the run is gone.
        """
        if self._request is not None:
            by = self._viewer.caller.username or "its guest"
            lifecycle.cancel_run(self._service, self._request, f"stopped by {by}")
        elif self.record.status in {RunStatus.PENDING, RunStatus.RUNNING}:
            if abandoned(self.record):
                words = f"continue it with: mesocosm run resume {self.id}, or delete it"
                raise Refusal(409, f"run {self.id} has no living process; {words}")
            self._store.runs.request_stop(self.id)

    def resume(
        self,
        place: Workplace | None = None,
        *,
        retry_failed: bool = False,
        provided: Mapping[str, SecretStr] = NO_SECRETS,
    ) -> None:
        """Continue the run: run pending episodes, with `retry_failed` also those that failed due to infrastructure.

        On a laptop a new process continues it in the store at `place`. On a server a run that came with values of
        secrets needs them again, as `provided`. Raises Refusal 409 if nothing is pending, the run is queued or running,
        or a value is missing.
        """
        if self._request is not None:
            by = self._viewer.account_id if provided else None
            lifecycle.resume_run(self._service, self._request, retry_failed=retry_failed, provided=provided, by=by)
            return
        status, counts = self.record.status, self.record.counts
        over = status in {RunStatus.FINISHED, RunStatus.FAILED} and not counts.pending
        if over and not (retry_failed and counts.failed):
            again = (
                "; retry_failed=true repeats episodes that failed because of infrastructure" if counts.failed else ""
            )
            raise Refusal(409, f"run {self.id} is {status}, no episode is pending{again}")
        self._start(place, "resume", self.id, "--quiet", *(["--retry-failed"] if retry_failed else []))

    def rescore(self, place: Workplace | None = None) -> None:
        """Grade the recorded episodes again; on a laptop in a new process.

        Raises Refusal 409 on a server if the run is official, queued or running.
        """
        if self._request is not None:
            lifecycle.rescore_run(self._service, self._request, self._viewer.caller.actor)
            return
        self._start(place, "rescore", self.id)

    def update(self, changes: RunUpdate) -> None:
        """Change name, tags and visibility.

        Raises InvalidInput for invalid tags or an invalid name; Refusal: 409 if the visibility is fixed or the name
        taken, 403 if a guest changes it.
        """
        tags = None if changes.tags is None else checked_tags(changes.tags)
        name = "" if changes.name is None else checked_name(changes.name)
        if changes.visibility is not None:
            if self._request is None:
                raise Refusal(409, f"run {self.id} is on this machine and visible to its owner only")
            if not self._viewer.caller.member:
                raise Refusal(403, "SWECC member account required")
            lifecycle.set_visibility(self._service, self._request, changes.visibility, self._viewer.caller.actor)
        if changes.name is not None:
            self._rename(name)
        if tags is not None:
            self._store.runs.set_tags(self.id, tags)

    def _rename(self, name: str) -> None:
        run = self._store.runs.get(self.id)
        # Commands on this machine find runs by name; on a server a refusal would tell of runs of others.
        rival = self._store.runs.named(name, run.kind) if name and self._request is None else None
        if rival is not None and rival.id != run.id:
            raise Refusal(409, f"run {rival.id} is already called {name!r}; choose another name")
        self._store.runs.rename(run, name)

    def delete(self) -> None:
        """Delete the run and all its records permanently. Raises Refusal 409 while it is queued or running."""
        if self._request is None:
            self._store.runs.delete(self.id)
        else:
            lifecycle.delete_run(self._service, self._request, self._viewer.caller.actor)

    def _start(self, place: Workplace | None, *words: str) -> None:
        start(self.id, lambda: self.again().record, place or workplace(self.stored_in or ""), ["run", *words])


def requested_run(
    service: Service, viewer: Viewer, run_id: str, allowed: Callable[[RunRequest | None], bool]
) -> tuple[Run, RunRequest | None]:
    """Return a run and its request if `allowed` says so of the request.

    Raises UnknownName if the caller may not read it; Refusal: 403 if they may only read it, 409 if it was not requested
    on this server.
    """
    run, request = readable_run(service, viewer, run_id)
    if request is None and not viewer.local:
        raise Refusal(409, f"run {run.id} was not requested here; use the command line on this machine")
    if not allowed(request):
        raise Refusal(403, f"run {run.id} {belongs(viewer, request)}; you may only read it")
    return run, request


def belongs(viewer: Viewer, request: RunRequest | None) -> str:
    """Return to whom a run belongs that the caller may only read."""
    role = viewer.roles.get(request.workspace_id) if request is not None and request.workspace_id else None
    if role is None:
        return "belongs to another account"
    return f"belongs to a workspace in which your role is {role}, and whose admins may change it"
