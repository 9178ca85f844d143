"""Addresses of the older orchestrator's viewer: whoever read its data there finds it here."""

import msgspec
from fastapi import APIRouter, Response

from mesocosm.compat.viewer_data import viewer_data
from mesocosm.server.place import Results

router = APIRouter(include_in_schema=False)

_FRESH = {"Cache-Control": "no-store"}


@router.get("/api/viewer-data")
def get_viewer_data(store: Results) -> Response:
    """Return what viewer_data.json would hold now."""
    return Response(msgspec.json.encode(viewer_data(store)), headers=_FRESH, media_type="application/json")


@router.get("/health")
def get_liveness() -> Response:
    """Return `ok`: this server answers."""
    return Response("ok", headers=_FRESH, media_type="text/plain")
