"""Model calls that are asked again: what is read from a recorded body, and what may be changed."""

from typing import Any

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.message import Message
from mesocosm.core.model import Tool
from mesocosm.interop.again import edited, schema_in, tools_in

SHAPE = {"type": "object", "properties": {"x": {"type": "integer"}}}
LOOK = Tool("look", "Looks.", SHAPE)


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SHAPE}}]},
        {"tools": [{"name": "look", "description": "Looks.", "input_schema": SHAPE}]},
        {"tools": [{"functionDeclarations": [{"name": "look", "description": "Looks.", "parameters": SHAPE}]}]},
    ],
    ids=["openai", "anthropic", "google"],
)
def test_tools_are_read_from_the_body_of_any_api(body: dict[str, Any]) -> None:
    assert tools_in(body) == (LOOK,)
    assert tools_in({}) == tools_in({"tools": "none"}) == ()


@pytest.mark.parametrize(
    "body",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SHAPE}}},
        {"format": SHAPE},
        {"output_config": {"format": {"type": "json_schema", "schema": SHAPE}}},
        {"generationConfig": {"responseJsonSchema": SHAPE}},
    ],
    ids=["openai", "ollama", "anthropic", "google"],
)
def test_the_schema_of_the_reply_is_read_from_the_body_of_any_api(body: dict[str, Any]) -> None:
    assert schema_in(body) == (SHAPE, "answer")
    assert schema_in({"format": "json"}) == (None, "answer")


def test_the_system_message_and_the_last_one_of_the_user_are_replaced() -> None:
    said = [Message("system", "be brief"), Message("user", "one"), Message("assistant", "1"), Message("user", "two")]

    assert edited(said, None, None) == tuple(said)
    assert [one.text for one in edited(said, "be long", "three")] == ["be long", "one", "1", "three"]
    assert [one.role for one in edited(said[1:2], "be long", None)] == ["system", "user"]
    with pytest.raises(UsageError, match="no message of the user"):
        edited(said[:1], None, "three")
