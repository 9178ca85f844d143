"""`/v1/domains`: Domains."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/domains", tags=["domains"])
