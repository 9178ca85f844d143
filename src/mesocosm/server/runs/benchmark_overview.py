"""Overview of the runs of each benchmark, recomputed only for benchmarks whose runs have changed."""

import heapq
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from mesocosm.core.run import Run, RunStatus
from mesocosm.engine.comparison.leaderboard import Duels, RankedRun, best, leaderboard, unplaced
from mesocosm.server.permissions.benchmark_records import BenchmarkRecords
from mesocosm.store.benchmarks import BenchmarkContent, BenchmarkCounts, IndexedRun, MeasuredRun
from mesocosm.store.run_index import key

READINGS = 1_000
"""Maximum number of runs in a history."""
LOOKED = 300
"""Number of latest runs of a benchmark's newest content that are searched for those with most tasks."""


@dataclass(frozen=True, slots=True)
class Version:
    """One content of a benchmark, and its number of stored runs."""

    content: BenchmarkContent
    runs: int


@dataclass(frozen=True, slots=True)
class Contestant:
    """A finished and scored run of a model with an agent, and how many of these there are.

    It is the latest one; for a benchmark with a finite set of tasks, the latest of those that cover most of its tasks.
    """

    run_id: str
    runs: int


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark with its runs: newest content first, the contestants of that content, runs of all contents.

    `latest` is the newest run of the newest content, in full. `best` is the best of the runs that may be ranked,
    without a rank, and the number of runs of its model and agent. `history` are the ids of the latest finished runs,
    oldest first.
    """

    versions: tuple[Version, ...]
    runs: int
    models: int
    last_run_at: float
    latest: Run
    contestants: tuple[Contestant, ...]
    best: tuple[RankedRun, int] | None
    floor: float | None
    ceiling: float | None
    history: tuple[str, ...]
    extent: "Extent"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of the newest content was run.

    `most` is the greatest number of tasks that a run has scored; `whole` is the total number of tasks, known from a run
    without a task limit. It is None if there is no such run, or if tasks are unlimited (`endless`: made from seeds).
    """

    most: int
    whole: int | None
    endless: bool

    def sampled(self, count: int | None, tasks: int) -> bool:
        """Return whether a run of `tasks` tasks, limited to `count` (None: unlimited), covered a part of all tasks."""
        if self.endless:
            return False
        return tasks < self.whole if self.whole is not None else count is not None


class BenchmarkOverview:
    """The benchmarks of one store. Thread-safe."""

    def __init__(self, records: BenchmarkRecords) -> None:
        self._records = records
        self._known: dict[str, Benchmark] = {}
        self._counts = BenchmarkCounts({}, frozenset())
        self._duels = Duels()
        self._lock = threading.Lock()

    def benchmarks(self) -> tuple[tuple[BenchmarkContent, ...], ...]:
        """Return the contents of each benchmark with stored runs, by title and id, newest content first."""
        with self._lock:
            self._refresh()
            counted = self._counts.runs
        found = (tuple(contents) for _, contents in groupby(self._records.contents(), attrgetter("id")))
        present = (contents for contents in found if key(contents[0].id) in counted)
        return tuple(sorted(present, key=lambda contents: place(contents[0])))

    def of(self, wanted: Sequence[Sequence[BenchmarkContent]]) -> list[Benchmark]:
        """Return benchmarks by their contents; those whose runs have been deleted in the meantime are left out."""
        with self._lock:
            known, counts = self._known, self._counts
        missing = {contents[0].id: contents for contents in wanted if contents[0].id not in known}
        lines = self._records.lines([key(name) for name in missing]) if missing else {}
        computed = {name: self._computed(contents, lines[key(name)]) for name, contents in missing.items()}
        found = known | {name: benchmark for name, benchmark in computed.items() if benchmark is not None}
        with self._lock:
            # The lines may be older than counts that were read in the meantime.
            if self._counts is counts:
                self._known = self._known | found
        return [found[contents[0].id] for contents in wanted if contents[0].id in found]

    def board(self, benchmark: Benchmark) -> tuple[tuple[RankedRun, int], ...]:
        """Return the leaderboard: each run with the number of finished runs of its model and agent."""
        numbers = {contestant.run_id: contestant.runs for contestant in benchmark.contestants}
        found = tuple(self._records.runs(numbers, whole=True).values())
        standings = leaderboard(found, self._records.score_rows, duels=self._duels)
        return tuple((standing, numbers[standing.run.id]) for standing in standings)

    def history(self, benchmark: Benchmark) -> Iterator[MeasuredRun]:
        """Yield the latest finished runs of any content, oldest first."""
        found = self._records.measured(benchmark.history)
        return (found[run_id] for run_id in benchmark.history if run_id in found)

    def _refresh(self) -> None:
        counts = self._records.counts()
        if counts == self._counts:
            return
        changed = counts.changed(self._counts)
        self._known = {
            name: known for name, known in self._known.items() if changed is not None and key(name) not in changed
        }
        self._counts = counts

    def _computed(self, contents: Sequence[BenchmarkContent], lines: Sequence[IndexedRun]) -> Benchmark | None:
        versions = _versions(contents, lines)
        newest = self._newest(versions, lines)
        if newest is not None and newest.info.get("card"):
            versions = _established(versions, lines)
            newest = self._newest(versions, lines)
        if newest is None:
            return None
        digest = key(versions[0].content.digest)
        current = [line for line in lines if line.digest == digest]
        scored = [line for line in current if line.status == RunStatus.FINISHED and line.score is not None]
        endless = not newest.info.get("card")
        sizes = {} if endless else self._sizes(scored)
        contestants = _contestants(scored, {run_id: measured.tasks for run_id, measured in sizes.items()})
        runs = self._records.runs((contestant.run_id for contestant in contestants), whole=True)
        board, first = unplaced(tuple(runs.values())), best(tuple(runs.values()))
        numbers = {contestant.run_id: contestant.runs for contestant in contestants}
        finished = heapq.nlargest(READINGS, (line for line in lines if line.status == RunStatus.FINISHED), key=_age)
        return Benchmark(
            versions=versions,
            runs=len(lines),
            models=len({line.model for line in lines}),
            last_run_at=max(line.created_at for line in lines),
            latest=newest,
            contestants=contestants,
            best=None if first is None else (first, numbers[first.run.id]),
            floor=_value(board, "floor"),
            ceiling=_value(board, "ceiling"),
            history=tuple(line.run_id for line in reversed(finished)),
            extent=_extent(sizes.values(), runs.values(), endless=endless),
        )

    def _newest(self, versions: Sequence[Version], lines: Sequence[IndexedRun]) -> Run | None:
        """Return the newest run of the first of some contents, None if there is none (any more)."""
        if not versions:
            return None
        digest = key(versions[0].content.digest)
        newest = max((line for line in lines if line.digest == digest), key=_age)
        return next(iter(self._records.runs([newest.run_id], whole=True).values()), None)

    def _sizes(self, scored: Sequence[IndexedRun]) -> dict[str, MeasuredRun]:
        return self._records.measured(line.run_id for line in heapq.nlargest(LOOKED, scored, key=_age))


def place(content: BenchmarkContent) -> tuple[str, str]:
    """Return the sort key of a benchmark."""
    return content.title.casefold(), content.id


def overview_of(records: BenchmarkRecords) -> BenchmarkOverview:
    """Return the overview of some records, shared by all viewers of the same records."""
    return records.kept("benchmark overview", lambda: BenchmarkOverview(records))


def _versions(contents: Sequence[BenchmarkContent], lines: Iterable[IndexedRun]) -> tuple[Version, ...]:
    numbers: dict[str, int] = {}
    for line in lines:
        numbers[line.digest] = numbers.get(line.digest, 0) + 1
    counted = ((content, numbers.get(key(content.digest), 0)) for content in contents)
    return tuple(Version(content, number) for content, number in counted if number)


def _established(versions: Sequence[Version], lines: Iterable[IndexedRun]) -> tuple[Version, ...]:
    """Return the contents, starting with the one of the newest version that most models were scored on.

    A single trial with other data must not replace the content that most runs were scored on.
    """
    models: dict[str, set[str]] = {}
    for line in lines:
        if line.score is not None:
            models.setdefault(line.digest, set()).add(line.model)
    alike = [version for version in versions if version.content.version == versions[0].content.version]
    first = max(alike, key=lambda version: (len(models.get(key(version.content.digest), ())), version.runs))
    return (first, *(version for version in versions if version is not first))


def _contestants(scored: Iterable[IndexedRun], tasks: Mapping[str, int]) -> tuple[Contestant, ...]:
    first: dict[tuple[str, str], IndexedRun] = {}
    numbers: dict[tuple[str, str], int] = {}

    def worth(line: IndexedRun) -> tuple[int, float, str]:
        return (tasks.get(line.run_id, 0), *_age(line))

    for line in scored:
        who = (line.model, line.agent)
        numbers[who] = numbers.get(who, 0) + 1
        if who not in first or worth(line) > worth(first[who]):
            first[who] = line
    return tuple(Contestant(line.run_id, numbers[who]) for who, line in first.items())


def _extent(sizes: Collection[MeasuredRun], shown: Collection[Run], *, endless: bool) -> Extent:
    shown_tasks = [run.primary.n_tasks for run in shown if run.primary is not None]
    sized_tasks = [measured.metric.n_tasks for measured in sizes if measured.metric is not None]
    whole = max((measured.tasks for measured in sizes if measured.count is None), default=None)
    return Extent(max([*shown_tasks, *sized_tasks], default=0), whole, endless)


def _age(line: IndexedRun) -> tuple[float, str]:
    return line.created_at, line.run_id


def _value(board: Iterable[RankedRun], kind: str) -> float | None:
    return next((standing.metric.value for standing in board if standing.reference == kind), None)
