import pytest

from mesocosm.rollouts.sdk.adapters.address import ambient_address, named
from mesocosm.rollouts.sdk.adapters.clients import (
    anthropic_client,
    async_anthropic_client,
    async_openai_client,
    openai_client,
)
from mesocosm.rollouts.sdk.context import API_KEY_ENV, CHAT_COMPLETIONS_URL_ENV, RolloutContext
from mesocosm.testing.model_server import ModelServer

ASKED = [{"role": "user", "content": "hi"}]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHAT_COMPLETIONS_URL_ENV, raising=False)
    monkeypatch.delenv(API_KEY_ENV, raising=False)


async def test_an_openai_client_to_await_asks_the_rollouts_model() -> None:
    async with ModelServer("four") as server:
        with RolloutContext(server.openai_url, "key"):
            async with async_openai_client() as client:
                reply = await client.chat.completions.create(model="any", messages=ASKED)  # type: ignore[arg-type]
    assert reply.choices[0].message.content == "four"
    assert server.calls[0].header("authorization") == "Bearer key"
    assert server.calls[0].path == "/v1/chat/completions"


def test_an_openai_client_that_blocks_asks_the_rollouts_model() -> None:
    with ModelServer("four") as server, RolloutContext(server.openai_url, "key"), openai_client() as client:
        reply = client.chat.completions.create(model="any", messages=ASKED)  # type: ignore[arg-type]
    assert reply.choices[0].message.content == "four"


async def test_an_anthropic_client_asks_at_the_root() -> None:
    async with ModelServer("four") as server:
        with RolloutContext(server.openai_url, "key"):
            async with async_anthropic_client() as client:
                reply = await client.messages.create(model="any", max_tokens=9, messages=ASKED)  # type: ignore[arg-type]
    assert reply.content[0].type == "text"
    assert server.calls[0].path == "/v1/messages"
    shown = server.calls[0].header("x-api-key") or server.calls[0].header("authorization")
    assert shown in {"key", "Bearer key"}


def test_an_anthropic_client_that_blocks_asks_at_the_root() -> None:
    with ModelServer("four") as server, RolloutContext(server.openai_url, "key"), anthropic_client() as client:
        client.messages.create(model="any", max_tokens=9, messages=ASKED)  # type: ignore[arg-type]
    assert server.calls[0].path == "/v1/messages"


def test_options_go_to_the_client() -> None:
    with RolloutContext("http://model.test/v1", "key"), openai_client(max_retries=7) as client:
        assert client.max_retries == 7


def test_the_environment_stands_in_for_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHAT_COMPLETIONS_URL_ENV, "http://model.test/v1/")
    monkeypatch.setenv(API_KEY_ENV, "from the environment")
    address = ambient_address()
    assert (address.base_url, address.api_key) == ("http://model.test/v1", "from the environment")


def test_outside_a_rollout_there_is_no_client() -> None:
    with pytest.raises(RuntimeError, match="no rollout is running"):
        openai_client()


def test_a_context_without_a_key_still_gives_a_client() -> None:
    with RolloutContext("http://model.test/v1"), openai_client() as client:
        assert client.api_key == "none"


def test_an_address_does_not_show_its_key() -> None:
    with RolloutContext("http://model.test/v1", "secret"):
        assert "secret" not in repr(ambient_address())


@pytest.mark.parametrize(
    ("given", "name"), [(None, "osmosis-rollout"), ("openai/osmosis-rollout", "osmosis-rollout"), ("gpt", "gpt")]
)
def test_a_models_name_is_sent_without_its_provider(given: str | None, name: str) -> None:
    assert named(given) == name
