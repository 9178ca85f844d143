"""`/v1/compare`: runs against each other."""

from typing import Annotated

from fastapi import APIRouter, Query

from mesocosm.platform.documents.comparison import Comparison

router = APIRouter(prefix="/v1/compare", tags=["compare"])


@router.get("")
def compare(
    run: Annotated[list[str], Query(min_length=2, max_length=20, description="ids; the first is the baseline")],
    metric: Annotated[str, Query(description="name of a metric; the primary one by default")] = "",
) -> Comparison:
    """Compare two or more runs, paired by task where they share tasks."""
    raise NotImplementedError
