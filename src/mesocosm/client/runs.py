"""Runs of a platform, their episodes, traces and exports."""

from typing import IO

from mesocosm.client.error import ApiError
from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.compat.swecc.documents import Episode, Run, RunListItem, TraceEvent
from mesocosm.server.schemas.run_request import RunInput, RunLog, TestEpisodeInput


class RunsResource(Resource):
    """Runs that the caller may read, and those that they start."""

    def create(self, run: RunInput) -> Run:
        """Ask for a run. The platform says no, with the reason, to whatever cannot work."""
        # Only what was said: an official run takes the rest from its domain's protocol.
        said = run.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        return self._one(Run, "POST", "/v1/runs", said)

    def get(self, run_id: str) -> Run:
        """Return one run."""
        return self._one(Run, "GET", _path(run_id))

    def list(
        self,
        *,
        domain_id: str | None = None,
        env_id: str | None = None,
        team_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[RunListItem, ...]:
        """Return the caller's runs, or those that everybody may see; newest first, `cursor` is the last id seen."""
        query = {"domain_id": domain_id, "env_id": env_id, "team_id": team_id, "limit": limit, "cursor": cursor}
        return self._many(RunListItem, "/v1/runs", query)

    def mine(
        self,
        *,
        domain_id: str | None = None,
        team_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[RunListItem, ...]:
        """Return the caller's own runs, newest first."""
        query = {"domain_id": domain_id, "team_id": team_id, "limit": limit, "cursor": cursor}
        return self._many(RunListItem, "/api/me/runs", query)

    def episodes(self, run_id: str) -> tuple[Episode, ...]:
        """Return the episodes of a run, in the order of its plan."""
        return self._many(Episode, f"{_path(run_id)}/episodes")

    def traces(self, run_id: str) -> dict[str, tuple[TraceEvent, ...]]:
        """Return what happened in each episode, by its id."""
        path = f"{_path(run_id)}/traces"
        answer = self._api.record("GET", path)
        try:
            return {
                episode_id: tuple(TraceEvent.model_validate(event) for event in events)
                for episode_id, events in answer.items()
            }
        except (TypeError, ValueError) as error:
            raise ApiError("GET", self._api.base_url + path, 200, f"the answer holds no traces: {error}") from error

    def export(self, run_id: str, file: IO[bytes]) -> int:
        """Write a run as replay JSON into a file as it comes, and return the size in bytes."""
        return self._api.download(f"{_path(run_id)}/export", file)

    def log(self, run_id: str) -> RunLog:
        """Return what the platform has to say about a run. Only for its owner and their team."""
        return self._one(RunLog, "GET", f"{_path(run_id)}/log")

    def cancel(self, run_id: str) -> Run:
        """Stop a run; what is finished stays. One that is over is returned as it is."""
        return self._one(Run, "POST", f"{_path(run_id)}/cancel")

    def resume(self, run_id: str, *, retry_failed: bool = False) -> Run:
        """Queue a cancelled or failed run again; `retry_failed`: with episodes that infrastructure made fail."""
        return self._one(Run, "POST", f"{_path(run_id)}/resume", query={"retry_failed": retry_failed or None})

    def delete(self, run_id: str) -> None:
        """Delete a run with its episodes and traces, for good."""
        self._done("DELETE", _path(run_id))

    def show_to(self, run_id: str, visibility: str) -> RunListItem:
        """Say who may see a run: `private` or `gallery_public`."""
        return self._one(RunListItem, "PATCH", f"{_path(run_id)}/visibility", {"visibility": visibility})


class TestEpisodesResource(Resource):
    """Single episodes to try a domain with; they stay private."""

    __test__ = False

    def play(self, episode: TestEpisodeInput) -> Episode:
        """Play one episode and return it when it is over. Only for the domain's owner."""
        return self._one(Episode, "POST", "/v1/test/episode", episode)

    def get(self, episode_id: str) -> Episode:
        """Return one of them."""
        return self._one(Episode, "GET", f"/v1/test/episode/{segment(episode_id)}")

    def trace(self, episode_id: str) -> tuple[TraceEvent, ...]:
        """Return what happened in one."""
        return self._many(TraceEvent, f"/v1/test/episode/{segment(episode_id)}/trace")


def _path(run_id: str) -> str:
    return f"/v1/runs/{segment(run_id)}"
