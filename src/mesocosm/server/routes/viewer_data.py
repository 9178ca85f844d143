"""Routes of the older orchestrator's viewer, kept so that its clients still find their data."""

import msgspec
from fastapi import APIRouter, Response

from mesocosm.server.permissions.grant import Granted

router = APIRouter(include_in_schema=False)

_FRESH = {"Cache-Control": "no-store"}


@router.get("/api/viewer-data")
def get_viewer_data(grant: Granted) -> Response:
    """Return the current content of viewer_data.json."""
    return Response(
        msgspec.json.encode(grant.benchmarks().viewer_data()), headers=_FRESH, media_type="application/json"
    )


@router.get("/health")
def get_liveness() -> Response:
    """Return `ok`: this server answers."""
    return Response("ok", headers=_FRESH, media_type="text/plain")
