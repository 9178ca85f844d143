"""`/v1/ws`: Traces as they grow, over a WebSocket."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/ws", tags=["live"])
