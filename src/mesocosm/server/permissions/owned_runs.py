"""Runs that the caller may change: their own, those of their teams, and for administrators all."""

from typing import Self

from mesocosm.core.run import Run, RunStatus
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.permissions.run_processes import Workplace, start, workplace
from mesocosm.server.permissions.visible_runs import VisibleRun, readable_run
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests import lifecycle
from mesocosm.server.run_requests.submission import checked_tags
from mesocosm.server.schemas.document import discreet, moment
from mesocosm.server.schemas.run_request import RunLog, RunLogLine, RunUpdate
from mesocosm.server.service import Service
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
        run, request = readable_run(service, viewer, run_id)
        if request is None and not viewer.local:
            raise Refusal(409, f"run {run.id} was not requested here; use the command line on this machine")
        if not viewer.may_change(request):
            raise Refusal(403, f"run {run.id} belongs to another account; you may only read it")
        return cls(service, viewer, run, request)

    def again(self) -> "OwnedRun":
        """Return the run, read again from the store."""
        return OwnedRun.find(self._service, self._viewer, self.id)

    def stop(self) -> None:
        """Stop the run; finished episodes stay. A run that has ended is left unchanged.

        Raises Refusal 409 on a laptop if the process of the run is gone.
        """
        if self._request is not None:
            by = self._viewer.caller.username or "its guest"
            lifecycle.cancel_run(self._service, self._request, f"cancelled by {by}")
        elif self.record.status in {RunStatus.PENDING, RunStatus.RUNNING}:
            if abandoned(self.record):
                words = f"continue it with: mesocosm run resume {self.id}, or delete it"
                raise Refusal(409, f"run {self.id} has no living process; {words}")
            self._store.runs.request_stop(self.id)

    def resume(self, place: Workplace | None = None, *, retry_failed: bool = False) -> None:
        """Continue the run: run pending episodes, with `retry_failed` also those that failed due to infrastructure.

        On a laptop a new process continues it in the store at `place`. Raises Refusal 409 if nothing is pending, or
        the run is queued or running.
        """
        if self._request is not None:
            lifecycle.resume_run(self._service, self._request, retry_failed=retry_failed)
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
        """Change tags and visibility.

        Raises InvalidInput for invalid tags; Refusal: 409 if the visibility is fixed, 403 if a guest changes it.
        """
        tags = None if changes.tags is None else checked_tags(changes.tags)
        if changes.visibility is not None:
            if self._request is None:
                raise Refusal(409, f"run {self.id} is on this machine and visible to its owner only")
            if not self._viewer.caller.member:
                raise Refusal(403, "SWECC member account required")
            lifecycle.set_visibility(self._service, self._request, changes.visibility, self._viewer.caller.actor)
        if tags is not None:
            self._store.runs.set_tags(self.id, tags)

    def delete(self) -> None:
        """Delete the run and all its records permanently. Raises Refusal 409 while it is queued or running."""
        if self._request is None:
            self._store.runs.delete(self.id)
        else:
            lifecycle.delete_run(self._service, self._request, self._viewer.caller.actor)

    def log(self) -> RunLog:
        """Return the progress, warnings and errors of the run, oldest first."""
        run, request = self.record, self._request
        lines = [RunLogLine(kind="state", at=moment(run.created_at), text=_submitted(run, request))]
        if run.started_at is not None:
            again = f", in session {request.tries}" if request is not None and request.tries > 1 else ""
            lines.append(RunLogLine(kind="state", at=moment(run.started_at), text=f"a worker began to play{again}"))
        elif request is not None and request.state == "queued":
            lines.append(RunLogLine(kind="state", at=None, text="waits for a worker"))
        lines += [RunLogLine(kind="warning", at=None, text=self._shown(text)) for text in run.warnings]
        ended = run.ended_at or (None if request is None else request.ended_at)
        reasons = (run.error, "" if request is None else request.reason)
        for text in dict.fromkeys(text for text in reasons if text):
            lines.append(RunLogLine(kind="error", at=moment(ended), text=self._shown(text)))
        if run.status not in {RunStatus.PENDING, RunStatus.RUNNING} and (request is None or not request.open):
            status = "cancelled" if request is not None and request.state == "cancelled" else run.status
            done = f"{status}: {run.counts.done} of {run.counts.planned} episodes are finished"
            lines.append(RunLogLine(kind="state", at=moment(ended), text=done))
        return RunLog(run_id=run.id, lines=lines)

    def _shown(self, text: str) -> str:
        text = discreet(text)
        return text if self._mask is None else self._mask(text.encode()).decode()

    def _start(self, place: Workplace | None, *words: str) -> None:
        start(self.id, lambda: self.again().record, place or workplace(self.stored_in or ""), ["run", *words])


def _submitted(run: Run, request: RunRequest | None) -> str:
    if request is None:
        return f"created: {run.benchmark}, {run.model}"
    where = f", environment {request.environment_id} version {request.environment_version}"
    words = f"submitted by {request.actor_name or request.actor}: domain {request.domain_id}, vow {request.vow_version}"
    return words + (where if request.environment_id else "")
