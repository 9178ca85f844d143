"""Google's protocol as LiteLLM's proxy speaks it, asked by our model."""

import pytest
from tests.foreign.real_servers import KEY, RealServer

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Message
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.models.google import open_model

HELLO = ModelRequest([Message("system", "be brief"), Message("user", "How many? [[say 4]]")], max_tokens=8)


async def asked(server: RealServer, name: str, monkeypatch: pytest.MonkeyPatch) -> ModelReply:
    """Ask a model of a server once."""
    monkeypatch.setenv("MESOCOSM_API_KEY", KEY)
    model = open_model(ModelSettings(f"google/{name}@{server.url}"))
    try:
        return await model.ask(HELLO)
    finally:
        await model.close()


async def test_it_answers_and_counts(litellm_server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = await asked(litellm_server, litellm_server.model, monkeypatch)
    assert reply.finish_reason in {"stop", "length"}
    assert reply.text
    assert reply.usage.prompt > 0
    assert reply.usage.completion > 0


async def test_a_model_that_is_absent_is_missing(litellm_server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EpisodeError) as raised:
        await asked(litellm_server, "absent", monkeypatch)
    assert raised.value.cause is Cause.MODEL_MISSING
