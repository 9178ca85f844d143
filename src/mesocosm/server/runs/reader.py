"""Access to runs by id, as the engine and the export formats need it."""

from collections.abc import Iterator, Sequence

from mesocosm.core.failure import UnknownName
from mesocosm.core.ports import ResultRow, ScoreRow
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.store.episodes import PlayedTask
from mesocosm.store.wrong_answers import WrongGroup


class RunReader:
    """The readable runs of a request, with the methods of a store that read runs by id."""

    def __init__(self, *runs: VisibleRun) -> None:
        self._runs = {run.id: run for run in runs}

    def score_rows(self, run_id: str, name: str = "") -> Iterator[ScoreRow]:
        """Yield the scores of all finished episodes of a run, or only those named `name`."""
        return self._run(run_id).score_rows(name)

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Yield the finished episodes of a run in the order of the plan."""
        return self._run(run_id).result_rows(primary)

    def played(self, run_id: str, digests: Sequence[str]) -> dict[str, PlayedTask]:
        """Return those of the given tasks that a run has finished, by task digest."""
        return self._run(run_id).played(digests)

    def wrong_groups(self, run_id: str, by: str) -> tuple[WrongGroup, ...]:
        """Return the wrong answers of a run grouped by `by`."""
        return self._run(run_id).wrong_groups(by)

    def _run(self, run_id: str) -> VisibleRun:
        if run_id not in self._runs:
            raise UnknownName(f"run {run_id} was not requested")
        return self._runs[run_id]
