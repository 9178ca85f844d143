"""`/api/benchmarks`: the catalogue, what was run of it, leaderboards, history."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from mesocosm.benchmarks.catalogue import KnownBenchmark
from mesocosm.core.failure import UnknownName
from mesocosm.core.registry import fold
from mesocosm.server.auth.access import Access, access
from mesocosm.server.auth.permissions import Granted
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.runs.benchmark_overview import BenchmarkOverview, overview_of
from mesocosm.server.schemas.benchmark import (
    BenchmarkDetail,
    BenchmarkPage,
    BenchmarkSummary,
    benchmark_detail,
    benchmark_summary,
)
from mesocosm.server.web.answer import answer
from mesocosm.store.benchmarks import Content
from mesocosm.store.pagination import read_cursor, write_cursor
from mesocosm.store.schema import benchmarks

router = APIRouter(prefix="/benchmarks", tags=["benchmarks"])


async def shelf_of(request: Request) -> BenchmarkIndex:
    """Return the catalogue of the server that answers this request."""
    shelf = request.app.state.shelf
    assert isinstance(shelf, BenchmarkIndex)
    return shelf


Shelved = Annotated[BenchmarkIndex, Depends(shelf_of)]
"""A parameter of a route that needs the catalogue."""

_ORDER = "benchmarks"
_COLUMNS = (benchmarks.c.title, benchmarks.c.id)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A benchmark: the contents that runs are stored of (none: it was never run), and its place in the catalogue."""

    contents: tuple[Content, ...]
    known: KnownBenchmark | None

    @property
    def id(self) -> str:
        if self.contents:
            return self.contents[0].id
        return "" if self.known is None else self.known.descriptor.id

    @property
    def place(self) -> tuple[str, str]:
        """What benchmarks are sorted by."""
        title = self.contents[0].title if self.contents else "" if self.known is None else self.known.descriptor.title
        return title.casefold(), self.id

    def has(self, words: Sequence[str]) -> bool:
        """Return whether all words occur in what it is called."""
        facts = [*self.place, self.contents[0].kind if self.contents else ""]
        if self.known is not None:
            facts += [*self.known.descriptor.aliases, self.known.descriptor.kind]
        text = "\n".join(facts).casefold()
        return all(word in text for word in words)


@router.get("", response_model=BenchmarkPage, **access(Access.ADMIN))
def list_benchmarks(
    grant: Granted,
    shelf: Shelved,
    q: Annotated[str, Query(max_length=1_000, description="words that all occur in title, id, aliases or kind")] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Response:
    """Return a page of the benchmarks of the catalogue and of those that runs were made of, by title."""
    after = None if cursor is None else tuple(read_cursor(cursor, _ORDER, _COLUMNS))
    overview = overview_of(grant.benchmarks())
    words = q.casefold().split()
    fitting = [one for one in _listed(overview, shelf) if one.has(words) and (after is None or one.place > after)]
    page = fitting[:limit]
    more = write_cursor(_ORDER, page[-1].place) if len(fitting) > limit else None
    return answer(BenchmarkPage(items=_summaries(overview, shelf, page), cursor=more))


@router.get("/{benchmark_id:path}", response_model=BenchmarkDetail, **access(Access.ADMIN))
def get_benchmark(grant: Granted, shelf: Shelved, benchmark_id: str) -> Response:
    """Return one benchmark with its leaderboard and the history of its scores."""
    overview = overview_of(grant.benchmarks())
    listed = _named(overview, shelf, benchmark_id)
    (found,) = shelf.found([listed.known]) if listed.known is not None else [None]
    runs = next(iter(overview.of([listed.contents])), None) if listed.contents else None
    if runs is not None:
        return answer(benchmark_detail(runs, found, overview.board(runs), overview.history(runs)))
    if found is None:
        raise UnknownName(f"the runs of benchmark {benchmark_id!r} were deleted just now")
    return answer(benchmark_detail(None, found))


def _listed(overview: BenchmarkOverview, shelf: BenchmarkIndex) -> list[_Listed]:
    known = {one.descriptor.id: one for one in shelf.known()}
    ran = [_Listed(contents, known.pop(contents[0].id, None)) for contents in overview.benchmarks()]
    return sorted([*ran, *(_Listed((), one) for one in known.values())], key=lambda one: one.place)


def _summaries(overview: BenchmarkOverview, shelf: BenchmarkIndex, page: Sequence[_Listed]) -> list[BenchmarkSummary]:
    runs = {
        found.versions[0].content.id: found for found in overview.of([one.contents for one in page if one.contents])
    }
    shelved = {found.descriptor.id: found for found in shelf.found([one.known for one in page if one.known])}
    return [
        benchmark_summary(runs.get(one.id), shelved.get(one.id)) for one in page if one.id in runs or one.id in shelved
    ]


def _named(overview: BenchmarkOverview, shelf: BenchmarkIndex, benchmark_id: str) -> _Listed:
    listed = {one.id: one for one in _listed(overview, shelf)}
    found = listed.get(benchmark_id) or next((one for one in listed.values() if _called(one, benchmark_id)), None)
    if found is None:
        close = difflib.get_close_matches(benchmark_id[:200], list(listed)[:1_000], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"{len(listed):,} benchmarks are known"
        raise UnknownName(f"there is no benchmark {benchmark_id[:200]!r}, and there are no runs of one; {hint}")
    return found


def _called(listed: _Listed, name: str) -> bool:
    return listed.known is not None and fold(name) in map(fold, listed.known.descriptor.names)
