"""Batch runs: members see their own; administrators and callers with the workers' secret see all."""

from collections.abc import Sequence

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.batch_runs import batch_document, batch_documents, claim_batch
from mesocosm.server.schemas.batch_run import BatchReport, BatchRunDocument, BatchStatus
from mesocosm.server.service import Service
from mesocosm.store.batch_runs import BatchRun


class VisibleBatchRuns(GrantedObject):
    """The batch runs that the caller may read."""

    def __init__(self, service: Service, viewer: Viewer, authorization: str) -> None:
        """Check the workers' secret of callers who are not members. Raises Refusal 401, 403, 503."""
        super().__init__(service, viewer)
        self._authorization = authorization
        self._worker = not viewer.caller.member
        if self._worker:
            if viewer.caller.guest:
                raise Refusal(403, "SWECC member account required")
            if not authorization or not service.settings.worker_secret.get_secret_value():
                raise Refusal(401, "Authentication required", headers={"WWW-Authenticate": "Bearer"})
            service.check_worker(authorization)

    def list(
        self, *, environment_id: str | None, status: BatchStatus | None, limit: int, cursor: str | None
    ) -> Sequence[BatchRunDocument]:
        """Return batch runs, the newest first; `cursor` is the last id seen."""
        user_id = None if self._sees_all else self._viewer.user_id
        found: list[BatchRunDocument] = []
        while len(found) < limit:
            listed = self._store.batch_runs.list(
                user_id=user_id, environment_id=environment_id, cursor=cursor, limit=limit
            )
            documents = batch_documents(self._service, listed)
            found += [document for document in documents if status is None or document.status == status]
            if len(listed) < limit:
                break
            cursor = listed[-1].id
        return found[:limit]

    def get(self, batch_id: str) -> BatchRunDocument:
        """Return a batch run with the results so far. Raises Refusal 404."""
        return batch_document(self._service, self._get(batch_id))

    def claim(self, batch_id: str) -> BatchRunDocument:
        """Claim a batch run for an external program. Raises Refusal: 401, 503, 404, 409 if a worker has started it."""
        self._service.check_worker(self._authorization)
        return batch_document(self._service, claim_batch(self._service, self._get(batch_id)))

    def complete(self, batch_id: str, report: BatchReport) -> BatchRunDocument:
        """Store the results of a claimed batch run. Raises Refusal: 401, 503, 404, 409 if it is not claimed."""
        self._service.check_worker(self._authorization)
        batch, store = self._get(batch_id), self._store.batch_runs
        if batch.status != "running" or not store.complete(batch.id, report.model_results, failed=report.failed):
            status = batch_document(self._service, batch).status
            raise Refusal(409, f"batch run {batch_id} is {status} and not claimed by an outside program")
        return self.get(batch_id)

    @property
    def _sees_all(self) -> bool:
        return self._worker or self._viewer.sees_all

    def _get(self, batch_id: str) -> BatchRun:
        batch = self._store.batch_runs.get(batch_id)
        if batch is None or not (self._sees_all or batch.actor == self._viewer.caller.actor):
            raise Refusal(404, f"you have no batch run {batch_id[:100]!r}; GET /api/batch-runs lists yours")
        return batch
