"""`/api/compare`, `/api/comparisons`: comparisons of runs, stored comparisons of two models."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.runs.comparison import compare_visible
from mesocosm.server.runs.model_comparison import model_comparison_document, read_model_comparison
from mesocosm.server.schemas.comparison import ComparisonDocument
from mesocosm.server.schemas.model_comparison import ModelComparisonDocument
from mesocosm.server.web.answer import answer, raw

router = APIRouter(prefix="/api", tags=["compare"])


@router.get("/compare", response_model=ComparisonDocument, **access(Access.READER))
def compare(
    grant: Granted,
    run: Annotated[
        list[str], Query(min_length=2, max_length=20, description="IDs of runs; the first one is the baseline.")
    ],
    metric: Annotated[str, Query(description="Name of a metric; the primary one by default.")] = "",
) -> Response:
    """Compare two or more runs, paired by task if they share tasks."""
    return raw(compare_visible(grant.run, run, metric))


@router.get("/comparisons/{comparison_id}", response_model=ModelComparisonDocument, **access(Access.ADMIN))
def get_comparison(comparison_id: str, grant: Granted) -> Response:
    """Return a stored comparison: both sides, and the difference on each benchmark."""
    return answer(model_comparison_document(read_model_comparison(grant.benchmarks(), comparison_id)))
