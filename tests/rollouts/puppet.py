"""A model that does what the question tells it, so that the same rollout meets the same answers everywhere.

Directives stand in the last user message that has any, one for each turn: `[[say TEXT]]`,
`[[call NAME {…}; NAME {…}]]`, and `[[again]]`, which repeats the one before it for as long as it is asked.
"""

import json
import re
from typing import Any

from mesocosm.testing.dialect import ScriptedAnswer

_DIRECTIVE = re.compile(r"\[\[(say|call|again) ?(.*?)\]\]", re.DOTALL)


def answer(body: dict[str, Any]) -> ScriptedAnswer:
    """Return what the conversation of a request asks for next."""
    messages = _messages(body)
    texts = [_text(message) if message["role"] == "user" else "" for message in messages]
    last = max(place for place, text in enumerate(texts) if "[[" in text)
    turn = sum(message["role"] == "assistant" for message in messages[last + 1 :])
    told = _DIRECTIVE.findall(texts[last])
    kind, rest = told[min(turn, len(told) - 1)]
    if kind == "again":
        kind, rest = told[-2]
    if kind == "say":
        return ScriptedAnswer(rest)
    calls = [part.strip().split(" ", 1) for part in rest.split(";")]
    return ScriptedAnswer(
        "", tool_calls=tuple((name, json.loads(given)) for name, given in calls), finish_reason="tool_calls"
    )


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a request: of chat completions, or the input of responses and of embeddings."""
    given = body["messages"] if "messages" in body else body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    return content or ""
