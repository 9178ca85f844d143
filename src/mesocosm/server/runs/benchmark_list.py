"""The list of benchmarks: those of the catalogue and those of stored runs."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from mesocosm.benchmarks.catalogue import KnownBenchmark
from mesocosm.core.failure import UnknownName
from mesocosm.core.registry import fold
from mesocosm.server.permissions.benchmark_records import BenchmarkRecords
from mesocosm.server.runs.benchmark_documents import benchmark_detail, benchmark_summary
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.runs.benchmark_overview import BenchmarkOverview, overview_of
from mesocosm.server.schemas.benchmark import BenchmarkDetail, BenchmarkPage, BenchmarkSummary
from mesocosm.store.benchmarks import BenchmarkContent
from mesocosm.store.pagination import read_cursor, write_cursor
from mesocosm.store.schema import benchmarks

_ORDER = "benchmarks"
_COLUMNS = (benchmarks.c.title, benchmarks.c.id)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A benchmark: the contents of its stored runs, newest first, and its entry in the catalogue."""

    contents: tuple[BenchmarkContent, ...]
    known: KnownBenchmark | None

    @property
    def id(self) -> str:
        if self.contents:
            return self.contents[0].id
        return "" if self.known is None else self.known.descriptor.id

    @property
    def place(self) -> tuple[str, str]:
        """The sort key."""
        title = self.contents[0].title if self.contents else "" if self.known is None else self.known.descriptor.title
        return title.casefold(), self.id

    def has(self, words: Sequence[str]) -> bool:
        """Return whether all words occur in the title, names or kind."""
        facts = [*self.place, self.contents[0].kind if self.contents else ""]
        if self.known is not None:
            facts += [*self.known.descriptor.aliases, self.known.descriptor.kind]
        text = "\n".join(facts).casefold()
        return all(word in text for word in words)


def benchmark_page(
    records: BenchmarkRecords, index: BenchmarkIndex, text: str, cursor: str | None, limit: int
) -> BenchmarkPage:
    """Return a page of the benchmarks with all words of `text` in title, id, aliases or kind, by title."""
    after = None if cursor is None else tuple(read_cursor(cursor, _ORDER, _COLUMNS))
    overview, words = overview_of(records), text.casefold().split()
    fitting = [one for one in _listed(overview, index) if one.has(words) and (after is None or one.place > after)]
    page = fitting[:limit]
    more = write_cursor(_ORDER, page[-1].place) if len(fitting) > limit else None
    return BenchmarkPage(items=_summaries(overview, index, page), cursor=more)


def read_ahead(records: BenchmarkRecords, index: BenchmarkIndex) -> None:
    """Compute the overview of all benchmarks, so that the first caller of the list does not wait for it."""
    overview = overview_of(records)
    _summaries(overview, index, _listed(overview, index))


def read_benchmark(records: BenchmarkRecords, index: BenchmarkIndex, benchmark_id: str) -> BenchmarkDetail:
    """Return a benchmark with its leaderboard and the history of its scores. Raises UnknownName."""
    overview = overview_of(records)
    listed = _named(overview, index, benchmark_id)
    (found,) = index.found([listed.known]) if listed.known is not None else [None]
    runs = next(iter(overview.of([listed.contents])), None) if listed.contents else None
    if runs is not None:
        return benchmark_detail(runs, found, overview.board(runs), overview.history(runs))
    if found is None:
        raise UnknownName(f"the runs of benchmark {benchmark_id!r} were deleted just now")
    return benchmark_detail(None, found)


def _listed(overview: BenchmarkOverview, index: BenchmarkIndex) -> list[_Listed]:
    known = {one.descriptor.id: one for one in index.known()}
    ran = [_Listed(contents, known.pop(contents[0].id, None)) for contents in overview.benchmarks()]
    return sorted([*ran, *(_Listed((), one) for one in known.values())], key=lambda one: one.place)


def _summaries(overview: BenchmarkOverview, index: BenchmarkIndex, page: Sequence[_Listed]) -> list[BenchmarkSummary]:
    runs = {
        found.versions[0].content.id: found for found in overview.of([one.contents for one in page if one.contents])
    }
    shelved = {found.descriptor.id: found for found in index.found([one.known for one in page if one.known])}
    return [
        benchmark_summary(runs.get(one.id), shelved.get(one.id)) for one in page if one.id in runs or one.id in shelved
    ]


def _named(overview: BenchmarkOverview, index: BenchmarkIndex, benchmark_id: str) -> _Listed:
    listed = {one.id: one for one in _listed(overview, index)}
    found = listed.get(benchmark_id) or next((one for one in listed.values() if _called(one, benchmark_id)), None)
    if found is None:
        close = difflib.get_close_matches(benchmark_id[:200], list(listed)[:1_000], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"{len(listed):,} benchmarks are known"
        raise UnknownName(f"there is no benchmark {benchmark_id[:200]!r}, and there are no runs of one; {hint}")
    return found


def _called(listed: _Listed, name: str) -> bool:
    return listed.known is not None and fold(name) in map(fold, listed.known.descriptor.names)
