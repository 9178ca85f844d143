"""`/v1/auth`: Guests, refreshing, signing out."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/auth", tags=["auth"])
