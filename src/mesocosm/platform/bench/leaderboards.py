"""`/v1/leaderboards`: Leaderboards of domains."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/leaderboards", tags=["leaderboards"])
