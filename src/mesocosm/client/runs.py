"""Runs of a server, their episodes and exports."""

from collections.abc import Iterator, Sequence
from typing import IO

from mesocosm.client.resource import Resource
from mesocosm.client.teams import checked_team_id
from mesocosm.client.transport import Query, segment
from mesocosm.server.schemas.comparison import ComparisonDocument
from mesocosm.server.schemas.episode import EpisodeDetail, EpisodePage, EpisodeSummary
from mesocosm.server.schemas.evaluation import PreviousRun, SampleFile, SampleFilePage
from mesocosm.server.schemas.results import RunResultsDocument
from mesocosm.server.schemas.run import RunDetail, RunPage
from mesocosm.server.schemas.run_estimate import RunEstimate
from mesocosm.server.schemas.run_request import (
    BenchmarkInput,
    RolloutInput,
    RunInput,
    RunLog,
    RunOutputPage,
    RunUpdate,
    TestEpisodeInput,
    Visibility,
)
from mesocosm.server.schemas.scan import ScanForecast, ScanInput
from mesocosm.server.schemas.search import SearchPage

PAGE = 1_000
"""Episodes per request."""


class RunsResource(Resource):
    """Runs that the caller may read, and those that they start."""

    def create(self, run: RunInput | BenchmarkInput | RolloutInput) -> RunDetail:
        """Submit a run. Raises ApiError with the reason if the server refuses it."""
        # Only fields that were set: an official run takes the others from its domain's protocol.
        given = run.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        return self._one(RunDetail, "POST", "/api/runs", given)

    def estimate(self, run: RolloutInput) -> RunEstimate:
        """Return what an evaluation would come to; nothing is submitted. Raises ApiError as `create` does."""
        given = run.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        return self._one(RunEstimate, "POST", "/api/runs/estimate", given)

    def get(self, run_id: str) -> RunDetail:
        """Return one run."""
        return self._one(RunDetail, "GET", _path(run_id))

    def search(self, query: Query, run_id: str = "") -> SearchPage:
        """Return what was said in the episodes of runs that match a query of `GET /api/search`, or in one run."""
        path = f"{_path(run_id)}/search" if run_id else "/api/search"
        return self._one(SearchPage, "GET", path, query=query)

    def scan(self, run_id: str, scan: ScanInput) -> RunDetail:
        """Let a model answer a question about the episodes of a run; return the run that asks."""
        return self._one(RunDetail, "POST", f"{_path(run_id)}/scans", scan.model_dump(mode="json"))

    def scan_forecast(self, run_id: str, scan: ScanInput) -> ScanForecast:
        """Return what a scan would read and cost; nothing is stored."""
        return self._one(ScanForecast, "POST", f"{_path(run_id)}/scans/forecast", scan.model_dump(mode="json"))

    def of_workspace(self, workspace: str, reference: str) -> RunDetail:
        """Return a run of a workspace by its id or its name there."""
        return self._one(RunDetail, "GET", f"/api/workspaces/{segment(workspace)}/runs/{segment(reference)}")

    def evaluations(
        self,
        workspace: str,
        *,
        states: Sequence[str] = (),
        rollout: str | None = None,
        dataset: str | None = None,
        model: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> RunPage:
        """Return a page of the evaluation runs of a workspace, newest first; `dataset` is the name of one."""
        query: Query = {"workspace": workspace, "kind": "rollout", "state": list(states) or None, "agent": rollout}
        query = {**query, "benchmark": dataset, "model": model, "limit": limit, "cursor": cursor}
        return self._one(RunPage, "GET", "/api/runs", query=query)

    def previous(self, run_id: str) -> PreviousRun:
        """Return the last earlier run of the same configuration, and the difference from it."""
        return self._one(PreviousRun, "GET", f"{_path(run_id)}/previous")

    def results(self, run_id: str) -> RunResultsDocument:
        """Return the results of a run by sample."""
        return self._one(RunResultsDocument, "GET", f"{_path(run_id)}/results")

    def output(self, run_id: str, after: int = 0) -> RunOutputPage:
        """Return what the programs of a run printed after a piece."""
        return self._one(RunOutputPage, "GET", f"{_path(run_id)}/output", query={"after": after})

    def sample_files(self, run_id: str) -> Iterator[SampleFile]:
        """Yield the files that the samples of a run wrote."""
        cursor: str | None = None
        while True:
            page = self._one(SampleFilePage, "GET", f"{_path(run_id)}/artifacts", query={"cursor": cursor})
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return

    def content(self, digest: str, file: IO[bytes]) -> int:
        """Stream the content of a file of a run into `file`, and return its size in bytes."""
        return self._api.download(f"/api/blobs/{segment(digest)}", file)

    def list(
        self,
        *,
        whose: str | None = None,
        domain_id: str | None = None,
        environment_id: str | None = None,
        team_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> RunPage:
        """Return a page of runs, newest first; `whose` is mine, team, workspace or public."""
        query = {
            "whose": whose,
            "benchmark": domain_id,
            "environment": environment_id,
            "team": team_id and checked_team_id(team_id),
            "limit": limit,
            "cursor": cursor,
        }
        return self._one(RunPage, "GET", "/api/runs", query=query)

    def compare(self, run_ids: Sequence[str], metric: str = "") -> ComparisonDocument:
        """Return a comparison of 2 to 20 runs, each with the first of its benchmark, in a metric or the primary one."""
        return self._one(ComparisonDocument, "GET", "/api/compare", query={"run": run_ids, "metric": metric or None})

    def episodes(self, run_id: str, *, limit: int | None = None) -> Iterator[EpisodeSummary]:
        """Yield the started episodes of a run, with their terminal info, in the order of the plan."""
        cursor, left = None, limit
        while left is None or left > 0:
            size = PAGE if left is None else min(left, PAGE)
            query = {"info": True, "limit": size, "cursor": cursor}
            page = self._one(EpisodePage, "GET", f"{_path(run_id)}/episodes", query=query)
            yield from page.items
            cursor, left = page.cursor, None if left is None else left - len(page.items)
            if cursor is None:
                return

    def export(self, run_id: str, file: IO[bytes], *parts: str) -> int:
        """Stream a run as replay JSON into a file, and return the size in bytes.

        `parts` are any of episodes, traces and replay; default: all.
        """
        return self._api.download(f"{_path(run_id)}/export", file, {"include": ",".join(parts) or None})

    def log(self, run_id: str) -> RunLog:
        """Return the log of a run. Only for its owner and their team."""
        return self._one(RunLog, "GET", f"{_path(run_id)}/log")

    def stop(self, run_id: str) -> RunDetail:
        """Stop a run; finished episodes are kept. A run that is over is returned unchanged."""
        return self._one(RunDetail, "POST", f"{_path(run_id)}/stop")

    def resume(self, run_id: str, *, retry_failed: bool = False) -> RunDetail:
        """Continue a stopped or failed run; `retry_failed` repeats episodes that failed without fault of the agent."""
        return self._one(RunDetail, "POST", f"{_path(run_id)}/resume", query={"retry_failed": retry_failed or None})

    def delete(self, run_id: str) -> None:
        """Delete a run with its episodes and traces permanently."""
        self._done("DELETE", _path(run_id))

    def rename(self, run_id: str, name: str) -> RunDetail:
        """Rename a run; with an empty name it is called by its benchmark, its model and what sets it apart."""
        return self._one(RunDetail, "PATCH", _path(run_id), RunUpdate(name=name))

    def set_visibility(self, run_id: str, visibility: Visibility) -> RunDetail:
        """Set who may see a run: `private` or `gallery_public`."""
        return self._one(RunDetail, "PATCH", _path(run_id), RunUpdate(visibility=visibility))


class TestEpisodesResource(Resource):
    """Single private episodes for testing a domain."""

    __test__ = False

    def play(self, episode: TestEpisodeInput) -> EpisodeDetail:
        """Run one episode and return it when it has ended. Only for the domain's owner."""
        return self._one(EpisodeDetail, "POST", "/api/test-episodes", episode)


def _path(run_id: str) -> str:
    return f"/api/runs/{segment(run_id)}"
