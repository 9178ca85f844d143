"""`/api/models`: models available for runs."""

from fastapi import APIRouter, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.model import ModelCheck, ModelCheckInput, ModelList
from mesocosm.server.web.answer import answer

router = APIRouter(prefix="/api/models", tags=["models"])


@router.get("", response_model=ModelList, **access(Access.PUBLIC))
def list_models(grant: Granted) -> ModelList:
    """List the models of this server, with the reason if one is currently unavailable."""
    return grant.system().models()


@router.post("/check", response_model=ModelCheck, responses=refused(403, 404), **access(Access.MEMBER))
def check_model(body: ModelCheckInput, grant: Granted) -> Response:
    """Ask a model one word, at most once a minute, and return whether it answers. This costs a few tokens.

    A model that a run could not use is refused as for a run.
    """
    place = grant.working_workspace(body.workspace) if body.workspace else grant.system()
    return answer(place.check_model(body.model))
