"""`/api/models`: models available for runs."""

from fastapi import APIRouter

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.schemas.model import ModelList

router = APIRouter(prefix="/api/models", tags=["models"])


@router.get("", response_model=ModelList, **access(Access.PUBLIC))
def list_models(grant: Granted) -> ModelList:
    """List the models of this server, with the reason if one is currently unavailable."""
    return grant.system().models()
