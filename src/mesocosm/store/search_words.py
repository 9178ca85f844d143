"""What was said in an episode, as utterances, and the words in them that the index of `store.search` knows."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import IntFlag
from functools import cache
from typing import Any, NamedTuple

import msgspec

from mesocosm.core.entry import Chunk, whole
from mesocosm.core.event import Kind
from mesocosm.core.ports import BlobStore


class SaidIn(IntFlag):
    """Where in an episode something was said. Stored in the index, so that values must not change.

    `question` is everything before the first call of a model, `observation` what came after it; `call` are the tools
    that a model called, with arguments, `result` what they returned.
    """

    QUESTION = 1
    REPLY = 2
    REASONING = 4
    CALL = 8
    RESULT = 16
    OBSERVATION = 32
    ACTION = 64

    @property
    def word(self) -> str:
        """Its name in queries and documents."""
        return (self.name or "").lower()


ALL = SaidIn(127)
OPEN = SaidIn.OBSERVATION | SaidIn.ACTION
"""What outsiders may see some of in a public run; questions are a part of what is measured."""
TOOL = 128
"""The bit of a tool's name, which is indexed as a whole."""
LONGEST = 32
"""Letters of a word that are indexed; longer ones are hashes, mostly."""


class Utterance(NamedTuple):
    """One text of an event: where it was said, its event and step, the tool it belongs to (if any), and the text."""

    said: SaidIn
    seq: int
    step: int
    tool: str
    text: str


class _Event(msgspec.Struct):
    seq: int
    step: int
    kind: str
    payload: Any = None


_SPOKEN = frozenset({Kind.MESSAGE, Kind.MODEL_CALL, Kind.TOOL_CALL})
_WANTED = frozenset({Kind.OBSERVATION, Kind.ACTION}) | _SPOKEN
_HEAD = re.compile(rb'\{"seq":\d+,"step":-?\d+,"at":[^,"]+,"kind":"(\w+)"')
_SKIPPED = frozenset(kind.value.encode() for kind in Kind if kind not in _WANTED)

_events = msgspec.json.Decoder(_Event)


def utterances(chunks: Iterable[Chunk], *, spoken: bool = True) -> Iterator[Utterance]:
    """Yield what was said in an episode, in order; without `spoken` only observations and actions.

    Lines that are no events are left out.
    """
    asked = False
    replies: set[str] = set()
    tools: dict[str, str] = {}
    for chunk in chunks:
        for line in chunk.raw.split(b"\n"):
            head = _HEAD.match(line)
            if not line or (head is not None and head[1] in _SKIPPED):
                continue
            try:
                event = _events.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            if event.kind not in _WANTED:
                continue
            if spoken or event.kind not in _SPOKEN:
                yield from _said(event, replies, tools, asked=asked)
            asked = asked or event.kind in {Kind.MODEL_CALL, Kind.ACTION}


def with_content(
    chunks: Iterable[Chunk], blobs: BlobStore, redact: Callable[[bytes], bytes] | None = None
) -> Iterator[Chunk]:
    """Yield chunks with large content in place of the references to it, redacted as the rest.

    References to content that is gone stay. Raises InfrastructureError if it is in an object store that cannot be read.
    """
    for chunk in chunks:
        if b'"$blob"' not in chunk.raw:
            yield chunk
            continue
        lines = [_with_content(line, blobs) if b'"$blob"' in line else line for line in chunk.raw.split(b"\n")]
        raw = b"\n".join(lines)
        yield replace(chunk, raw=raw if redact is None else redact(raw))


def _with_content(line: bytes, blobs: BlobStore) -> bytes:
    try:
        event = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return line
    return msgspec.json.encode(whole(event, blobs))


def _said(event: _Event, replies: set[str], tools: dict[str, str], *, asked: bool) -> Iterator[Utterance]:
    payload, place = event.payload, (event.seq, event.step)
    if not isinstance(payload, Mapping):
        return
    heard = SaidIn.OBSERVATION if asked else SaidIn.QUESTION
    found: list[tuple[SaidIn, str, Any]] = []
    if event.kind == Kind.OBSERVATION:
        found.append((heard, "", payload.get("data")))
    elif event.kind == Kind.ACTION:
        found += [(SaidIn.ACTION, "", payload.get("action")), (SaidIn.REASONING, "", payload.get("reasoning"))]
    elif event.kind == Kind.MODEL_CALL:
        text = payload.get("text")
        if isinstance(text, str):
            replies.add(text)
        found += [(SaidIn.REPLY, "", text), (SaidIn.REASONING, "", payload.get("reasoning"))]
        calls = payload.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            found.append(_call(call, tools))
    elif event.kind == Kind.TOOL_CALL:
        found.append(_call(payload, tools))
    else:
        content = _content(payload.get("content"))
        if payload.get("role") == "tool":
            found.append((SaidIn.RESULT, tools.get(str(payload.get("tool_call_id")), ""), content))
        elif content not in replies:
            found.append((heard, "", content))
    for said, tool, value in found:
        text = flat(value)
        if text or tool:
            yield Utterance(said, *place, tool, text)


def _call(call: Any, tools: dict[str, str]) -> tuple[SaidIn, str, Any]:
    if not isinstance(call, Mapping):
        return SaidIn.CALL, "", None
    function = call.get("function")
    given = function if isinstance(function, Mapping) else call
    name = str(given.get("name") or "")
    tools[str(call.get("id"))] = name
    return SaidIn.CALL, name, given.get("arguments")


def _content(content: Any) -> Any:
    """Return the texts of a message's content, without its images."""
    if not isinstance(content, list):
        return content
    return "\n".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))


def flat(value: Any) -> str:
    """Return a JSON value as text for people: a text as it is, else its names and values, one pair a line."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping):
        if "$blob" in value:
            return ""
        return "\n".join(f"{name}: {flat(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(flat, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_ASCII = bytes(code if chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(128)).lower().ljust(256)
"""The words of ASCII text in small letters, between spaces: five times as fast as a regular expression."""

_ALONE = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u2600-\u27bf\u2b00-\u2bff\u3005-\u30ff"
    "\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
"""Letters that are words of their own: scripts without spaces, Hangul (whose words have endings), and pictures."""


@cache
def _marks() -> str:
    """Return the combining marks as part of a character class: they belong to words, which `\\w` does not know."""
    found = [code for code in range(0x300, 0xFFFF) if unicodedata.category(chr(code)) in {"Mn", "Mc"}]
    return "".join(chr(code) for code in found)


@cache
def _letters() -> str:
    """Return what follows a letter of a longer word, as a lookaround."""
    return rf"(?:(?![{_ALONE}])[\w{_marks()}])"


@cache
def _words() -> re.Pattern[str]:
    return re.compile(rf"[{_ALONE}]|{_letters()}+")


@cache
def _runs() -> re.Pattern[str]:
    """Return the pattern of words of all kinds that stand together: telling them apart costs more."""
    return re.compile(rf"[\w{_marks()}{_ALONE}]+")


@cache
def _alone() -> re.Pattern[str]:
    return re.compile(rf"[{_ALONE}]")


def words_of(text: str) -> list[str]:
    """Return the words of a folded text in order, each cut to LONGEST letters."""
    return [word[:LONGEST] for word in _whole_words(text)]


def _whole_words(text: str) -> list[str]:
    if text.isascii():
        return text.encode("ascii").translate(_ASCII).decode("ascii").split()
    found: list[str] = []
    for run in _runs().findall(text):
        if run.isascii() or not _alone().search(run):
            found.append(run)
        else:
            found += _words().findall(run)
    return found


def is_alone(letter: str) -> bool:
    """Return whether a letter is a word of its own."""
    return not letter.isascii() and _alone().match(letter) is not None


_APOSTROPHES = "['\u2019\u2018\u00b4`\uff07]"
_APOSTROPHE = re.compile(_APOSTROPHES)


def bounded(text: str, *, open_end: bool) -> re.Pattern[str]:
    """Return the pattern of a folded text: whole words, any white space between them, any form of an apostrophe.

    With `open_end` the last word may go on.
    """
    parts = text.split()
    body = _APOSTROPHE.sub(_APOSTROPHES, r"\s+".join(map(re.escape, parts)))
    words = [_words().findall(parts[0]), _words().findall(parts[-1])]
    before = rf"(?<!{_letters()})" if _starts(parts[0], words[0]) else ""
    after = rf"(?!{_letters()})" if _ends(parts[-1], words[1]) else ""
    if open_end:
        after = rf"{_letters()}*"
    return re.compile(before + body + after)


def _starts(part: str, words: list[str]) -> bool:
    return bool(words) and part.startswith(words[0]) and not is_alone(part[0])


def _ends(part: str, words: list[str]) -> bool:
    return bool(words) and part.endswith(words[-1]) and not is_alone(part[-1])


def indexed_words(said: Iterable[Utterance]) -> dict[str, int]:
    """Return the words of an episode, each with the places where it was said as bits of `SaidIn`, and its tools."""
    places: dict[str, int] = {}
    tools: set[str] = set()
    for utterance in said:
        places[utterance.text] = places.get(utterance.text, 0) | utterance.said.value
        if utterance.tool:
            tools.add(tool_key(utterance.tool))
    texts: dict[int, list[str]] = {}
    for text, bits in places.items():
        texts.setdefault(bits, []).append(text)
    found: dict[str, int] = {}
    known = found.get
    for bits, some in texts.items():
        for word in set(_whole_words("\n".join(some).casefold())):
            found[word] = known(word, 0) | bits
    for tool in tools:
        found[tool] = known(tool, 0) | TOOL
    for word in [word for word in found if len(word) > LONGEST]:
        found[word[:LONGEST]] = known(word[:LONGEST], 0) | found.pop(word)
    return found


def tool_key(name: str) -> str:
    """Return the entry of a tool's name in the index."""
    return " ".join(name.casefold().split())[:LONGEST]
