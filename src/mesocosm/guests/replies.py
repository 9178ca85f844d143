"""Recorded replies, served to a framework's own runner and to ours alike.

A file has a JSON object a line: `{"asked": TEXT, "reply": TEXT}`, where TEXT is the last message of a request. A
conversation is told from others with the same last message by `"messages": [{"role", "content"}, …]` instead of
`asked`. A reply that calls tools has `"tool_calls": [{"name": …, "arguments": {…}}]`. How probable a text is, is in
`{"asked": TEXT, "tokens": [[TOKEN, LOGPROB], …]}`: the tokens of TEXT with their log-probabilities, null where there is
none; a third number is that of the token which would have been more probable there.
"""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.ids import digest
from mesocosm.guests.recording import read_lines
from mesocosm.models.openai import PROBE
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer
from mesocosm.testing.probabilities import echoed

MODEL, KEY = "recorded", "recorded"
"""Name and key under which the replies are served."""
_SHOWN = 200
_WRITTEN, _LIKELY = " .", -0.1


class RepliedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call of a tool in a recorded reply."""

    name: str
    arguments: dict[str, Any] = {}


class RecordedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the file."""

    reply: str = ""
    asked: str | None = None
    messages: list[dict[str, Any]] | None = None
    tool_calls: list[RepliedCall] = []
    tokens: list[list[str | float | None]] = []

    @property
    def problem(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if (self.asked is None) == (self.messages is None):
            return "has not exactly one of 'asked' and 'messages'"
        if any(not _is_token(token) for token in self.tokens):
            return "has 'tokens' that are not [TEXT, LOGPROB] or [TEXT, LOGPROB, LOGPROB OF THE MOST PROBABLE]"
        if self.tokens and "".join(str(token[0]) for token in self.tokens) != self.asked:
            return "has 'tokens' that are not the text in 'asked'"
        return ""

    @property
    def answer(self) -> ScriptedAnswer:
        """What the model says."""
        if self.tokens:
            return _rated(self.asked or "", self.tokens)
        calls = tuple((call.name, call.arguments) for call in self.tool_calls)
        return ScriptedAnswer(self.reply, tool_calls=calls, finish_reason="tool_calls" if calls else "stop")


class RecordedReplies:
    """The replies of a file, by what was asked. `unknown` are the questions without one, in order."""

    def __init__(self, replies: Mapping[str, ScriptedAnswer]) -> None:
        self._replies = replies
        self.unknown: list[str] = []
        self.asked = 0

    def answer(self, body: Mapping[str, Any]) -> ScriptedAnswer:
        """Return the reply to a request; an empty one, and a note in `unknown`, if there is none."""
        if body.get("prompt") == PROBE and body.get("echo"):
            return echoed(ScriptedAnswer("."), body)
        self.asked += 1
        messages: Sequence[Mapping[str, Any]] = body.get("messages") or [{"content": body.get("prompt")}]
        last = _text(messages[-1].get("content"))
        found = self._replies.get(_whole(messages)) or self._replies.get(last)
        if found is None:
            self.unknown.append(last[:_SHOWN])
            return ScriptedAnswer("")
        return found


def read_replies(path: Path) -> RecordedReplies:
    """Read a file of replies. Raises UsageError if there is none, InvalidInput for lines that cannot be read."""
    found: dict[str, ScriptedAnswer] = {}

    def problem(one: RecordedReply) -> str:
        if one.problem:
            return one.problem
        key = one.asked if one.asked is not None else _whole(one.messages or [])
        same = found.setdefault(key, one.answer) == one.answer
        return "" if same else "answers what an earlier line answers, in another way"

    read_lines(path, RecordedReply, "replies", problem)
    return RecordedReplies(found)


def _is_token(token: Sequence[Any]) -> bool:
    numbers = token[1:]
    return (
        1 <= len(numbers) <= 2
        and isinstance(token[0], str)
        and all(isinstance(one, float | int) or (one is None and len(numbers) == 1) for one in numbers)
    )


def _rated(text: str, tokens: Sequence[Sequence[Any]]) -> ScriptedAnswer:
    """Return a text given back with its log-probabilities, and behind it the one token that is asked for."""
    rows = [*tokens, (_WRITTEN, _LIKELY)]
    tops = [None if row[1] is None else {f"not {row[0]}": row[-1], row[0]: row[1]} for row in rows]
    logprobs = {
        "tokens": [row[0] for row in rows],
        "token_logprobs": [row[1] for row in rows],
        "top_logprobs": tops,
        "text_offset": [0, *accumulate(len(row[0]) for row in tokens)],
    }
    return ScriptedAnswer(text + _WRITTEN, completion_tokens=1, finish_reason="length", logprobs=logprobs)


def _whole(messages: Sequence[Mapping[str, Any]]) -> str:
    return digest([[message.get("role"), _text(message.get("content"))] for message in messages])


def _text(content: Any) -> str:
    """Return the text of a message; pieces that are no text leave none."""
    if isinstance(content, str):
        return content
    pieces = content if isinstance(content, list) else []
    return "".join(str(piece.get("text", "")) for piece in pieces if isinstance(piece, dict))


class ReplyServer:
    """Serves replies on loopback from a thread of its own, so that blocking callers can use it."""

    def __init__(self, replies: RecordedReplies) -> None:
        self._server = ModelServer(replies.answer, keep=0, echoes=False)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mesocosm-replies", daemon=True)

    def __enter__(self) -> str:
        """Start, and return the base URL for OpenAI clients."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result()
        return self._server.openai_url

    def __exit__(self, *_: object) -> None:
        """Stop."""
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
