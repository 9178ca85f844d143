"""Messages between agent and model."""

import msgspec
import pytest

from mesocosm.core.message import Image, Message, Text, ToolCall


def test_the_text_of_a_message_leaves_images_out() -> None:
    message = Message("user", (Text("see:"), Image(data="aGk="), Text("what is it?")))
    assert message.text == "see:\nwhat is it?"
    assert Message("user", "plain").text == "plain"


@pytest.mark.parametrize(
    "message",
    [
        Message("system", "rules"),
        Message("user", (Text("see"), Image("image/jpeg", "aGk="), Image(url="http://h/x.png"))),
        Message("assistant", "", "thought", (ToolCall("1", "look", {"far": True}), ToolCall("2", "say", "no json"))),
        Message("tool", "seen", tool_call_id="1"),
    ],
)
def test_a_message_survives_json(message: Message) -> None:
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message


def test_equal_messages_are_equal_whoever_made_them() -> None:
    assert Message("user", (Text("a"),)) == Message("user", (Text("a"),))
    assert Message("user", "a") != Message("assistant", "a")
