"""`/v1/techniques`: Techniques that runs can switch on."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/techniques", tags=["techniques"])
