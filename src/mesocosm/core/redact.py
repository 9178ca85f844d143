"""Remove secrets before anything is stored: values known from the environment, and text that looks like credentials."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache, cached_property
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Boundary, Cause
from mesocosm.core.ids import DIGEST_HEX
from mesocosm.core.message import Role
from mesocosm.core.secret import is_secret
from mesocosm.core.usage import Usage

MARK = "[redacted]"

SHORTEST = 8
"""Shorter values of environment variables are taken for words. Secrets passed explicitly are hidden at any length."""

_RUN = rb"[A-Za-z0-9_\-]"
_SHAPES = (
    (rb"sk-", _RUN + rb"{20,}"),
    (rb"gh[pousr]_", rb"[A-Za-z0-9]{30,}"),
    (rb"github_pat_", rb"[A-Za-z0-9_]{30,}"),
    (rb"gsk_", rb"[A-Za-z0-9]{20,}"),
    (rb"hf_", rb"[A-Za-z0-9]{30,}"),
    (rb"AKIA", rb"[0-9A-Z]{16}"),
    (rb"AIza", _RUN + rb"{35}"),
    (rb"xox[abprs]-", rb"[A-Za-z0-9\-]{10,}"),
)
"""Prefixes and rests of credentials. A search for a literal prefix is about ten times faster."""

_KEY_BEGINS, _KEY_ENDS = rb"-----BEGIN ", rb"-----END "
_KEY_TITLE = rb"[A-Z ]*PRIVATE KEY-----"
_TOKEN_PART = rb"eyJ" + _RUN + rb"{10,}"
_TOKEN_REST = re.compile(_TOKEN_PART + rb"\." + _RUN + rb"{10,}")
_TOKEN_HEAD = re.compile(rb"(?<!" + _RUN + rb")" + _RUN + rb"++\.(?=" + _TOKEN_REST.pattern + rb")")
"""The first part of a JSON web token, with any characters before it in the same run."""

T = TypeVar("T")

Shape = Mapping[str, Any]
"""The names of our own fields in a JSON object, each with the kind of its value.

A frozenset: our words; a value among them is kept. A mapping: an object of ours. A list with one element: a list of
such objects. BLOB: content, or a reference to stored content. None: content.
"""

BLOB = object()

_BLOB_FIELDS = frozenset({"$blob", "bytes"})
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGEST_HEX}}}")

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')

_CAUSES = frozenset(cause.value for cause in Cause)
_FAILURE: Shape = {
    "cause": _CAUSES,
    "boundary": frozenset(boundary.value for boundary in Boundary),
    **dict.fromkeys(("message", "detail", "stderr")),
}
_CALL: Shape = dict.fromkeys(("id", "name", "arguments"))
_ROLES = frozenset(get_args(Role))
_PART: Shape = {"type": frozenset({"text", "image"}), "data": BLOB, **dict.fromkeys(("text", "media_type", "url"))}

FACTS: Shape = {
    **dict.fromkeys(
        (
            *("answer", "artifacts", "attempt", "blocked", "broken_items", "capabilities", "declared_max_steps"),
            *("duration_s", "error", "explanation", "first", "found", "items", "items_file", "label", "max_steps"),
            *("partial", "patch", "result", "returncode", "revised", "reward", "row", "stderr", "stdout"),
            *("total_tokens", "turns"),
        )
    ),
    "reason": _CAUSES | {"step_limit", "wall_time_limit"},
    "timing": dict.fromkeys(("queued_s", "workflow_s", "grader_s")),
    "grader_failure": _FAILURE,
    "judge_failed": _FAILURE,
}
"""The fields that mesocosm itself adds to `Episode.terminal_info`."""

_PAYLOAD: Shape = {
    **dict.fromkeys(
        (
            *("action", "arguments", "asked", "bytes", "cached", "detail", "id", "index", "latency_s", "message"),
            *("messages", "model", "name", "path", "reasoning", "repaired", "reply", "retries", "reward", "seed"),
            *(
                "stderr",
                "steps",
                "streamed",
                "structured",
                "system_prompt",
                "task",
                "terminated",
                "text",
                "tool_call_id",
            ),
            *("tokens_per_role", "total_reward", "total_tokens", "trial", "truncated", "try", "url", "wait_s"),
        )
    ),
    "boundary": _FAILURE["boundary"],
    "cause": _CAUSES,
    "content_type": frozenset({"application/json", "text/plain", "text/html", "image/png", "image/jpeg"}),
    "data": BLOB,
    "finish_reason": frozenset({"stop", "length", "tool_calls", "content_filter"}),
    "info": FACTS,
    "kind": frozenset({"tokens_per_role"}),
    "request": dict.fromkeys(("input", "max_tokens", "response_format", "seed", "stop", "temperature", "tools"), BLOB),
    "role": _ROLES,
    "status": frozenset(status.value for status in EpisodeStatus),
    "stream": frozenset({"stdout", "stderr"}),
    "terminal_info": FACTS,
    "tool_calls": [_CALL],
    "usage": dict.fromkeys(Usage.__struct_fields__),
}
"""Fields of the payloads that `core.event.Event` lists. Fields of plug-ins are content."""

_MESSAGE: Shape = {**_PAYLOAD, "content": [_PART]}


def secret_values(environment: Mapping[str, str]) -> set[str]:
    """Return the values of variables that look like credentials."""
    return {value for name, value in environment.items() if len(value) >= SHORTEST and is_secret(name, value)}


class Redactor:
    """Replaces secrets in texts, events and values; one object serves a whole run.

    Content is redacted, structure is not: secrets are removed from strings and from keys of foreign objects; numbers,
    our own field names, words of our enumerations and digests of stored content are kept. So records stay readable
    for any secret. `mark` replaces a secret. It is MARK, unless a secret is part of MARK or could arise next to it.
    """

    def __init__(self, secrets: Iterable[str] | None = None) -> None:
        values = secret_values(os.environ) if secrets is None else set(secrets)
        spellings = {spelling for value in values if value for spelling in _spellings(value)}
        self.mark: str = _mark(spellings)
        self._secrets = {_bytes(spelling) for spelling in spellings}
        self._mark = self.mark.encode()

    @cached_property
    def _in_json(self) -> set[bytes]:
        return {msgspec.json.encode(value.decode("utf-8", "replace"))[1:-1] for value in self._secrets}

    def _hides(self, data: bytes) -> bool:
        """Whether JSON may contain a secret, so that its strings must be checked one by one."""
        return any(secret in data for secret in self._in_json) or _shaped(data)

    def events(self, data: bytes) -> bytes:
        """Return lines of events with every secret in their payloads replaced; the same object if there is none."""
        if not self._hides(data):
            return data
        # Replacing raw bytes could split an escape sequence, so lines with a hit are decoded; that is rare.
        return b"\n".join(self._event(line) for line in data.split(b"\n"))

    def text(self, text: str) -> str:
        """Return `text` with every secret replaced."""
        data = _bytes(text)
        clean = self.content(data)
        return text if clean is data else clean.decode("utf-8", "replace")

    def content(self, data: bytes) -> bytes:
        """Return bytes with every secret replaced, whether they are text or not; the same object if there is none."""
        spans = [
            found.span() for secret in self._secrets if secret in data for found in re.finditer(re.escape(secret), data)
        ]
        spans += _credentials(data)
        if not spans:
            return data
        clean: list[bytes] = []
        end = 0
        for start, stop in sorted(spans):
            if start >= end:
                clean += (data[end:start], self._mark)
            end = max(end, stop)
        return b"".join((*clean, data[end:]))

    def value(self, value: T, shape: Shape | object = None) -> T:
        """Return a JSON value or struct with every secret replaced; the same object if there is none.

        `shape` names our own fields of a JSON object; BLOB: the value may be a reference to stored content.
        """
        if not self._hides(msgspec.json.encode(value)):
            return value
        clean: T = self._clean(value, shape)
        return clean

    def _clean(self, value: Any, shape: Any) -> Any:
        try:
            return self._walk(value, shape)
        except RecursionError:
            # Too deep for recursion, but not for storage: replace the strings in the encoded text instead.
            if not isinstance(value, dict):
                return self._strings(value)
            return {name: self._strings(item) for name, item in value.items()}

    def _strings(self, value: Any) -> Any:
        def clean(found: re.Match[bytes]) -> bytes:
            return msgspec.json.encode(self.text(msgspec.json.decode(found[0])))

        return msgspec.json.decode(_STRING.sub(clean, msgspec.json.encode(value)))

    def _event(self, line: bytes) -> bytes:
        if not self._hides(line):
            return line
        event = msgspec.json.decode(line)
        payload = event.get("payload")
        if payload is not None:
            event["payload"] = self._clean(payload, _MESSAGE if event["kind"] == Kind.MESSAGE else _PAYLOAD)
        return msgspec.json.encode(event)

    def _walk(self, value: Any, shape: Any = None) -> Any:
        if isinstance(value, str):
            if isinstance(value, Enum) or (isinstance(shape, frozenset) and value in shape):
                return value
            return self.text(value)
        if isinstance(value, list | tuple):
            inner = shape[0] if isinstance(shape, list) else None
            return type(value)([self._walk(item, inner) for item in value])
        if isinstance(value, dict):
            if shape is BLOB and self._is_reference(value):
                return value
            return self._object(value, shape if isinstance(shape, Mapping) else {})
        if isinstance(value, msgspec.Struct):
            words = _words(type(value))
            return msgspec.structs.replace(
                value,
                **{name: self._walk(getattr(value, name), words.get(name)) for name in value.__struct_fields__},
            )
        return value

    def _object(self, value: dict[Any, Any], shape: Shape) -> dict[Any, Any]:
        clean: dict[Any, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str) or key in shape:
                clean[key] = self._walk(item, shape.get(key))
                continue
            name = self.text(key)
            # Two keys that differ only in a secret must not become one.
            while name != key and (name in clean or name in value):
                name += self.mark
            clean[name] = self._walk(item)
        return clean

    def _is_reference(self, value: dict[Any, Any]) -> bool:
        name = value.get("$blob")
        return (
            value.keys() == _BLOB_FIELDS
            and isinstance(name, str)
            and bool(_DIGEST.fullmatch(name))
            and name.encode() not in self._secrets
        )


@cache
def _words(kind: type[msgspec.Struct]) -> dict[str, frozenset[Any]]:
    """Return the fields of a struct that are literals, with their allowed values."""
    hints = get_type_hints(kind)
    return {name: frozenset(get_args(hint)) for name, hint in hints.items() if get_origin(hint) is Literal}


def _mark(secrets: set[str]) -> str:
    """Return a mark that contains no secret and cannot form one with adjacent text."""
    if not any(_touches(MARK, secret) for secret in secrets):
        return MARK
    used = set("".join(secrets))
    return next(mark for mark in map(chr, range(0x2588, 0xD800)) if mark not in used)


def _touches(mark: str, secret: str) -> bool:
    return (
        secret in mark
        or mark in secret
        or any(secret.startswith(mark[-size:]) or secret.endswith(mark[:size]) for size in range(1, len(mark)))
    )


def _spellings(value: str) -> set[str]:
    """Return a secret as it is and as quoted in text: in JSON within strings and in Python's repr."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _begun(begin: bytes) -> bytes:
    """Return a pattern for a credential at the start of a word; an escape such as `\\n` ends a word.

    A match inside a word could hide a known secret from the search.
    """
    return begin + rb"(?:(?<![A-Za-z0-9]" + begin + rb")|(?<=\\[nrtbf]" + begin + rb"))"


@cache
def _credential(begin: bytes, rest: bytes, *, word: bool) -> re.Pattern[bytes]:
    return re.compile((_begun(begin) if word else begin) + rest)


def _shaped(data: bytes) -> bool:
    """Whether `data` may contain a credential; word boundaries are ignored, because JSON escapes may precede it."""
    if any(_credential(begin, rest, word=False).search(data) for begin, rest in _SHAPES):
        return True
    return b".eyJ" in data or (_KEY_BEGINS in data and _KEY_ENDS in data)


def _credentials(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans of text that looks like a credential, in time linear in the length of `data`."""
    for begin, rest in _SHAPES:
        for found in _credential(begin, rest, word=True).finditer(data):
            yield found.span()
    if b".eyJ" in data:
        yield from _tokens(data)
    if _KEY_BEGINS in data and _KEY_ENDS in data:
        yield from _keys(data)


def _tokens(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans of JSON web tokens."""
    head = _credential(b"eyJ", _RUN + rb"{10}", word=True)
    for run in _TOKEN_HEAD.finditer(data):
        first, rest = head.search(data, run.start(), run.end()), _TOKEN_REST.match(data, run.end())
        if first is not None and rest is not None:
            yield first.start(), rest.end()


def _keys(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans of private keys, each up to the next end marker."""
    ends = (found.end() for found in re.finditer(_KEY_ENDS + _KEY_TITLE, data))
    end: int | None = 0
    for found in _credential(_KEY_BEGINS, _KEY_TITLE, word=True).finditer(data):
        while end is not None and end < found.end():
            end = next(ends, None)
        if end is None:
            return
        yield found.start(), end
