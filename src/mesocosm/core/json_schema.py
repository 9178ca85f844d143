"""The part of JSON Schema that spaces use: types, values, objects, lists, ranges, lengths, patterns, combinations.

Vocabulary after JSON Schema 2020-12 (https://json-schema.org/draft/2020-12/json-schema-validation). Unknown keywords
and malformed ones are ignored, as are references outside the document.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mesocosm.core.foreign import deeper_than

MOST_DEVIATIONS = 20
_MOST_WORK = 20_000
_DEEPEST = 64
_NESTED_REPEAT = re.compile(r"[+*}]\)*[^()|]*\)[+*{]|\([^()]*\|[^()]*\)[+*{]")

Schema = Mapping[str, Any]


@lru_cache(maxsize=256)
def schema_of_text(text: str | None) -> dict[str, Any] | None:
    """Return the JSON Schema in `text`, None if it is not one. The result is cached: do not modify it."""
    if not text:
        return None
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return schema if isinstance(schema, dict) and not deeper_than(schema, _DEEPEST) else None


def referred(schema: object, root: Schema) -> Schema:
    """Return `schema` after following `$ref` within `root`; `{}`, which allows everything, if it is unresolved."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = _pointed(reference, root)
    return {}


def _pointed(reference: str, root: Schema) -> object:
    """Follow a JSON Pointer (RFC 6901) in fragment form; return `{}` for any other reference."""
    if not reference.startswith("#"):
        return {}
    place: object = root
    for part in reference[1:].strip("/").split("/"):
        if part and isinstance(place, Mapping):
            place = place.get(part.replace("~1", "/").replace("~0", "~"), {})
    return place


def violations(schema: Schema, value: Any, *, path: str = "", limit: int = MOST_DEVIATIONS) -> list[str]:
    """Return how `value` violates `schema`: at most `limit` sentences, each starting with the path in the value.

    The sentences name the rule and not the value, so that the same mistake always has the same text. The work is
    bounded: parts of a very large value that were not reached count as valid.
    """
    walk = _Walk(schema, limit)
    walk.visit(schema, value, path, 0)
    return walk.found


@dataclass(slots=True)
class _Walk:
    root: Schema
    limit: int
    found: list[str] = field(default_factory=list)
    work: int = 0

    def say(self, path: str, message: str) -> None:
        if len(self.found) < self.limit:
            self.found.append(f"{path}: {message}" if path else message)

    def visit(self, schema: object, value: Any, path: str, depth: int) -> None:
        self.work += 1
        if schema is False:
            self.say(path, "is not allowed here")
        if len(self.found) >= self.limit or self.work > _MOST_WORK or depth > _DEEPEST:
            return
        rules = referred(schema, self.root)
        if not rules:
            return
        if self._wrong_type(rules, value, path):
            return
        self._values(rules, value, path)
        self._combined(rules, value, path, depth)
        if isinstance(value, Mapping):
            self._object(rules, value, path, depth)
        elif isinstance(value, (list, tuple)):
            self._list(rules, value, path, depth)
        elif isinstance(value, str):
            self._text(rules, value, path)
        elif _is_number(value):
            self._number(rules, value, path)

    def _wrong_type(self, rules: Schema, value: Any, path: str) -> bool:
        declared = rules.get("type")
        names = [declared] if isinstance(declared, str) else declared
        if not isinstance(names, list) or not names or any(_is(value, name) for name in names):
            return False
        self.say(path, f"must be of type {' or '.join(str(name) for name in names)}, not {type_of(value)}")
        return True

    def _values(self, rules: Schema, value: Any, path: str) -> None:
        options = rules.get("enum")
        if isinstance(options, list) and not any(same(value, option) for option in options):
            self.say(path, f"must be one of {listed(options)}")
        if "const" in rules and not same(value, rules["const"]):
            self.say(path, f"must be {listed([rules['const']])}")

    def _combined(self, rules: Schema, value: Any, path: str, depth: int) -> None:
        for part in _list_of(rules, "allOf"):
            self.visit(part, value, path, depth + 1)
        any_of, one_of = _list_of(rules, "anyOf"), _list_of(rules, "oneOf")
        if any_of and not self._matching(any_of, value, depth):
            self.say(path, f"fits none of the {len(any_of)} allowed forms")
        if one_of and (matching := self._matching(one_of, value, depth)) != 1:
            count = "none" if not matching else "more than one"
            self.say(path, f"fits {count} of the {len(one_of)} allowed forms")

    def _matching(self, schemas: list[Any], value: Any, depth: int) -> int:
        count = 0
        for schema in schemas:
            trial = _Walk(self.root, 1, work=self.work)
            trial.visit(schema, value, "", depth + 1)
            self.work = trial.work
            count += not trial.found
        return count

    def _object(self, rules: Schema, value: Mapping[str, Any], path: str, depth: int) -> None:
        properties = rules.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        for name in _list_of(rules, "required"):
            if isinstance(name, str) and name not in value:
                self.say(below(path, name), "is missing")
        for name, schema in properties.items():
            if name in value:
                self.visit(schema, value[name], below(path, name), depth + 1)
        extra = rules.get("additionalProperties")
        if isinstance(extra, bool | Mapping) and extra is not True and "patternProperties" not in rules:
            for name in value:
                if name not in properties:
                    self.visit(extra, value[name], below(path, name), depth + 1)

    def _list(self, rules: Schema, value: "list[Any] | tuple[Any, ...]", path: str, depth: int) -> None:
        low, high = _limit(rules, "minItems"), _limit(rules, "maxItems")
        if low is not None and len(value) < low:
            self.say(path, f"must have at least {spelled(low)} items")
        if high is not None and len(value) > high:
            self.say(path, f"must have at most {spelled(high)} items")
        first = _list_of(rules, "prefixItems")
        for index, item in enumerate(value):
            if self.work > _MOST_WORK or len(self.found) >= self.limit:
                return
            schema = first[index] if index < len(first) else rules.get("items")
            if schema is not None:
                self.visit(schema, item, f"{path}[{index}]", depth + 1)

    def _text(self, rules: Schema, value: str, path: str) -> None:
        low, high = _limit(rules, "minLength"), _limit(rules, "maxLength")
        if low is not None and len(value) < low:
            self.say(path, f"must be at least {spelled(low)} characters long")
        if high is not None and len(value) > high:
            self.say(path, f"must be at most {spelled(high)} characters long")
        pattern = rules.get("pattern")
        if isinstance(pattern, str) and len(value) <= 4096 and _mismatch(pattern, value):
            self.say(path, f"must match the pattern {pattern[:80]}")

    def _number(self, rules: Schema, value: float, path: str) -> None:
        low, high = _limit(rules, "minimum"), _limit(rules, "maximum")
        above, under = _limit(rules, "exclusiveMinimum"), _limit(rules, "exclusiveMaximum")
        if low is not None and not value >= low:
            self.say(path, f"must be at least {spelled(low)}")
        if high is not None and not value <= high:
            self.say(path, f"must be at most {spelled(high)}")
        if above is not None and not value > above:
            self.say(path, f"must be above {spelled(above)}")
        if under is not None and not value < under:
            self.say(path, f"must be below {spelled(under)}")


def hoisted(schema: Schema, definitions: dict[str, Any], owner: str) -> dict[str, Any]:
    """Return `schema` for use inside another one; move its definitions to `definitions`, the `$defs` of the root.

    A name that `definitions` already uses for something else is prefixed with `owner`. References to the schema itself
    and to its definitions are kept; references to other places in it no longer resolve.
    """
    rest = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    own: dict[str, Any] = {}
    for key in ("$defs", "definitions"):
        own |= schema[key] if isinstance(schema.get(key), dict) else {}
    recursive = _refers_to_root([rest, own])
    if recursive:
        own["#"] = rest
    names = {name: owner if name == "#" else name for name in own}
    for name in own:
        if definitions.get(names[name], own[name]) != own[name]:
            names[name] = f"{owner}_{names[name]}"
    definitions |= {names[name]: _renamed(definition, names) for name, definition in own.items()}
    if recursive:
        return {"$ref": f"#/$defs/{names['#']}"}
    return {key: _renamed(value, names) for key, value in rest.items()} if own else rest


def _refers_to_root(schema: object) -> bool:
    if isinstance(schema, list):
        return any(_refers_to_root(item) for item in schema)
    if not isinstance(schema, dict):
        return False
    return schema.get("$ref") == "#" or any(_refers_to_root(item) for item in schema.values())


def _renamed(schema: object, names: Mapping[str, str]) -> object:
    if isinstance(schema, list):
        return [_renamed(item, names) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: _renamed(value, names) for key, value in schema.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith(("#/$defs/", "#/definitions/"))):
        name = reference.removeprefix("#/$defs/").removeprefix("#/definitions/")
        copy["$ref"] = f"#/$defs/{names.get(name, name)}"
    return copy


def below(path: str, name: str) -> str:
    """Return the path of member `name` below `path`, cut to 200 characters."""
    return f"{path}.{name}"[:200] if path else name[:200]


def type_of(value: Any) -> str:
    """Return the JSON Schema name of the type of a value."""
    return next((str(name) for name, test in _TYPES.items() if test(value)), type(value).__name__)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: dict[object, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "number": _is_number,
    "array": lambda value: isinstance(value, (list, tuple)),
    "object": lambda value: isinstance(value, Mapping),
}


def _is(value: Any, name: object) -> bool:
    """Return whether a value has the type `name`; unknown names match every value."""
    return not isinstance(name, str) or name not in _TYPES or _TYPES[name](value)


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal as JSON Schema defines it: 1 equals 1.0, true does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def listed(options: list[Any], most: int = 20) -> str:
    """Return JSON values as a readable list, cut after `most` of them."""
    words = [json.dumps(option, ensure_ascii=False, default=str)[:80] for option in options[:most]]
    return ", ".join(words) + (f" and {len(options) - most} more" if len(options) > most else "")


def spelled(number: float) -> str:
    """Return a number in its usual notation: 35 for 35.0. Very large integers are given by their length in bits."""
    if isinstance(number, int) and number.bit_length() > 128:
        return f"a number of {number.bit_length()} bits"
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(number)


def _list_of(rules: Schema, key: str) -> list[Any]:
    value = rules.get(key)
    return value if isinstance(value, list) else []


def _limit(rules: Schema, key: str) -> float | None:
    value = rules.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _mismatch(pattern: str, value: str) -> bool:
    found = _compiled(pattern)
    return found is not None and found.search(value) is None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return the pattern; None if it is malformed, too long, or may take exponential time (nested repetition)."""
    if len(pattern) > 500 or _NESTED_REPEAT.search(pattern):
        return None
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
