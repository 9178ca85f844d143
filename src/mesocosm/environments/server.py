"""`serve`, which an `adapter.py` calls."""

import inspect
from typing import Any

import uvicorn

from mesocosm.environments.sdk import BaseEnv

__all__ = ["serve", "uvicorn"]

_OPTIONS: dict[str, Any] = {
    "access_log": False,  # a line per step would fill the pipe if the parent process does not read it
    "timeout_keep_alive": 600,  # a model may think longer than uvicorn's 5 s before it sends the next action
    "timeout_graceful_shutdown": 2,  # a step that never returns must not keep the server from stopping
}


def serve(
    env_class: type[BaseEnv],
    *,
    host: str = "0.0.0.0",  # noqa: S104 - environments run in containers, reached from outside
    port: int = 8765,
    log_level: str = "info",
) -> None:
    """Serve episodes of `env_class` over HTTP until the process receives a stop signal.

    The server documents its routes at /docs. Port 0 selects a free port and reports it on stderr.

    Raises:
        TypeError: `env_class` is not a class, or does not define all abstract methods of `BaseEnv`.
    """
    if not callable(env_class):
        raise TypeError(f"serve() takes the environment class itself, not an instance of {type(env_class).__name__}")
    if missing := getattr(env_class, "__abstractmethods__", None):
        raise TypeError(f"{env_class.__name__} must define {' and '.join(sorted(missing))}")
    from mesocosm.environments.app import create_app

    # A test that replaces uvicorn.run may accept only the three original options.
    known = inspect.signature(uvicorn.run).parameters
    options = {name: value for name, value in _OPTIONS.items() if name in known}
    uvicorn.run(create_app(env_class), host=host, port=port, log_level=log_level, **options)
