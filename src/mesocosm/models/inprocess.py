"""A model inside this process: a function of the request, free of charge."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.ids import digest_bytes
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest
from mesocosm.core.space import Space, SpaceSpec, SpaceType
from mesocosm.core.usage import Usage

LOCAL = Capabilities(images=True, local=True)
LOCAL_STRUCTURED = Capabilities(structured=True, images=True, local=True)

FREE = Usage(calls=1, cost_usd=0.0)
_encode = msgspec.json.Encoder().encode


def answering_from(path: Path) -> Capabilities:
    """Return the capabilities of a model that takes its answers from the file at `path`; they include its digest."""
    return replace(LOCAL, content=digest_bytes(path.read_bytes()))


def json_text(value: Any) -> str:
    """Return `value` as JSON text."""
    return _encode(value).decode()


class InProcessModel:
    """Answers by calling `answer`; `verify` is called before a run."""

    def __init__(
        self,
        name: str,
        answer: Callable[[ModelRequest], Awaitable[str | ModelReply]],
        capabilities: Capabilities = LOCAL,
        verify: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._answer = answer
        self._capabilities = capabilities
        self._verify = verify

    @property
    def capabilities(self) -> Capabilities:
        """The model's capabilities."""
        return self._capabilities

    async def check(self) -> None:
        """Run the `verify` function, if there is one. Raises UsageError."""
        if self._verify is not None:
            self._verify()

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the answer. Raises EpisodeError."""
        started = time.perf_counter()
        said = await self._answer(request)
        if isinstance(said, ModelReply):
            return said
        return ModelReply(said, usage=FREE, model=self.name, latency_s=time.perf_counter() - started)

    async def close(self) -> None:
        """Do nothing: there are no resources to release."""


def spoken(action: Any, request: ModelRequest) -> str:
    """Return an action as reply text: `{"action": …}` if the request's schema has that property, else text or JSON."""
    space: Space | None = request.view.space if request.view is not None else None
    if request.schema is not None and _wants_action(request):
        return json_text({"action": action})
    json_space = isinstance(space, SpaceSpec) and space.type is SpaceType.JSON
    if isinstance(action, str) and not (json_space or request.schema is not None):
        return action
    return json_text(action)


def _wants_action(request: ModelRequest) -> bool:
    properties = (request.schema or {}).get("properties")
    return isinstance(properties, dict) and "action" in properties
