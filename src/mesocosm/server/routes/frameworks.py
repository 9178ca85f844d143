"""`/api/framework-benchmarks`: what other frameworks offer."""

from typing import Annotated

from fastapi import APIRouter, Query

from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.runs.framework_list import framework_benchmarks
from mesocosm.server.schemas.framework import FrameworkBenchmarks

router = APIRouter(prefix="/api/framework-benchmarks", tags=["benchmarks"])


@router.get("", response_model=FrameworkBenchmarks, **access(Access.MEMBER))
def list_framework_benchmarks(
    q: Annotated[
        str, Query(max_length=1_000, description="Words that must all occur in the name, description or tags.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> FrameworkBenchmarks:
    """List the benchmarks that other frameworks offer on this machine, as `mesocosm bench search` last read them."""
    return framework_benchmarks(q, limit)
