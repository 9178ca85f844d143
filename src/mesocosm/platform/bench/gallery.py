"""`/v1/gallery`: What people show to everybody."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/gallery", tags=["gallery"])
