"""Single decisions of models under their old names."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from bench_common.core.binding_vow import BindingVow, SpaceSpec
from bench_common.core.errors import BenchError
from bench_common.core.run import AgentConfig
from bench_common.runtime.env_client import Observation
from bench_common.runtime.inference import (
    DecideResult,
    InferenceRouter,
    StructuredOutputError,
    _space_to_json_schema,
    _wrap_action_schema,
    normalize_model_id,
)
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(24)
ENCODED = base64.b64encode(PIXEL).decode()
DATA_URL = f"data:image/png;base64,{ENCODED}"


def space(**given: Any) -> SpaceSpec:
    return SpaceSpec.model_validate(given)


def vow(action: SpaceSpec) -> BindingVow:
    return BindingVow.model_validate(
        {
            "version": "1.0.0",
            "tier": "tier1",
            "description": "Cross the bay.",
            "observation_space": {"type": "json"},
            "action_space": action,
            "reward": {"type": "scalar"},
            "episode": {},
        }
    )


@pytest.fixture
def router() -> InferenceRouter:
    return InferenceRouter(allow_any_model=True)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("google/gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        ("google/palm", "google/palm"),
        (" openai/gpt-4o ", "openai/gpt-4o"),
    ],
)
def test_model_ids_are_normalized(given: str, asked: str) -> None:
    assert normalize_model_id(given) == asked


@pytest.mark.parametrize("data", [PIXEL, ENCODED, DATA_URL, {"url": DATA_URL}])
def test_an_image_becomes_a_part_whatever_it_comes_as(router: InferenceRouter, data: Any) -> None:
    assert router._build_image_content(data, "image/png") == {
        "type": "image_url",
        "image_url": {"url": DATA_URL, "detail": "auto"},
    }


def test_anthropic_takes_images_in_its_own_form_and_none_from_the_web(router: InferenceRouter) -> None:
    assert router._build_image_content(ENCODED, "image/png", "anthropic") == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": ENCODED},
    }
    remote = router._build_image_content("https://example.org/a.png", "image/png", "anthropic")
    assert remote == {"type": "text", "text": "(an image at https://example.org/a.png)"}


def test_what_is_no_image_is_said_to_be_none(router: InferenceRouter) -> None:
    assert router._build_image_content(5)["type"] == "text"


def test_observations_follow_a_marker_of_the_step(router: InferenceRouter) -> None:
    assert router._build_user_content("fog", 3) == "[Step 3]\nfog"
    assert router._build_user_content({"pier": "ü"}, 1) == '[Step 1]\n{"pier":"ü"}'
    parts = router._build_user_content(Observation(ENCODED, "image/png"), 2)
    assert parts == [
        {"type": "text", "text": "[Step 2]"},
        {"type": "image_url", "image_url": {"url": DATA_URL, "detail": "auto"}},
    ]
    assert router._build_user_content(ENCODED, 2, content_type="image/png") == parts


@pytest.mark.parametrize(
    ("action_space", "reply", "action"),
    [
        (space(type="discrete", enum_values=["left", "turn_left"]), "I see.\nAction: turn_left", "turn_left"),
        (space(type="discrete", enum_values=["A", "B"]), "I choose B because A is bad", "B"),
        (space(type="json"), 'So: {"x": [1,]} and that is it', {"x": [1]}),
        (space(type="continuous", bounds={"low": 0, "high": 9}), "Action: 4.5", 4.5),
        (space(type="text"), "<think>hm</think> sail north ", "sail north"),
        (space(type="discrete", enum_values=["left", "right"]), " no idea ", "no idea"),
    ],
)
def test_actions_are_found_in_replies(
    router: InferenceRouter, action_space: SpaceSpec, reply: str, action: Any
) -> None:
    assert router._parse_action(reply, action_space) == action


def test_schemas_of_spaces_are_wrapped() -> None:
    direction = space(type="discrete", enum_values=["n", "s"])
    schema = {"type": "string", "enum": ["n", "s"]}
    assert _space_to_json_schema(direction) == schema
    wrapped = {"type": "object", "properties": {"action": schema}, "required": ["action"]}
    assert _wrap_action_schema(direction) == _wrap_action_schema(schema) == wrapped


def completion(content: str | None, arguments: Any = None) -> dict[str, Any]:
    calls = [{"id": "c", "function": {"name": "submit_action", "arguments": arguments}}] if arguments else None
    return {"choices": [{"message": {"content": content, "tool_calls": calls}}]}


def test_structured_actions_come_out_of_content_and_tool_calls(router: InferenceRouter) -> None:
    extract = router._extract_structured_action
    assert extract(completion('{"reasoning": " fog ", "action": "n"}')) == ("n", "fog")
    assert extract(completion('{"action": null}')) == (None, "")
    assert extract(completion("Fog ahead.", '{"action": {"x": 1}}')) == ({"x": 1}, "Fog ahead.")
    message = SimpleNamespace(content='{"action": 3}', tool_calls=None)
    assert extract(SimpleNamespace(choices=[SimpleNamespace(message=message)])) == (3, "")


@pytest.mark.parametrize(
    "response",
    [completion(None), completion("north"), completion('{"move": 1}'), completion("x", "{"), {"choices": []}],
)
def test_a_response_without_an_action_is_an_error(router: InferenceRouter, response: Any) -> None:
    with pytest.raises(StructuredOutputError, match="the reply is no"):
        router._extract_structured_action(response)
    assert issubclass(StructuredOutputError, BenchError)


async def test_a_decision_is_made_with_the_whole_prompt(router: InferenceRouter) -> None:
    said = ScriptedAnswer('{"reasoning": "clear view", "action": "north"}')
    async with ModelServer(said) as model:
        agent = AgentConfig(model=f"openai/pilot@{model.openai_url}", system_prompt="Be brief.", max_tokens=77)
        decided = await router.decide(
            agent,
            vow(space(type="discrete", enum_values=["north", "south"])),
            Observation({"pier": 1}),
            step=4,
            env_system_prompt="Sail!",
            context={"Weather": "fog"},
        )
        asked = model.calls[0].body
    assert (decided.action, decided.reasoning, decided.model) == ("north", "clear view", agent.model)
    assert decided.total_tokens == decided.prompt_tokens + decided.completion_tokens > 0
    system, user = (message["content"] for message in asked["messages"])
    assert [part in system for part in ("Sail!", "Be brief.", "Cross the bay.", "## Weather\nfog")] == [True] * 4
    assert user == '[Step 4]\n{"pier":1}'
    assert asked["max_tokens"] == 77


async def test_a_text_reply_is_the_action(router: InferenceRouter) -> None:
    async with ModelServer("sail on") as model:
        agent = AgentConfig(model=f"openai/pilot@{model.openai_url}")
        decided = await router.decide(agent, vow(space(type="text")), Observation("fog"))
    assert decided == DecideResult("sail on", "", agent.model, decided.prompt_tokens, decided.completion_tokens)


async def test_a_model_that_is_not_allowed_is_not_asked() -> None:
    with pytest.raises(ValueError, match="allow_any_model"):
        await InferenceRouter(allow_any_model=False).decide(
            AgentConfig(model="openai/gpt-4o-mini"), vow(space(type="text")), Observation("fog")
        )
