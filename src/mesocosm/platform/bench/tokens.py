"""`/v1/tokens`: Personal tokens."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])
