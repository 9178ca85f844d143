"""Runs that the caller may change: their own, those of their teams, and for administrators all."""

from collections.abc import Sequence
from typing import Self

from mesocosm.server.auth.rules import Viewer
from mesocosm.server.auth.visible_runs import VisibleRun, readable_run
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service


class OwnedRun(VisibleRun):
    """A run that the caller may change."""

    @classmethod
    def find(cls, service: Service, viewer: Viewer, run_id: str) -> Self:
        """Return a run. Raises UnknownName where it may not be read, Refusal 403 where it may only be read."""
        run, request = readable_run(service, viewer, run_id)
        if request is None and not viewer.local:
            raise Refusal(409, f"run {run.id} was not requested here; use the command line on this machine")
        if not viewer.may_change(request):
            raise Refusal(403, f"run {run.id} belongs to somebody else; you may only look at it")
        return cls(service, viewer, run, request)

    def again(self) -> "OwnedRun":
        """Return the run as it is now."""
        return OwnedRun.find(self._service, self._viewer, self.id)

    def set_tags(self, tags: Sequence[str]) -> None:
        """Replace the tags of the run."""
        self._store.runs.set_tags(self.id, tags)

    def request_stop(self) -> None:
        """Ask the process of this machine that works on the run to stop it."""
        self._local()
        self._store.runs.request_stop(self.id)

    def delete(self) -> None:
        """Delete the run with everything recorded of it, for good."""
        self._local()
        self._store.runs.delete(self.id)

    def _local(self) -> None:
        if not self._viewer.local:
            raise Refusal(409, f"run {self.id} is played by this server; its run request must change with it")
