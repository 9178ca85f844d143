"""`/v1/runs`: Runs of the platform."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/runs", tags=["runs"])
