"""`/v1/models`: Models that may be run."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/models", tags=["models"])
