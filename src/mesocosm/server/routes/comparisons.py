"""`/api/comparisons`: stored comparisons of two models on the same benchmarks."""

from fastapi import APIRouter, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.runs.model_comparison import read_model_comparison
from mesocosm.server.schemas.model_comparison import ModelComparisonDocument, model_comparison_document
from mesocosm.server.web.answer import answer

router = APIRouter(prefix="/comparisons", tags=["compare"])


@router.get("/{comparison_id}", response_model=ModelComparisonDocument, **access(Access.ADMIN))
def get_comparison(comparison_id: str, grant: Granted) -> Response:
    """Return a comparison: both sides, and benchmark by benchmark what the difference is worth."""
    return answer(model_comparison_document(read_model_comparison(grant.benchmarks(), comparison_id)))
