"""Read JSON values in prose, as models write them.

Accepted: text around a value, code fences, trailing commas, single quotes, `True`/`False`/`None`, bare keys, line
breaks inside strings. Rejected: NaN and infinities, nesting deeper than 64. The time is linear in the text's length.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from mesocosm.core.foreign import read_json

DEEPEST = 64
_MOST_DIGITS = 400

_TOKEN = re.compile(
    r"""
      (?P<mark>[{}\[\],:])
    | "(?P<double>(?>[^"\\]++|\\.)*+)"
    | '(?P<single>(?>[^'\\]++|\\.)*+)'
    | (?P<number>[-+]?(?>\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?)
    | (?P<word>[A-Za-z_$][\w$-]*+)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENER = re.compile(r"""\{(?=[ \t\r\n]*+["'}A-Za-z_$])|\[(?=[ \t\r\n]*+[\]{\["'\dtfnTFN+.-])""")
_FILLED = re.compile(r"[^ \t\r\n]")
_ESCAPE = re.compile(r"""\\(?:["'\\/bfnrt]|u[0-9a-fA-F]{4})?""")
_QUOTE_OR_ESCAPE = re.compile(r'\\.|"', re.DOTALL)
_LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_STRICT_LITERALS = frozenset({"true", "false", "null"})
_STRICT_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class JsonSpan:
    """A value at `start`…`end` of a text; `strict` if it is valid JSON as written."""

    value: Any
    start: int
    end: int
    strict: bool


@dataclass(frozen=True, slots=True)
class Scan:
    """The outermost objects and lists of a text in order; `flaw` is why reading ended early, "" if it did not.

    `alone` if the whole text is one value, possibly in a code fence; it may then also be a scalar.
    """

    values: tuple[JsonSpan, ...] = ()
    flaw: str = ""
    alone: bool = False


def scan(text: str) -> Scan:
    """Return all outermost objects and lists in `text`."""
    inner = text.strip()
    if inner.startswith("```"):
        inner = _unfenced(inner)
    if inner.count("[") + inner.count("{") <= DEEPEST:
        try:
            return Scan((JsonSpan(read_json(inner), 0, len(text), strict=True),), alone=True)
        except (ValueError, RecursionError):
            pass
    reader = _Reader(text)
    reader.read()
    values = tuple(reader.found)
    alone = len(values) == 1 and len(inner) == values[0].end - values[0].start
    return Scan(values, reader.flaw, alone)


def whole(text: str) -> JsonSpan | None:
    """Return the value if the whole text is one JSON value, possibly a scalar or in a code fence; otherwise None."""
    found = scan(text)
    return found.values[0] if found.alone else None


def value_at(text: str, start: int) -> JsonSpan | None:
    """Return the object or list that opens at a position, or None if it is none."""
    reader = _Reader(text)
    try:
        reader.value(start)
    except (_Broken, _Ended):
        return None
    return reader.found[0]


def _unfenced(text: str) -> str:
    inner = text[3:].removesuffix("```")
    first, newline, rest = inner.partition("\n")
    return (rest if newline and first.strip().isalnum() else inner).strip()


class _Broken(Exception):
    """The current value is not JSON; the argument is the position to continue from."""


class _Ended(Exception):
    """The text cannot be read further; the argument is the reason, "" if no value was being read."""


@dataclass(slots=True)
class _Frame:
    """An object or list that has been opened.

    `expects` is one of `first`, `item` (after a comma), `colon`, `value` (after a colon), `comma`.
    """

    holds: Any
    key: str | None = None
    expects: str = "first"

    @property
    def awaits_key(self) -> bool:
        return isinstance(self.holds, dict) and self.key is None

    def put(self, value: Any, at: int) -> None:
        """Add a value that begins at `at`. Raise _Broken."""
        if self.expects in ("comma", "colon") or self.awaits_key:
            raise _Broken(at)
        if isinstance(self.holds, dict):
            self.holds[self.key] = value
            self.key = None
        else:
            self.holds.append(value)
        self.expects = "comma"


class _Reader:
    """A parser with an explicit stack, so that broken text takes one pass and deep text no recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[JsonSpan] = []
        self.flaw = ""
        self._stack: list[_Frame] = []
        self._strict = True
        self._unclosed: set[str] = set()

    def read(self) -> None:
        """Find all values."""
        at = 0
        try:
            while (opener := _OPENER.search(self.text, at)) is not None:
                try:
                    at = self.value(opener.start())
                except _Broken as broken:
                    at = max(broken.args[0], opener.end())
        except _Ended as ended:
            self.flaw = ended.args[0]

    def value(self, start: int) -> int:
        """Read the value that opens at `start` and return its end. Raise _Broken, _Ended."""
        self._stack, self._strict = [], True
        at = start
        while True:
            token = self._token(at)
            at = token.end()
            if token.lastgroup != "mark":
                self._scalar(token)
            elif self._mark(token["mark"], token.start()):
                holds = self._stack.pop().holds
                if not self._stack:
                    self.found.append(JsonSpan(holds, start, at, self._strict))
                    return at
                self._stack[-1].put(holds, token.start())

    def _token(self, at: int) -> re.Match[str]:
        filled = _FILLED.search(self.text, at)
        if filled is None:
            raise _Ended("is cut off" if any(frame.holds or frame.key for frame in self._stack) else "")
        at, character = filled.start(), filled[0]
        if character in self._unclosed:
            raise _Broken(at + 1)
        token = _TOKEN.match(self.text, at)
        if token is not None:
            return token
        if character in ("'", '"'):
            # This kind of quote is never closed; matching again at every later one would take a pass each.
            self._unclosed.add(character)
            if character == '"' and self._stack[-1].expects in ("first", "item", "value"):
                raise _Ended("is cut off")
        raise _Broken(at + 1)

    def _mark(self, mark: str, at: int) -> bool:
        """Process a punctuation mark; return whether it closes the innermost frame. Raise _Broken, _Ended."""
        if mark in "{[":
            self._open({} if mark == "{" else [], at)
            return False
        frame = self._stack[-1]
        if mark in "}]":
            if (mark == "}") != isinstance(frame.holds, dict) or frame.expects not in ("first", "item", "comma"):
                raise _Broken(at)
            self._strict = self._strict and frame.expects != "item"
            return True
        before, after = ("comma", "item") if mark == "," else ("colon", "value")
        if frame.expects != before:
            raise _Broken(at)
        frame.expects = after
        return False

    def _open(self, holds: Any, at: int) -> None:
        if self._stack:
            frame = self._stack[-1]
            if frame.expects in ("comma", "colon") or frame.awaits_key:
                raise _Broken(at)
            if len(self._stack) >= DEEPEST:
                raise _Ended(f"is nested deeper than {DEEPEST}")
        self._stack.append(_Frame(holds))

    def _scalar(self, token: re.Match[str]) -> None:
        """Process a string, number or word. Raise _Broken."""
        frame, kind, at = self._stack[-1], token.lastgroup, token.start()
        if frame.awaits_key:
            if frame.expects == "comma" or kind == "number":
                raise _Broken(at)
            frame.key = token["word"] if kind == "word" else self._string(token)
            frame.expects = "colon"
            self._strict = self._strict and kind == "double"
        elif kind == "number":
            frame.put(self._number(token["number"], token.end()), at)
        elif kind == "word":
            if token["word"] not in _LITERALS:
                raise _Broken(at)
            frame.put(_LITERALS[token["word"]], at)
            self._strict = self._strict and token["word"] in _STRICT_LITERALS
        else:
            frame.put(self._string(token), at)

    def _number(self, text: str, end: int) -> int | float:
        if len(text) > _MOST_DIGITS:
            raise _Broken(end)
        self._strict = self._strict and _STRICT_NUMBER.fullmatch(text) is not None
        number = float(text)
        if not math.isfinite(number):
            raise _Broken(end)
        return int(text) if text.lstrip("+-").isdigit() else number

    def _string(self, token: re.Match[str]) -> str:
        raw = token["double"]
        if raw is None:
            self._strict = False
            raw = _QUOTE_OR_ESCAPE.sub(lambda match: '\\"' if match[0] == '"' else match[0], token["single"])
        if "\\" not in raw:
            self._strict = self._strict and "\n" not in raw
            return without_surrogates(raw)
        mended = _ESCAPE.sub(_mended, raw)
        self._strict = self._strict and mended == raw
        return without_surrogates(str(json.loads(f'"{mended}"', strict=False)))


def _mended(escape: re.Match[str]) -> str:
    if escape[0] == "\\'":
        return "'"
    return escape[0] if len(escape[0]) > 1 else "\\\\"


def without_surrogates(text: str) -> str:
    """Return `text` with lone surrogates replaced, because they cannot be encoded in UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
