"""`/v1/admin/users`: Accounts, for those who run the platform."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/admin/users", tags=["admin"])
