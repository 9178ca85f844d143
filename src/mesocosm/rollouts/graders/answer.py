"""Find the answer in a sample: the assistant's last text, and the part of it that states the answer."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator

from mesocosm.core.conclusion import answer_of
from mesocosm.core.number import MOST_STATED, spellings
from mesocosm.rollouts.graders.matching import TooSlow, check_pattern, found
from mesocosm.rollouts.sdk.config import GraderConfig

MOST_CHARS = 20_000
"""Number of characters at the end of a reply that are searched for the answer."""
_MOST_STARTS = 200

Last = Literal["", "number", "line", "json", "code"]


class MissingLabel(ValueError):
    """A row lacks the label that the answer is compared with: a fault of the dataset, not of the answer."""


class AnswerConfig(GraderConfig):
    """How to find the answer in the reply, and the label in the row.

    `after`: take the text after the last occurrence of this marker, up to the end of the line. `pattern`: take the last
    match of this expression (its first group, if it has one). `last`: of the remaining text, take the last number,
    line, JSON document or fenced code. `strip`: characters to remove from both ends, besides white space. `label_after`
    does for the label what `after` does for the reply; `label_from` names the metadata with the label, or with a list
    of labels, each of which is right.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: str = "ready-made"
    after: str = ""
    pattern: str = ""
    last: Last = ""
    strip: str = ""
    label_after: str = ""
    label_from: str = ""
    max_chars: int = Field(default=MOST_CHARS, ge=1, le=1_000_000)

    @field_validator("pattern")
    @classmethod
    def _readable(cls, pattern: str) -> str:
        return check_pattern(pattern)


def answer_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the assistant's last message, or the arguments of its tool calls if it has no text.

    Understands messages of Chat Completions, blocks of Anthropic and Strands, and items of the Responses API. Other
    formats have no text.
    """
    for message in reversed(messages):
        if not isinstance(message, Mapping):
            continue
        if message.get("type") in ("function_call", "custom_tool_call"):
            return _spelled(message.get("arguments", message.get("input")))
        if message.get("role") == "assistant":
            text = content_text(message.get("content"))
            return text if text.strip() else _calls(message)
    return ""


def task_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the user's messages before the first one of the assistant."""
    said: list[str] = []
    for message in messages:
        if not isinstance(message, Mapping) or message.get("role") == "assistant":
            break
        if message.get("role") == "user":
            said.append(content_text(message.get("content")))
    return "\n\n".join(said)


def content_text(content: object) -> str:
    """Return the text of a message's content: a string, or the texts of its parts, joined by line breaks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = [part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | Mapping)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _calls(message: Mapping[str, Any]) -> str:
    calls: list[Any] = []
    for call in _listed(message.get("tool_calls")):
        function = call.get("function")
        calls.append(function.get("arguments") if isinstance(function, Mapping) else call.get("arguments"))
    for part in _listed(message.get("content")):
        if part.get("type") == "tool_use":
            calls.append(part.get("input"))
        elif isinstance(used := part.get("toolUse"), Mapping):
            calls.append(used.get("input"))
    return "\n".join(_spelled(call) for call in calls)


def _listed(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def _spelled(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def extract(reply: str, config: AnswerConfig) -> str:
    """Return the answer, without thought; empty if there is none, or more than `MOST_STATED` follow the marker."""
    text = answer_of(reply)[-config.max_chars :]
    if config.after:
        text = behind(text, config.after, lines=config.last not in ("json", "code"))
    if config.pattern:
        text = _last_found(config.pattern, text)
    text = _LASTS[config.last](text)
    return text.strip().strip(config.strip).strip() if config.strip else text.strip()


def _last_found(pattern: str, text: str) -> str:
    try:
        return (found(pattern, text) or [""])[-1]
    except TooSlow:
        # A text on which the expression never ends counts as no answer.
        return ""


def behind(text: str, marker: str, *, lines: bool = True) -> str:
    """Return the text after the last `marker`: the rest of its line, or the next line if that is empty.

    Without `lines`, return the rest of the text. Return "" without a marker, or if more than `MOST_STATED` different
    statements follow markers.
    """
    _, *rests = text.split(marker)
    if not rests:
        return ""
    if len({_first_line(rest) for rest in rests}) > MOST_STATED:
        return ""
    return _first_line(rests[-1]) if lines else rests[-1]


def _first_line(text: str) -> str:
    return text.lstrip()[:4000].partition("\n")[0].strip()


def labels(label: str | None, metadata: Mapping[str, Any] | None, config: AnswerConfig) -> list[str]:
    """Return the right answers of a row, at least one. Raises MissingLabel if there is none."""
    held: Any = label
    if config.label_from:
        held = (metadata or {}).get(config.label_from)
    listed = list(held) if config.label_from and isinstance(held, list | tuple) else [held]
    right = [text for text in (_label(item, config.label_after) for item in listed) if text]
    if right:
        return right
    where = f"metadata {config.label_from!r}" if config.label_from else "the label"
    marker = f" with {config.label_after!r} and something behind it" if config.label_after else ""
    raise MissingLabel(
        f"the row has nothing to compare the answer with: {where} should be a text{marker}, and is {held!r:.80}; "
        "mend the dataset, or name the metadata that holds it with label_from"
    )


def _label(held: object, marker: str) -> str:
    text = held if isinstance(held, str) else "" if held is None else json.dumps(held, ensure_ascii=False, default=str)
    if not marker:
        return text.strip()
    _, present, rest = text.rpartition(marker)
    return rest.strip() if present else ""


def last_line(text: str) -> str:
    """Return the last line, ignoring blank lines at the end."""
    return text.rstrip().rpartition("\n")[2]


def last_number(text: str) -> str:
    """Return the last number in a text, as it is written; empty if there is none."""
    return (spellings(text) or [""])[-1]


def last_code(text: str) -> str:
    """Return the last fenced block; empty if there is none."""
    return (fenced(text) or [""])[-1]


def fenced(text: str) -> list[str]:
    """Return the contents of all fenced blocks; the end of the text closes an open block."""
    blocks: list[str] = []
    fence, lines = "", [""]
    for line in text.split("\n"):
        bare = line.strip()
        if not fence and bare.startswith(("```", "~~~")):
            fence, lines = bare[: len(bare) - len(bare.lstrip(bare[0]))], []
        elif fence and bare.startswith(fence) and not bare.strip(fence[0]):
            blocks.append("\n".join(lines))
            fence = ""
        elif fence:
            lines.append(line)
    return [*blocks, "\n".join(lines)] if fence else blocks


def last_json(text: str) -> str:
    """Return the last JSON object or list, as written: the last fenced block, else the last one in the text."""
    blocks = fenced(text)
    if blocks:
        return blocks[-1]
    decoder, start, last = json.JSONDecoder(), 0, ""
    for _ in range(_MOST_STARTS):
        starts = [place for place in (text.find("{", start), text.find("[", start)) if place >= 0]
        if not starts:
            break
        start = min(starts)
        try:
            end = decoder.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            start += 1
        else:
            last, start = text[start:end], end
    return last


def _all(text: str) -> str:
    return text


_LASTS = {"": _all, "number": last_number, "line": last_line, "json": last_json, "code": last_code}
