"""The list of models for calls that cannot be forwarded: only the run's model."""

import msgspec

from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.proxy.api import Api
from mesocosm.proxy.server import ProxyReply

_encode = msgspec.json.Encoder().encode


async def answer(path: str, settings: ModelSettings, api: Api, reply: ProxyReply) -> None:
    """Answer `/models` and `/models/NAME` in a form that clients of either protocol read. Raises ClientDisconnected."""
    name = ModelName.parse(settings.name)
    entry = {
        "id": name.model,
        "object": "model",
        "type": "model",
        "display_name": name.model,
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "owned_by": name.provider,
    }
    wanted = path.removeprefix("/models").lstrip("/")
    if not wanted:
        listed = {"object": "list", "data": [entry], "has_more": False, "first_id": name.model, "last_id": name.model}
        await reply.send(200, _encode(listed))
    elif wanted == name.model:
        await reply.send(200, _encode(entry))
    else:
        message = f"there is no model {wanted!r}; the run's is {name.model!r}"
        await reply.send(404, _encode(api.error(404, message, "model_not_found")))
