"""`/v1/admin`: The state of the platform, for those who run it."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/admin", tags=["admin"])
