"""`/v1/benchmarks`: what was run, leaderboards, history."""

import difflib
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from mesocosm.core.failure import UnknownName
from mesocosm.platform.answer import answer
from mesocosm.platform.documents.benchmark import (
    BenchmarkDetail,
    BenchmarkPage,
    benchmark_detail,
    benchmark_summary,
)
from mesocosm.platform.place import Results
from mesocosm.platform.standings import Overview, overview_of, place
from mesocosm.store.order import read_cursor, write_cursor
from mesocosm.store.schema import benchmarks
from mesocosm.store.standings import Content

router = APIRouter(prefix="/v1/benchmarks", tags=["benchmarks"])

_ORDER = "benchmarks"
_COLUMNS = (benchmarks.c.title, benchmarks.c.id)


@router.get("", response_model=BenchmarkPage)
def list_benchmarks(
    store: Results,
    q: Annotated[str, Query(max_length=1_000, description="words that all occur in title, id or kind")] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Response:
    """Return a page of the benchmarks that runs were made of, by title."""
    after = None if cursor is None else tuple(read_cursor(cursor, _ORDER, _COLUMNS))
    overview = overview_of(store)
    words = q.casefold().split()
    fitting = [
        contents
        for contents in overview.benchmarks()
        if _has(contents[0], words) and (after is None or place(contents[0]) > after)
    ]
    shown = fitting[:limit]
    items = [benchmark_summary(found) for found in overview.of(shown)]
    more = write_cursor(_ORDER, place(shown[-1][0])) if len(fitting) > limit else None
    return answer(BenchmarkPage(items=items, cursor=more))


@router.get("/{benchmark_id:path}", response_model=BenchmarkDetail)
def get_benchmark(store: Results, benchmark_id: str) -> Response:
    """Return one benchmark with its leaderboard and the history of its scores."""
    overview = overview_of(store)
    found = overview.of([_named(overview, benchmark_id)])
    if not found:
        raise UnknownName(f"the runs of benchmark {benchmark_id!r} were deleted just now")
    return answer(benchmark_detail(found[0], overview.board(found[0]), overview.history(found[0])))


def _has(content: Content, words: Sequence[str]) -> bool:
    text = f"{content.title}\n{content.id}\n{content.kind}".casefold()
    return all(word in text for word in words)


def _named(overview: Overview, benchmark_id: str) -> Sequence[Content]:
    known = {contents[0].id: contents for contents in overview.benchmarks()}
    found = known.get(benchmark_id)
    if found is None:
        close = difflib.get_close_matches(benchmark_id[:200], list(known)[:1_000], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are runs of {len(known):,} benchmarks"
        raise UnknownName(f"there are no runs of benchmark {benchmark_id[:200]!r}; {hint}")
    return found
