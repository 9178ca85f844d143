"""`/api/comparisons`: stored comparisons of two models on the same benchmarks."""

from fastapi import APIRouter, Response

from mesocosm.server.auth.access import Access, access
from mesocosm.server.auth.permissions import Granted
from mesocosm.server.runs.contest import read_contest
from mesocosm.server.schemas.contest import ContestDocument, contest_document
from mesocosm.server.web.answer import answer

router = APIRouter(prefix="/comparisons", tags=["compare"])


@router.get("/{comparison_id}", response_model=ContestDocument, **access(Access.ADMIN))
def get_comparison(comparison_id: str, grant: Granted) -> Response:
    """Return a comparison: both sides, and benchmark by benchmark what the difference is worth."""
    return answer(contest_document(read_contest(grant.benchmarks(), comparison_id)))
