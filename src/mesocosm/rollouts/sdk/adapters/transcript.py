"""Convert conversations of frameworks to chat messages for the trajectory. Needs no framework."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mesocosm.rollouts.sdk.sample import MessageDict


def _text(parts: object) -> str:
    """Return the text of content: a string, or the joined texts of its parts."""
    if isinstance(parts, str):
        return parts
    if not isinstance(parts, list | tuple):
        return "" if parts is None else json.dumps(parts, ensure_ascii=False, default=str)
    return "".join(str(part.get("text") or "") if isinstance(part, Mapping) else str(part) for part in parts)


def _call(identity: object, name: object, arguments: object) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return {"id": str(identity), "type": "function", "function": {"name": str(name), "arguments": text}}


def from_responses(items: Iterable[Mapping[str, Any]]) -> list[MessageDict]:
    """Convert items of the OpenAI Responses API to chat messages.

    Reasoning and tool calls become part of the assistant's message that they belong to; other kinds of items are
    dropped.
    """
    messages: list[MessageDict] = []
    reasoning = ""
    for item in items:
        kind = item.get("type")
        if kind == "reasoning":
            reasoning += _text(item.get("summary")) or _text(item.get("content"))
        elif kind == "function_call":
            reasoning = _reasoned(_acting(messages), reasoning)
            calls = messages[-1].setdefault("tool_calls", [])
            calls.append(_call(item.get("call_id"), item.get("name"), item.get("arguments")))
        elif kind == "function_call_output":
            output = _text(item.get("output"))
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": output})
        elif "role" in item:
            messages.append({"role": str(item["role"]), "content": _text(item.get("content"))})
            if item["role"] == "assistant":
                reasoning = _reasoned(messages[-1], reasoning)
    return messages


def _acting(messages: list[MessageDict]) -> MessageDict:
    """Return the assistant's message at the end of `messages`, or append a new one."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": ""})
    return messages[-1]


def _reasoned(message: MessageDict, reasoning: str) -> str:
    """Add the reasoning collected so far to a message; return the new, empty collection."""
    if reasoning:
        message["reasoning_content"] = message.get("reasoning_content", "") + reasoning
    return ""


def from_blocks(messages: Iterable[Mapping[str, Any]]) -> list[MessageDict]:
    """Convert messages of Strands' content blocks (text, reasoning, tool uses, results) to chat messages."""
    chat: list[MessageDict] = []
    for message in messages:
        content = message.get("content")
        blocks: list[Any] = content if isinstance(content, list) else [{"text": _text(content)}]
        chat += [_result(block["toolResult"]) for block in blocks if "toolResult" in block]
        said = _said(str(message.get("role") or "user"), [block for block in blocks if "toolResult" not in block])
        if said is not None:
            chat.append(said)
    return chat


def _result(result: Mapping[str, Any]) -> MessageDict:
    parts = result.get("content") or []
    texts = [
        str(part["text"]) if "text" in part else json.dumps(part, ensure_ascii=False, default=str) for part in parts
    ]
    return {"role": "tool", "tool_call_id": result.get("toolUseId"), "content": "\n".join(texts)}


def _said(role: str, blocks: list[Mapping[str, Any]]) -> MessageDict | None:
    if not blocks:
        return None
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    thought = [block["reasoningContent"].get("reasoningText") or {} for block in blocks if "reasoningContent" in block]
    message: MessageDict = {"role": role, "content": _text([block for block in blocks if "text" in block])}
    if thought:
        message["reasoning_content"] = _text(thought)
    if uses:
        message["tool_calls"] = [_call(use.get("toolUseId"), use.get("name"), use.get("input")) for use in uses]
    return message


def to_blocks(messages: Iterable[Mapping[str, Any]]) -> list[MessageDict]:
    """Convert text content to a text block, as Strands expects; leave other messages unchanged."""
    return [
        {**message, "content": [{"text": message["content"]}]}
        if isinstance(message.get("content"), str)
        else dict(message)
        for message in messages
    ]
