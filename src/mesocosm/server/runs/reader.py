"""Granted runs as the engine and the formats ask for them: by id."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.failure import UnknownName
from mesocosm.core.group import Outcome, RunGroup
from mesocosm.core.ports import ResultRow, ScoreRow
from mesocosm.core.run import Run
from mesocosm.server.auth.visible_runs import VisibleRun
from mesocosm.store.blobs import Artifact
from mesocosm.store.standings import Played


class RunReader:
    """Some granted runs with the methods of a store that read runs by their id."""

    def __init__(self, *runs: VisibleRun) -> None:
        self._runs = {run.id: run for run in runs}

    def get_run(self, run_id: str) -> Run:
        """Return one of the runs, outside of its group where that is hidden. Raises UnknownName."""
        run = self._run(run_id)
        record = run.record
        if record.group_id and run.group() is None:
            return msgspec.structs.replace(record, group_id="")
        return record

    def score_rows(self, run_id: str) -> Iterator[ScoreRow]:
        """Yield the scores of all finished episodes of a run."""
        return self._run(run_id).score_rows()

    def named_score_rows(self, run_id: str, name: str) -> Iterator[ScoreRow]:
        """Yield the scores of a run that have one name."""
        return self._run(run_id).score_rows(name)

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Yield the finished episodes of a run in the order of the plan."""
        return self._run(run_id).result_rows(primary)

    def played(self, run_id: str, digests: Sequence[str]) -> dict[str, Played]:
        """Return those of the named tasks that a run has finished, by task digest."""
        return self._run(run_id).played(digests)

    def entries(self, run_id: str) -> Iterator[Entry]:
        """Yield the episodes of a run with their traces."""
        return self._run(run_id).entries()

    def blobs(self, run_id: str) -> Iterator[Blob]:
        """Yield the large content of a run."""
        return self._run(run_id).blobs()

    def artifacts(self, run_id: str) -> Iterable[Artifact]:
        """Return the files of a run."""
        return self._run(run_id).artifacts()

    def group(self, group_id: str) -> RunGroup:
        """Return the group of a run. Raises UnknownName."""
        return self._grouped(group_id)[0]

    def outcomes(self, group_id: str) -> Iterable[Outcome]:
        """Return what came of the benchmarks of a group. Raises UnknownName."""
        return self._grouped(group_id)[1]

    def _grouped(self, group_id: str) -> tuple[RunGroup, tuple[Outcome, ...]]:
        found = next((run.group() for run in self._runs.values() if run.record.group_id == group_id), None)
        if found is None:
            raise UnknownName(f"none of these runs is of a group {group_id!r}")
        return found

    def _run(self, run_id: str) -> VisibleRun:
        if run_id not in self._runs:
            raise UnknownName(f"run {run_id} is none of those that were asked for")
        return self._runs[run_id]
