"""Models, techniques and batch runs of a server."""

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.server.schemas.batch_run import BatchRunDocument, BatchRunInput
from mesocosm.server.schemas.model import ModelList, OfferedModel
from mesocosm.server.schemas.technique import TechniqueDocument


class ModelsResource(Resource):
    """Models available for runs; their API keys stay on the server."""

    def list(self) -> tuple[OfferedModel, ...]:
        """Return the models in the operator's order."""
        return tuple(self._one(ModelList, "GET", "/api/models").models)


class TechniquesResource(Resource):
    """Techniques that a binding vow may declare."""

    def list(self) -> tuple[TechniqueDocument, ...]:
        """Return all techniques."""
        return self._many(TechniqueDocument, "/api/techniques")

    def get(self, technique_id: str) -> TechniqueDocument:
        """Return one technique."""
        return self._one(TechniqueDocument, "GET", f"/api/techniques/{segment(technique_id)}")


class BatchRunsResource(Resource):
    """Batch runs: every model of the operator's list in one environment."""

    def create(self, env_id: str) -> BatchRunDocument:
        """Submit a run of every model of the operator's list in an environment."""
        return self._one(BatchRunDocument, "POST", "/api/batch-runs", BatchRunInput(env_id=env_id))

    def list(
        self,
        *,
        env_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[BatchRunDocument, ...]:
        """Return batch runs, newest first; `cursor` is the id of the last one on the previous page."""
        query = {"env_id": env_id, "status": status, "limit": limit, "cursor": cursor}
        return self._many(BatchRunDocument, "/api/batch-runs", query)

    def get(self, batch_id: str) -> BatchRunDocument:
        """Return one batch run."""
        return self._one(BatchRunDocument, "GET", f"/api/batch-runs/{segment(batch_id)}")
