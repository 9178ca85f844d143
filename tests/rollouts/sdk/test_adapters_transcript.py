from typing import Any

from mesocosm.rollouts.sdk.adapters.transcript import from_blocks, from_responses, to_blocks

ADD = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}


def test_items_of_the_responses_protocol_become_a_chat() -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "2+2?"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 2}'},
        {"type": "function_call_output", "call_id": "c1", "output": "4"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "four"}]},
    ]
    assert from_responses(items) == [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [ADD]},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
        {"role": "assistant", "content": "four"},
    ]


def test_a_call_after_words_of_the_assistant_belongs_to_them() -> None:
    items = [
        {"type": "message", "role": "assistant", "content": "let me add"},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 2}'},
    ]
    assert from_responses(items) == [{"role": "assistant", "content": "let me add", "tool_calls": [ADD]}]


def test_items_of_unknown_kinds_are_left_out() -> None:
    assert from_responses([{"type": "web_search_call", "id": "x"}]) == []


def test_an_output_in_parts_is_their_text() -> None:
    items = [{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "4"}]}]
    assert from_responses(items)[0]["content"] == "4"


def test_blocks_become_a_chat() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": "2+2?"}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm"}}},
                {"text": "wait"},
                {"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 2}}},
            ],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "4"}, {"json": 4}]}}],
        },
        {"role": "assistant", "content": "four"},
    ]
    assert from_blocks(messages) == [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "wait", "reasoning_content": "hm", "tool_calls": [ADD]},
        {"role": "tool", "tool_call_id": "c1", "content": '4\n{"json": 4}'},
        {"role": "assistant", "content": "four"},
    ]


def test_text_becomes_a_block_and_blocks_stay() -> None:
    blocks = {"role": "assistant", "content": [{"text": "b"}]}
    assert to_blocks([{"role": "user", "content": "a"}, blocks]) == [
        {"role": "user", "content": [{"text": "a"}]},
        blocks,
    ]
