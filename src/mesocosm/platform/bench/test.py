"""`/v1/test`: Single test episodes."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/test", tags=["test"])
