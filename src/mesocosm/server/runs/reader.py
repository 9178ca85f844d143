"""Granted runs as the engine and the formats ask for them: by id."""

from collections.abc import Iterable, Iterator

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event
from mesocosm.core.failure import UnknownName
from mesocosm.core.ports import Page, ResultRow, ScoreRow
from mesocosm.core.run import Run
from mesocosm.server.auth.visible_runs import VisibleRun
from mesocosm.store.blobs import Artifact


class RunReader:
    """Some granted runs with the methods of a store that read runs by their id."""

    def __init__(self, *runs: VisibleRun) -> None:
        self._runs = {run.id: run for run in runs}

    def get_run(self, run_id: str) -> Run:
        """Return one of the runs. Raises UnknownName."""
        return self._run(run_id).record

    def score_rows(self, run_id: str) -> Iterator[ScoreRow]:
        """Yield the scores of all finished episodes of a run."""
        return self._run(run_id).score_rows()

    def named_score_rows(self, run_id: str, name: str) -> Iterator[ScoreRow]:
        """Yield the scores of a run that have one name."""
        return self._run(run_id).score_rows(name)

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Yield the finished episodes of a run in the order of the plan."""
        return self._run(run_id).result_rows(primary)

    def entries(self, run_id: str) -> Iterator[Entry]:
        """Yield the episodes of a run with their traces."""
        return self._run(run_id).entries()

    def blobs(self, run_id: str) -> Iterator[Blob]:
        """Yield the large content of a run."""
        return self._run(run_id).blobs()

    def artifacts(self, run_id: str) -> Iterable[Artifact]:
        """Return the files of a run."""
        return self._run(run_id).artifacts()

    def _run(self, run_id: str) -> VisibleRun:
        if run_id not in self._runs:
            raise UnknownName(f"run {run_id} is none of those that were asked for")
        return self._runs[run_id]
