"""HTTP client of a mesocosm server.

`Client()` takes URL and token from the environment or the saved login. Methods such as `client.runs.get(ID)` return
documents of `mesocosm.server.schemas`, or raise ApiError.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.client.error import ApiError

__all__ = ["ApiError", "Client"]


def __getattr__(name: str) -> Any:
    """Import a name on first access: programs that only log in need none of the documents."""
    if name == "Client":
        from mesocosm.client.client import Client

        return Client
    if name == "ApiError":
        from mesocosm.client.error import ApiError

        return ApiError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
