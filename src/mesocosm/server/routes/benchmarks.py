"""`/api/benchmarks`: the catalogue, its runs, leaderboards, history."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.runs.benchmark_list import benchmark_page, read_benchmark
from mesocosm.server.runs.episode_list import read_task_detail
from mesocosm.server.schemas.benchmark import BenchmarkDetail, BenchmarkPage
from mesocosm.server.schemas.episode import TaskDetail
from mesocosm.server.web.answer import answer

router = APIRouter(prefix="/api/benchmarks", tags=["benchmarks"])


async def index_of(request: Request) -> BenchmarkIndex:
    """Return the catalogue of the server that handles a request."""
    index = request.app.state.benchmark_index
    assert isinstance(index, BenchmarkIndex)
    return index


Index = Annotated[BenchmarkIndex, Depends(index_of)]
"""A parameter of a route that reads the catalogue."""


@router.get("", response_model=BenchmarkPage, **access(Access.MEMBER))
def list_benchmarks(
    grant: Granted,
    index: Index,
    q: Annotated[
        str, Query(max_length=1_000, description="Words that must all occur in title, ID, aliases or kind.")
    ] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Response:
    """List the benchmarks of the catalogue and those of runs that the caller may read, by title."""
    return answer(benchmark_page(grant.benchmarks(), index, q, cursor, limit))


@router.get(
    "/{benchmark_id:path}/tasks/{task_digest}",
    response_model=TaskDetail,
    **access(Access.READER),
)
def get_task(grant: Granted, benchmark_id: str, task_digest: str) -> Response:
    """Return one task over all models and trials: who solves it, how much they vary, and what that says of it."""
    return answer(read_task_detail(benchmark_id, task_digest, grant.runs()))


@router.get("/{benchmark_id:path}", response_model=BenchmarkDetail, **access(Access.MEMBER))
def get_benchmark(grant: Granted, index: Index, benchmark_id: str) -> Response:
    """Return a benchmark with its leaderboard and the history of its scores, of runs that the caller may read."""
    return answer(read_benchmark(grant.benchmarks(), index, benchmark_id))
