"""Messages in OpenAI's form, as foreign trajectories have them, in the form of core.message.Message."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

JSON = dict[str, Any]

_ROLES = {"developer": "system", "function": "tool", "model": "assistant", "agent": "assistant"}


def chat_message(raw: Mapping[str, Any]) -> JSON:
    """Return a message of OpenAI's form in ours; an unknown role is the user's."""
    role = str(raw.get("role"))
    role = _ROLES.get(role, role)
    found: JSON = {"role": role if role in ("system", "user", "assistant", "tool") else "user"}
    content = raw.get("content")
    found["content"] = content if isinstance(content, str) else _parts(content)
    thought = raw.get("reasoning_content") or raw.get("reasoning")
    if isinstance(thought, str) and thought:
        found["reasoning"] = thought
    if calls := [
        _call(call, place) for place, call in enumerate(raw.get("tool_calls") or ()) if isinstance(call, Mapping)
    ]:
        found["tool_calls"] = calls
    if role == "tool" and (called := raw.get("tool_call_id") or raw.get("id")):
        found["tool_call_id"] = str(called)
    if raw.get("error") is True:
        found["failed"] = True
    return found


def _parts(content: Any) -> Any:
    if content is None:
        return ""
    if not isinstance(content, list):
        return json.dumps(content, ensure_ascii=False)
    return [_part(part) for part in content]


def _part(part: Any) -> JSON:
    if not isinstance(part, Mapping):
        return {"type": "text", "text": str(part)}
    if part.get("type") == "image_url":
        address = part.get("image_url")
        return {"type": "image", "url": str(address.get("url") if isinstance(address, Mapping) else address)}
    return {"type": "text", "text": str(part.get("text") or f"[{part.get('type')}]")}


def _call(call: Mapping[str, Any], place: int) -> JSON:
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    arguments = named.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    return {
        "id": str(call.get("id") or call.get("tool_call_id") or f"call_{place}"),
        "name": str(named.get("name") or named.get("function_name") or ""),
        "arguments": arguments,
    }
