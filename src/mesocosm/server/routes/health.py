"""`/v1/health`: whether the server and its store work."""

from fastapi import APIRouter, Response

from mesocosm import __version__
from mesocosm.server.place import Results
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.health import Health
from mesocosm.server.web.answer import answer
from mesocosm.store.revision import HEAD

router = APIRouter(prefix="/health", tags=["health"])


@router.get("", response_model=Health)
def get_health(store: Results) -> Response:
    """Return that all is well, after a look into the store; else it is 503 with the reason."""
    store.list_runs(limit=1)
    place = discreet(store.place)
    return answer(
        Health(
            status="ok",
            version=__version__,
            store=place,
            kind="postgresql" if "://" in place else "sqlite",
            schema_revision=HEAD,
        )
    )
