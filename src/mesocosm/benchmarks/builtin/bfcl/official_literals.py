"""Convert source text of Java and JavaScript to values exactly as the leaderboard's published checker does.

Its conversion works by patterns and has quirks, all kept: commas inside strings separate elements, what follows a
closing bracket is ignored, text that is not converted stays text. `literals` is how such text should be read.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

LONGEST = 4_000
"""Longer texts stay text: the leaderboard's patterns need a time that grows with a power of the length."""

JAVA_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
    "boolean": bool,
    "Set": set,
}
SCRIPT_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("integer", "Bigint"), int),
    **dict.fromkeys(("String", "any"), str),
    "float": float,
    "Boolean": bool,
    "array": list,
    "dict": dict,
}

_WHOLE = re.compile(r"^-?\d+$")
_BOOLEAN = re.compile(r"(?:true|false)\Z")
_ANYTHING = re.compile("")
_JAVA_LONG = re.compile(r"^-?\d+[lL]$")
_JAVA_FLOAT = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")
_JAVA_DOUBLE = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_AS_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_ADDING = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_ADDED = re.compile(r"add\((.+?)\)")
_NEW_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_NEW_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_HASH_MAP = re.compile(r"new\s+HashMap<")
_NEW_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)")
_MADE_WITH_BODY = re.compile(r">\s*\(\)\s*\{\s*\{?\s*")


def java(text: str, kind: str, inside: str = "") -> Any:
    """Return the value of Java source text of a type. Raises ValueError or LookupError where the leaderboard fails."""
    if kind in ("Array", "ArrayList", "HashMap"):
        if len(text) > LONGEST:
            return text
        if kind == "HashMap":
            return _hash_map(text)
        return _array_list(text, inside) if kind == "ArrayList" else _array(text, inside)
    pattern, read = _JAVA_SCALARS[kind]
    return read(text) if pattern.match(text) else text


_JAVA_SCALARS: Mapping[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    **dict.fromkeys(("byte", "short", "integer"), (_WHOLE, int)),
    "long": (_JAVA_LONG, lambda text: int(re.sub(r"[lL]$", "", text))),
    "float": (_JAVA_FLOAT, lambda text: float(re.sub(r"[fF]$", "", text))),
    "double": (_JAVA_DOUBLE, float),
    "boolean": (_BOOLEAN, "true".__eq__),
    **dict.fromkeys(("char", "String", "any"), (_ANYTHING, str)),
}


def _array_list(text: str, inside: str) -> Any:
    listed = _AS_LIST.search(text)
    if listed is not None:
        return [_element(part.strip(), inside) for part in listed[1].split(",")]
    added = _ADDING.search(text) if text.rfind("}}") > text.find("{{") >= 0 else None
    if added is not None:
        return [_element(part.strip(), inside) for part in _ADDED.findall(added[1])]
    return [] if _NEW_LIST.search(text) else text


def _element(text: str, inside: str) -> Any:
    if inside in ("char", "String"):
        return text[1:-1]
    return java(text, inside) if inside else _java_guess(text)


def _array(text: str, inside: str) -> Any:
    found = _NEW_ARRAY.search(text)
    if found is None:
        return text
    parts = [part.strip() for part in found[1].split(",") if part.strip()]
    return [java(part, inside) if inside else _java_guess(part) for part in parts]


def _hash_map(text: str) -> Any:
    """Return the entries of `new HashMap<…>() {{ put(…); }}`: those before the first `}` after its opening."""
    new = _HASH_MAP.search(text)
    if new is None:
        return text
    body = _MADE_WITH_BODY.search(text, new.end())
    close = -1 if body is None else text.find("}", body.end())
    if body is not None and close >= 0:
        return {name: _java_guess(value.strip()) for name, value in _puts(text[body.end() : close].rstrip())}
    return {} if _NEW_MAP.search(text) else text


def _puts(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each `put("…", …)`: both on one line, the value up to the first `)`."""
    values: dict[int, tuple[int, int]] = {}
    at = 0
    while (start := text.find('put("', at)) >= 0:
        at = start + 5
        line = _line_end(text, at)
        quote = text.find('",', at, line)
        while quote >= 0:
            if quote not in values:
                value = _after_space(text, quote + 2)
                values[quote] = value, text.find(")", value, _line_end(text, value))
            value, end = values[quote]
            if end >= 0:
                yield text[at:quote], text[value:end]
                at = end + 1
                break
            quote = text.find('",', quote + 1, line)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def _java_guess(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if _JAVA_LONG.match(text):
        return int(text[:-1])
    if _JAVA_FLOAT.match(text):
        return float(re.sub(r"[fF]$", "", text))
    return _number_or_text(text)


def _number_or_text(text: str) -> Any:
    """Return the number that Python reads in a text, such as 1_000, nan or 1e5; or the text."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


_REAL = re.compile(r"^-?\d+(\.\d+)?$")
_BIG = re.compile(r"^-?\d+n$")
_ROWS = re.compile(r"\[\s*(?=\[)|new\s+Array\(\s*(?=\[)")
_INNER = re.compile(r"\[(.*?)\]")
_ARRAY = re.compile(r"\[(.*?)\]|new\s+Array\((.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")


def script(text: str, kind: str, inside: str = "") -> Any:
    """Return the value of JavaScript source text of a type. Raises as `java` does."""
    if kind in ("dict", "array") and len(text) <= LONGEST:
        code = text.strip()
        if kind == "dict":
            return _script_object(code)
        try:
            return _script_array(code, inside)
        except (ValueError, LookupError):
            return code
    pattern, read = _SCRIPT_SCALARS[kind]
    return read(text) if pattern.match(text) else text


_SCRIPT_SCALARS: Mapping[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "integer": (_WHOLE, int),
    "float": (_REAL, float),
    "Bigint": (_BIG, lambda text: int(text[:-1])),
    "Boolean": (_BOOLEAN, "true".__eq__),
    "String": (_ANYTHING, lambda text: text[1:-1] if _is_quoted(text) else text),
    **dict.fromkeys(("any", "dict", "array"), (_ANYTHING, str)),
}


def _is_quoted(text: str) -> bool:
    return any(text.startswith(quote) and text.endswith(quote) for quote in "\"'")


def _script_array(code: str, inside: str) -> Any:
    rows = _rows(code)
    if rows:
        found = [one.strip() for one in _INNER.findall(rows)]
        found[0] = found[0].removeprefix("[")
        return [[_script_guess(part.strip()) for part in row.split(",")] for row in found]
    one = _ARRAY.match(code)
    if one is None:
        return code
    content = (one[1] if one[1] is not None else one[2]).strip()
    parts = [part.strip() for part in content.split(",")] if content else []
    if not inside:
        return [_script_guess(part) for part in parts]
    return [script(part, inside, "String" if part.startswith(("'", '"')) else "") for part in parts]


def _rows(code: str) -> str:
    """Return the list of lists at the start of the code, `[[…], […]]` or `new Array([…], […])`; "" if there is none.

    The leaderboard's pattern lets a row end at any bracket on the line, and takes the first way that fits in the order
    of backtracking. Here each bracket is examined once, from the last to the first.
    """
    start = _ROWS.match(code)
    if start is None:
        return ""
    last = "]" if code[0] == "[" else ")"
    ends: dict[int, int] = {}
    closing = [at for at, character in enumerate(code) if character == "]"]

    def first_end(opened: int) -> int:
        """Return where the whole list ends if a row opens at `opened`; 0 if it does not."""
        line = code.find("\n", opened)
        for at in closing:
            if at > opened and (line < 0 or at < line) and ends.get(at):
                return ends[at]
        return 0

    for at in reversed(closing):
        after = _after_space(code, at + 1)
        if code[after : after + 1] == ",":
            opened = _after_space(code, after + 1)
            if code[opened : opened + 1] == "[":
                ends[at] = first_end(opened)
        if not ends.get(at) and code[after : after + 1] == last:
            ends[at] = after + 1
    end = first_end(start.end())
    return code[:end]


def _script_object(code: str) -> Any:
    found = _OBJECT.match(code)
    if found is None:
        return code
    made: dict[str, Any] = {}
    for name, value in _PAIR.findall(found[1]):
        key, given = name.strip().strip("'\""), value.strip()
        if given.startswith("[") and given.endswith("]"):
            made[key] = script(given, "array")
        elif given.startswith("{") and given.endswith("}"):
            made[key] = script(given, "dict")
        else:
            made[key] = _script_guess(given.strip("'\""))
    return made


def _script_guess(text: str) -> Any:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    return text[1:-1] if _is_quoted(text) else _number_or_text(text)
