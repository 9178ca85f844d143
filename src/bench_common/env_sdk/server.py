"""The server of environments. Some repositories build their own application from the private request models."""

from mesocosm.environments.payload import info_payload as _info_payload
from mesocosm.environments.payload import jsonable as _jsonable_payload
from mesocosm.environments.payload import reward_payload as _reward_payload
from mesocosm.environments.requests import CloseRequest as _CloseRequest
from mesocosm.environments.requests import RenderRequest as _RenderRequest
from mesocosm.environments.requests import ResetRequest as _ResetRequest
from mesocosm.environments.requests import StepRequest as _StepRequest
from mesocosm.environments.sdk import BaseEnv, StepResult
from mesocosm.environments.server import serve, uvicorn

__all__ = [
    "BaseEnv",
    "StepResult",
    "_CloseRequest",
    "_RenderRequest",
    "_ResetRequest",
    "_StepRequest",
    "_info_payload",
    "_jsonable_payload",
    "_reward_payload",
    "serve",
    "uvicorn",
]
