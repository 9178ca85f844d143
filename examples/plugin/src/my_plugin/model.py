"""A model that repeats the last line of what it is told: `parrot/NAME`."""

from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.usage import Usage


def open_model(settings: ModelSettings) -> "Parrot":
    """Return the model that these settings name; raise UsageError for settings that cannot work."""
    return Parrot(settings.name)


class Parrot:
    """Implements mesocosm.core.ports.Model."""

    # A model that takes tools, images or a schema of the reply says so here.
    capabilities = Capabilities()

    def __init__(self, name: str) -> None:
        self.name = name

    async def check(self) -> None:
        """Verify that the model can answer; a model with an endpoint asks it here."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the last line of the newest message, at no cost."""
        *_, text = request.messages[-1].text.strip().splitlines() or [""]
        usage = Usage(prompt=len(request.messages), completion=1, calls=1)
        return ModelReply(text, usage=usage, model=self.name)

    async def close(self) -> None:
        """Close connections, of which there are none."""
