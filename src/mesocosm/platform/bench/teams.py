"""`/v1/teams`: Teams."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/teams", tags=["teams"])
