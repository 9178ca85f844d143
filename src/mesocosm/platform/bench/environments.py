"""`/v1/developer`: Submitted environments."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/developer", tags=["environments"])
