"""`/v1/me`: Who asks, and what is theirs."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/me", tags=["me"])
