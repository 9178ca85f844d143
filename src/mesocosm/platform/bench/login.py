"""`/auth`: Member login, as clients of the older server speak it."""

from fastapi import APIRouter

router = APIRouter(prefix="/auth", tags=["login"])
