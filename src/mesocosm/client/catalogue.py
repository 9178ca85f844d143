"""What a platform offers: models, techniques, and benches of submitted environments."""

from mesocosm.client.documents.episode import Episode
from mesocosm.client.documents.job import BenchJob, BenchStatus, BenchTestInput
from mesocosm.client.documents.model import ModelList, OfferedModel
from mesocosm.client.documents.technique import Technique
from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment


class Models(Resource):
    """Models that may be run; their keys stay with the platform."""

    def list(self) -> tuple[OfferedModel, ...]:
        """Return the models in the order of the operator."""
        return tuple(self._one(ModelList, "GET", "/v1/models").models)


class Techniques(Resource):
    """Techniques that a vow may declare."""

    def list(self) -> tuple[Technique, ...]:
        """Return all of them."""
        return self._many(Technique, "/v1/techniques")

    def get(self, technique_id: str) -> Technique:
        """Return one."""
        return self._one(Technique, "GET", f"/v1/techniques/{segment(technique_id)}")


class Benches(Resource):
    """Benches of submitted environments."""

    def status(self) -> BenchStatus:
        """Return whether benches are going on."""
        return self._one(BenchStatus, "GET", "/v1/bench/status")

    def test(self, env_id: str, model: str, seed: int | None = None) -> Episode:
        """Play one episode in an environment and return it when it is over."""
        body = BenchTestInput(env_id=env_id, model=model, num_episodes=1, seed=seed)
        return self._one(Episode, "POST", "/v1/bench/test", body)

    def full(self, env_id: str) -> BenchJob:
        """Run the operator's list of models on an environment."""
        return self._one(BenchJob, "POST", f"/v1/bench/full/{segment(env_id)}")

    def list(
        self,
        *,
        env_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[BenchJob, ...]:
        """Return full benches, newest first; `cursor` is the last id seen."""
        query = {"env_id": env_id, "status": status, "limit": limit, "cursor": cursor}
        return self._many(BenchJob, "/v1/bench/jobs", query)

    def get(self, job_id: str) -> BenchJob:
        """Return one full bench."""
        return self._one(BenchJob, "GET", f"/v1/bench/jobs/{segment(job_id)}")
