"""`/v1/benchmarks`: what was run, leaderboards, history."""

from typing import Annotated

from fastapi import APIRouter, Query

from mesocosm.platform.documents.benchmark import BenchmarkDetail, BenchmarkPage

router = APIRouter(prefix="/v1/benchmarks", tags=["benchmarks"])


@router.get("")
def list_benchmarks(
    q: Annotated[str, Query(max_length=1_000)] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> BenchmarkPage:
    """Return a page of the benchmarks that runs were made of."""
    raise NotImplementedError


@router.get("/{benchmark_id:path}")
def get_benchmark(benchmark_id: str) -> BenchmarkDetail:
    """Return one benchmark with its leaderboard and the history of its scores."""
    raise NotImplementedError
