from typing import Any

import pytest

from mesocosm.compat.osmosis.osmosis_ai.rollout.controller import LiteLLMBridge, llm_bridge
from mesocosm.compat.osmosis.osmosis_ai.rollout.controller.llm_bridge import BridgeError
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

ASKED: dict[str, Any] = {"model": "whatever", "messages": [{"role": "user", "content": "hi"}]}
COUNTED = ScriptedAnswer("four", prompt_tokens=5, completion_tokens=2)


@pytest.fixture
def without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_bridge, "installed_litellm", lambda: None)


@pytest.mark.usefixtures("without_litellm")
async def test_everything_that_is_asked_reaches_the_model() -> None:
    async with ModelServer(COUNTED) as server:
        asked = {**ASKED, "seed": 7, "stop": ["x"], "tool_choice": "none", "response_format": {"type": "json_object"}}
        made = LiteLLMBridge(model="openai/gpt", api_key="key", api_base=server.openai_url)
        reply = await made.complete(asked, rollout_id="r")
    assert reply["choices"][0]["message"]["content"] == "four"
    assert server.calls[0].body == {**asked, "model": "gpt", "stream": False}
    assert server.calls[0].header("authorization") == "Bearer key"
    assert (made.collect_tokens("r"), made.collect_tokens("r")) == (7, None)


@pytest.mark.usefixtures("without_litellm")
async def test_a_stream_is_passed_on() -> None:
    async with ModelServer("four") as server:
        made = LiteLLMBridge(model="gpt", api_base=server.openai_url)
        events = b"".join([event async for event in made.stream(ASKED, rollout_id="r")])
    assert events.startswith(b"data: {")
    assert events.rstrip().endswith(b"data: [DONE]")


@pytest.mark.usefixtures("without_litellm")
async def test_what_the_provider_says_against_it_is_passed_on() -> None:
    async with ModelServer(faults=[Fault(status=401, text="bad key")]) as server:
        made = LiteLLMBridge(model="gpt", api_base=server.openai_url)
        with pytest.raises(BridgeError, match=r"401.*bad key"):
            await made.complete(ASKED, rollout_id="r")


@pytest.mark.usefixtures("without_litellm")
async def test_without_litellm_an_address_is_needed() -> None:
    with pytest.raises(BridgeError, match="pip install litellm"):
        await LiteLLMBridge(model="gpt").complete(ASKED, rollout_id="r")


class Said:
    """What LiteLLM returns."""

    def model_dump(self, **_: object) -> dict[str, Any]:
        return {"choices": [{"message": {"content": "four"}}], "usage": {"total_tokens": 9}}


class Litellm:
    """Stands where the package is too slow to load in a test."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: dict[str, Any] = {}

    async def acompletion(self, **asked: Any) -> Any:
        self.asked = asked
        if self.error:
            raise self.error
        return self._chunks() if asked["stream"] else Said()

    async def _chunks(self) -> Any:
        yield Said()


async def test_litellm_is_asked_by_the_bridges_model(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Litellm()
    monkeypatch.setattr(llm_bridge, "installed_litellm", lambda: fake)
    made = LiteLLMBridge(model="anthropic/claude", api_key="key")
    assert (await made.complete({**ASKED, "n": 2}, rollout_id="r"))["usage"]["total_tokens"] == 9
    assert (fake.asked["model"], fake.asked["api_key"], fake.asked["n"]) == ("anthropic/claude", "key", 2)
    events = [event async for event in made.stream(ASKED, rollout_id="r")]
    assert events[-1] == b"data: [DONE]\n\n"
    assert made.collect_tokens("r") == 18


async def test_what_litellm_raises_is_a_bridge_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_bridge, "installed_litellm", lambda: Litellm(RuntimeError("no credit")))
    made = LiteLLMBridge(model="anthropic/claude")
    with pytest.raises(BridgeError, match="RuntimeError: no credit"):
        await made.complete(ASKED, rollout_id="r")
    with pytest.raises(BridgeError, match="no credit"):
        [event async for event in made.stream(ASKED, rollout_id="r")]


@pytest.mark.usefixtures("without_litellm")
async def test_a_first_question_fails_where_every_other_would(caplog: pytest.LogCaptureFixture) -> None:
    async with ModelServer("hi", faults=[Fault(status=401, text="bad key"), Fault(status=429, text="later")]) as server:
        made = LiteLLMBridge(model="gpt", api_base=server.openai_url)
        with pytest.raises(BridgeError, match="bad key"):
            await made.preflight_check()
        await made.preflight_check()
        assert "did not answer a first question" in caplog.text
        await made.preflight_check()
    assert made.collect_tokens("") is None
