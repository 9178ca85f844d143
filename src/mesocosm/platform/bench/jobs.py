"""`/v1/bench`: Test benches and full benches."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/bench", tags=["bench"])
