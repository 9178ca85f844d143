"""`/api/models`: Models that may be run."""

from fastapi import APIRouter

from mesocosm.server.auth.access import Access, Served, access
from mesocosm.server.schemas.model import ModelList, OfferedModel

router = APIRouter(prefix="/api/models", tags=["models"])


@router.get("", response_model=ModelList, **access(Access.PUBLIC))
def list_models(service: Served) -> ModelList:
    """Return the models of this platform, with the reason why one cannot be run at the moment."""
    return ModelList(
        models=[
            OfferedModel(
                name=offer.entry.name,
                title=offer.entry.title,
                provider=offer.provider,
                guests=offer.entry.guests,
                full_bench=offer.entry.full_bench,
                available=not offer.reason,
                reason=offer.reason,
            )
            for offer in service.catalogue.offers()
        ]
    )
