"""The service itself: what it is, whether it is well, its numbers."""

from fastapi import APIRouter

router = APIRouter(tags=["system"])
