"""Environments: the API for authors, and how environment servers are started, checked and run.

    from mesocosm.environments import BaseEnv, StepResult, serve

Importing this package is cheap: the web server is loaded only on access to `serve`.
"""

from typing import TYPE_CHECKING, Any

from mesocosm.environments.sdk import BaseEnv, StepResult

if TYPE_CHECKING:
    from mesocosm.environments.server import serve

__all__ = ["BaseEnv", "StepResult", "serve"]


def __getattr__(name: str) -> Any:
    if name != "serve":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mesocosm.environments.server import serve

    return serve
