"""Parse values that a model writes as Java or JavaScript source text.

A scalar that is not a literal of its type stays a string, and is then wrong unless the answer key has that string, such
as the name of a variable. Collections are parsed from the usual constructors, with elements separated by commas.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Literals:
    """The types of a language: the Python type of each, which types have typed elements, and the parser."""

    types: Mapping[str, type]
    nested: frozenset[str]
    _read: Callable[[str, str, str], Any]

    def read(self, text: str, kind: str, inside: str) -> Any:
        """Parse a text of type `kind` (elements of type `inside`)."""
        return self._read(text.strip(), kind, inside)

    def readings(self, text: str, kind: str, inside: str) -> list[Any]:
        """Return the value of a text, and the text as it stands, with its quotes and without.

        The text itself is right where the answer key holds source text, such as the name of a variable.
        """
        return [self.read(text, kind, inside), text.strip(), plain(text.strip())]


_WHOLE = re.compile(r"-?\d{1,400}")
_REAL = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?")


def _java_scalar(text: str, kind: str) -> Any:
    if kind in ("byte", "short", "integer") and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "long" and text[-1:] in ("l", "L") and _WHOLE.fullmatch(text[:-1]):
        return int(text[:-1])
    if kind == "float" and text[-1:] in ("f", "F") and _REAL.fullmatch(text[:-1]):
        return float(text[:-1])
    if kind == "double" and _REAL.fullmatch(text):
        return float(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


_LIST_TYPE = r"(?:\w+\.)*\w*(?:List|Set|Stack|Queue|Deque|Vector|Collection)"
_JAVA_LIST = re.compile(
    rf"(?:new\s+(?:[\w.]+(?:<[\w<>?,\s.]*>)?\s*(?:\[\s*\]\s*)+|{_LIST_TYPE}\s*(?:<[^>]*>\s*)?(?=\())"
    r"|(?:\w+\.)*(?:asList|of|newArrayList)\s*(?=\())?[({](.*)[)}]",
    re.DOTALL,
)
_JAVA_WRAPPED = re.compile(rf"new\s+{_LIST_TYPE}\s*(?:<[^>]*>\s*)?\((.+)\)", re.DOTALL)
_EMPTY_MAP = re.compile(
    r"new\s+(?:\w+\.)*\w*(?:Map|table)\s*(?:<.*>\s*)?\(\s*\)(?:\s*\{\s*(?:\{\s*\}\s*)?\})?", re.DOTALL
)


def _java(text: str, kind: str, inside: str) -> Any:
    if kind in ("HashMap", "Hashtable", "dict"):
        return _java_map(text)
    if kind in ("Array", "ArrayList", "array", "Queue", "Stack", "Set"):
        added = _statements(text, "add", 1)
        if added is not None:
            return [_java_element(part, inside) for (part,) in added]
        wrapped = _JAVA_WRAPPED.fullmatch(text)
        found = _JAVA_LIST.fullmatch(wrapped[1].strip() if wrapped else text)
        if found is None:
            return text
        return [_java_element(part, inside) for part in _split(found[1], ",")]
    return _java_scalar(text, kind)


def _java_element(text: str, inside: str) -> Any:
    quoted = _unquoted(text)
    if quoted is not None:
        return quoted
    return _guessed(text) if inside in ("", "any") else _java_scalar(text, inside)


def _java_map(text: str) -> Any:
    if _EMPTY_MAP.fullmatch(text):
        return {}
    entries = _statements(text, "put", 2)
    return text if entries is None else {str(_guessed(name)): _guessed(value) for name, value in entries}


_INITIALIZER = re.compile(r"\{\s*\{")


def _statements(text: str, method: str, count: int) -> list[Sequence[str]] | None:
    """Return the arguments of each call of `method` in an initializer `{{ … }}`; None if there is none."""
    start = _INITIALIZER.search(text)
    if start is None:
        return None
    found: list[Sequence[str]] = []
    for part in _split(text[start.end() :].rstrip("} \t\r\n"), ";"):
        name, _, rest = part.partition("(")
        arguments = _split(rest.removesuffix(")"), ",")
        if name.strip() != method or len(arguments) != count:
            return None
        found.append(arguments)
    return found


_SCRIPT_LIST = re.compile(r"\[(.*)\]|(?:new\s+Array|Array\.of)\s*\((.*)\)", re.DOTALL)


def _script(text: str, kind: str, inside: str) -> Any:
    if kind == "integer" and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "Bigint" and text.endswith("n") and _WHOLE.fullmatch(text[:-1]):
        return int(text[:-1])
    if kind == "float" and _REAL.fullmatch(text):
        return float(text)
    if kind == "Boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "array" and (listed := _SCRIPT_LIST.fullmatch(text)) is not None:
        return [_script_element(part, inside) for part in _split(listed[1] or listed[2] or "", ",")]
    if kind == "dict" and text.startswith("{") and text.endswith("}"):
        return _guessed(text)
    return text


def _script_element(text: str, inside: str) -> Any:
    quoted = _unquoted(text)
    if quoted is not None:
        return quoted
    return _script(text, inside, "") if inside not in ("", "any", "String") else _guessed(text)


def _guessed(text: str, depth: int = 0) -> Any:
    """Return the value of a literal of undeclared type; other text stays a string."""
    quoted = _unquoted(text)
    if quoted is not None:
        return quoted
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text):
        return float(text)
    if depth < 32 and text.startswith("[") and text.endswith("]"):
        return [_guessed(part, depth + 1) for part in _split(text[1:-1], ",")]
    if depth < 32 and text.startswith("{") and text.endswith("}"):
        return _guessed_object(text, depth)
    return text


_WORDS = {"true": True, "false": False, "null": None}


def _guessed_object(text: str, depth: int) -> Any:
    found: dict[str, Any] = {}
    for part in _split(text[1:-1], ","):
        name, colon, value = part.partition(":")
        if not colon:
            return text
        plain = _unquoted(name.strip())
        found[name.strip() if plain is None else plain] = _guessed(value.strip(), depth + 1)
    return found


def _unquoted(text: str) -> str | None:
    if (
        len(text) >= 2
        and text[0] == text[-1]
        and text[0] in "\"'`"
        and text[0] not in text[1:-1].replace("\\" + text[0], "")
    ):
        return text[1:-1]
    return None


def _split(text: str, mark: str) -> Sequence[str]:
    """Return the parts between marks outside of quotes and brackets; empty parts are left out."""
    parts, start, depth, quote = [], 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[at - 1] != "\\" else quote
        elif character in "\"'`":
            quote = character
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
        elif character == mark and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


_CALL = re.compile(r"(?P<name>[A-Za-z_$][\w.$]{0,200})\s*\((?P<arguments>.*)\)", re.DOTALL)
_ARGUMENT = re.compile(r"(?P<name>[A-Za-z_$][\w$]{0,200})\s*=(?![=>])\s*(?P<value>.+)", re.DOTALL)
_LONGEST = 50_000


def source_calls(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return name and arguments of each call `f(a=…, b=…)` of a text that consists of such calls; otherwise [].

    Brackets around the list may be left out. The arguments stay source text, strings without their quotes.
    """
    inner = text.strip().strip("`").strip()
    if "(" not in inner or len(inner) > _LONGEST:
        return []
    inner = inner.removeprefix("[").removesuffix("]") if inner.startswith("[") else inner
    found: list[tuple[str, dict[str, str]]] = []
    for part in _split(inner.rstrip("; \n"), ","):
        call = _CALL.fullmatch(part)
        arguments = [_ARGUMENT.fullmatch(one) for one in _split(call["arguments"], ",")] if call else [None]
        if call is None or not all(arguments):
            return []
        given = {one["name"]: one["value"].strip() for one in arguments if one is not None}
        found.append((call["name"], {name: plain(value) for name, value in given.items()}))
    return found


def plain(text: str) -> str:
    """Return the text without its quotes if it is a string literal, and otherwise as it is."""
    unquoted = _unquoted(text)
    return text if unquoted is None else unquoted


LANGUAGES: Mapping[str, Literals] = {
    "java": Literals(
        {
            **dict.fromkeys(("byte", "short", "integer", "long"), int),
            **dict.fromkeys(("float", "double"), float),
            **dict.fromkeys(("char", "String", "any"), str),
            **dict.fromkeys(("Array", "ArrayList", "array", "Queue", "Stack", "Set"), list),
            **dict.fromkeys(("HashMap", "Hashtable", "dict"), dict),
            "boolean": bool,
        },
        frozenset(("Array", "ArrayList", "array")),
        _java,
    ),
    "javascript": Literals(
        {
            **dict.fromkeys(("integer", "Bigint"), int),
            **dict.fromkeys(("String", "any"), str),
            "float": float,
            "Boolean": bool,
            "array": list,
            "dict": dict,
        },
        frozenset(("array",)),
        _script,
    ),
}
