"""The imports of environments: `from bench_common.env_sdk import BaseEnv, StepResult, serve`.

Names that need a web server or pydantic are loaded on first use, so that environments and their tests start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mesocosm.environments.sdk import BaseEnv, StepResult

if TYPE_CHECKING:
    from bench_common.env_sdk.registration import DomainConfig, register_domain
    from bench_common.env_sdk.server import serve

__all__ = ["BaseEnv", "DomainConfig", "StepResult", "register_domain", "serve"]

_HOMES = {
    "DomainConfig": "bench_common.env_sdk.registration",
    "register_domain": "bench_common.env_sdk.registration",
    "serve": "bench_common.env_sdk.server",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
