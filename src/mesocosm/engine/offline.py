"""The model of a benchmark that asks none."""

from mesocosm.core.failure import RunAborted
from mesocosm.core.model import Capabilities, ModelName, ModelReply, ModelRequest


class NoModel:
    """Stands where a model would be, for benchmarks that are offline. Implements core.ports.Model."""

    def __init__(self, name: ModelName) -> None:
        self._name = name

    @property
    def capabilities(self) -> Capabilities:
        """Nothing."""
        return Capabilities()

    async def check(self) -> None:
        """Nothing can be wrong with it."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Raise RunAborted: an agent that asks belongs to another benchmark."""
        del request
        what = f"this benchmark is offline and asks no model, so {self._name.shown()} was not opened"
        raise RunAborted(f"{what}; leave the agent to the benchmark")

    async def close(self) -> None:
        """Nothing is held."""
