"""Models for foreign programs: the gateway of a run, opened when the first program needs it, and its taps."""

from typing import Protocol

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.gateway import Forwarded, Gateway
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.registry import GATEWAYS

DEFAULT = "proxy"


class Gateways:
    """The gateway of one run. Nothing is started, nor imported, before the first program plays."""

    def __init__(self, model: Model, settings: ModelSettings) -> None:
        self._model = model
        self._settings = settings
        self._gateway: Gateway | None = None

    def open(self) -> Gateway:
        """Return the gateway. Raises UsageError when none is installed."""
        if self._gateway is None:
            self._gateway = GATEWAYS.get(DEFAULT)(self._model, self._settings)
        return self._gateway

    async def close(self) -> None:
        """Stop it, if it was ever opened."""
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            await gateway.close()


class Tapped(Protocol):
    """What a tap needs of an episode; the engine's context."""

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        ...

    @property
    def unaffordable(self) -> str:
        """Why no further call may be made, empty as long as one may."""
        ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Call the model."""
        ...

    def forwarded(self, call: Forwarded) -> None:
        """Record a call."""
        ...


class EpisodeTap:
    """Implements core.gateway.Tap for one episode."""

    def __init__(self, context: Tapped) -> None:
        self._context = context
        self._refused = ""

    def refusal(self) -> str:
        """Return why no further call may be made; what was once refused stays so."""
        if self._context.over:
            return "the episode is over"
        self._refused = self._refused or self._context.unaffordable
        return self._refused

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Answer a call through the engine. Raises EpisodeError."""
        return await self._context.ask(request)

    def forwarded(self, call: Forwarded) -> None:
        """Record a call that the gateway passed on."""
        self._context.forwarded(call)

    def settle(self) -> None:
        """Raise EpisodeError when the program was refused calls: what it found without them measures nothing else."""
        if self._refused:
            raise EpisodeError(Cause.BUDGET, f"the program was refused further model calls: {self._refused}")
