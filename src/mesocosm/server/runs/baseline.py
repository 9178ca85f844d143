"""Runs of a list against the baseline of their benchmark, and against its built-in agents."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from mesocosm.core.failure import UnknownName
from mesocosm.core.ids import digest_bytes
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import BUILTIN, Run
from mesocosm.engine.comparison.baseline import AgentBound, Standing, baselines, bounds, standing
from mesocosm.engine.comparison.leaderboard import Reference
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun, VisibleRuns
from mesocosm.server.schemas.baseline import BoundDocument, RunStandings, StandingDocument
from mesocosm.store.filters import RunFilter

_MOST_REFERENCES = 200
_standings = Cache[Standing](5_000)
_task_sets = Cache[str](5_000)


def run_standings(runs: VisibleRuns, run_ids: Sequence[str], chosen: Sequence[str]) -> RunStandings:
    """Return runs against the chosen baselines, else the best ones; runs that were deleted are left out."""
    reader = _Reader(runs, (*run_ids, *chosen))
    asked = [run for run in map(reader.find, run_ids) if run is not None]
    picked = [run for run in map(reader.find, chosen) if run is not None]
    base = baselines([run.record for run in (*picked, *asked)], frozenset(run.id for run in picked))
    references = reader.references(sorted({run.record.benchmark for run in asked}))
    return RunStandings(
        items=[
            _document(
                reader.standing(run, base.get(run.record.benchmark)),
                bounds(run.record, references, reader.task_set),
            )
            for run in asked
        ]
    )


class _Reader:
    """The runs of a request, each read once."""

    def __init__(self, runs: VisibleRuns, run_ids: Sequence[str]) -> None:
        self._runs = runs
        self._found = runs.several(run_ids)

    def find(self, run_id: str) -> VisibleRun | None:
        """Return a run; None if it was deleted."""
        if run_id not in self._found:
            try:
                run = self._runs.get(run_id)
            except UnknownName:
                return None
            self._found[run_id] = self._found[run.id] = run
        return self._found[run_id]

    def references(self, benchmarks: Sequence[str]) -> list[Run]:
        """Return the newest run of each built-in agent on each version and selection of tasks of these benchmarks."""
        wanted = RunFilter(benchmarks=tuple(benchmarks), models=BUILTIN)
        newest: dict[object, Run] = {}
        for item in self._runs.page(wanted, limit=_MOST_REFERENCES).items:
            run, tasks = item.record, item.record.spec.selection
            self._found.setdefault(run.id, item)
            if run.primary is not None and run.primary.value is not None:
                newest.setdefault((run.benchmark, run.rules, run.model, tasks.seeds, tasks.count), run)
        return list(newest.values())

    def standing(self, run: VisibleRun, base: Run | None) -> Standing:
        """Return a run against a baseline, computed once for as long as neither changes."""
        key = digest_bytes(msgspec.json.encode([run.view, run.record, base]))
        return _standings.get(key, lambda: standing(run.record, base, self._rows, self.task_set))

    def task_set(self, run_id: str) -> str:
        """Return a digest of the tasks that a run has finished."""
        run = self._found[run_id]
        return _task_sets.get((run.view, repr(run.record.counts), run.record.chain), run.task_set)

    def _rows(self, run_id: str, name: str) -> Iterator[ScoreRow]:
        return self._found[run_id].score_rows(name)


def _document(found: Standing, ends: Mapping[Reference, AgentBound]) -> StandingDocument:
    delta, floor, ceiling = found.delta, ends.get("floor"), ends.get("ceiling")
    return StandingDocument(
        run_id=found.run_id,
        state=found.state,
        baseline_id=found.baseline_id,
        delta=None if delta is None else delta.value,
        low=None if delta is None else delta.low,
        high=None if delta is None else delta.high,
        weak=delta is not None and delta.weak,
        level=None if delta is None else delta.level,
        n=None if delta is None else delta.n,
        better=found.better,
        why=found.why,
        floor=None if floor is None else BoundDocument.of(floor),
        ceiling=None if ceiling is None else BoundDocument.of(ceiling),
    )
