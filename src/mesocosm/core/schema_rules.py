"""Find mistakes in a JSON Schema: rules that no value can satisfy, and keywords without effect."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from mesocosm.core.failure import Problem
from mesocosm.core.foreign import deeper_than
from mesocosm.core.json_schema import listed, same, spelled, type_of, violations
from mesocosm.core.reading import join

TYPES = ("null", "boolean", "string", "integer", "number", "array", "object")
_DEEPEST = 64
_PAIRS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)


def schema_problems(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Yield problems of parts of `schema` that no value can satisfy or that have no effect.

    Contradictions between parts are not found. Yield nothing for a schema nested deeper than 64 levels.
    """
    if deeper_than(schema, _DEEPEST):
        return
    yield from _part(schema, schema, path)


def _part(schema: object, root: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if schema is False:
        yield Problem(path, "allows no value at all", "write the form of the values that are allowed")
    if not isinstance(schema, Mapping):
        return
    yield from _types(schema, path)
    yield from _bounds(schema, path)
    yield from _values(schema, path)
    yield from _members(schema, path)
    yield from _words(schema, root, path)
    for place, part in _parts(schema, path):
        yield from _part(part, root, place)


def _types(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [] if declared is None else [declared]
    unknown = [name for name in names if name not in TYPES]
    if unknown or (isinstance(declared, list) and not declared):
        message = f"{listed(unknown) or '[]'} is no type of JSON Schema"
        yield Problem(join(path, "type"), message, f"choose one of {', '.join(TYPES)}")


def _bounds(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for low, high in _PAIRS:
        least, most = schema.get(low), schema.get(high)
        if _number(least) and _number(most) and least > most:
            message = f"no value fits: {low} ({spelled(least)}) is above {high} ({spelled(most)})"
            yield Problem(path, message, "swap or widen the two")
    lows = [value for key in ("minimum", "exclusiveMinimum") if _number(value := schema.get(key))]
    highs = [value for key in ("maximum", "exclusiveMaximum") if _number(value := schema.get(key))]
    open_ended = _number(schema.get("exclusiveMinimum")) or _number(schema.get("exclusiveMaximum"))
    if open_ended and lows and highs and max(lows) >= min(highs):
        yield Problem(path, "no number fits between its exclusive bounds", "widen them")


def _values(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    options = schema.get("enum")
    if isinstance(options, list):
        if not options:
            yield Problem(join(path, "enum"), "no value fits an empty list", "list the values that are allowed")
        rest = {key: value for key, value in schema.items() if key in ("type", "const")}
        if options and all(violations(rest, option) for option in options):
            yield Problem(join(path, "enum"), "none of its values has the declared type", "correct one of the two")
    if "const" in schema and schema.get("type") in TYPES and violations({"type": schema["type"]}, schema["const"]):
        message = f"is of type {type_of(schema['const'])}, not {schema['type']}"
        yield Problem(join(path, "const"), message, "correct one of the two")


def _members(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    properties, required = schema.get("properties"), schema.get("required")
    if properties is not None and not isinstance(properties, Mapping):
        message = f"must be an object from names to schemas, not {type_of(properties)}"
        yield Problem(join(path, "properties"), message, "write it as an object")
        return
    if required is not None and not (isinstance(required, list) and all(isinstance(name, str) for name in required)):
        yield Problem(join(path, "required"), "must be a list of names, so it means nothing", "write it as a list")
        return
    if schema.get("additionalProperties") is not False or "patternProperties" in schema:
        return
    for name in required or ():
        if not any(same(name, known) for known in properties or ()):
            message = f"no object fits: {name!r} is required, but neither among `properties` nor allowed beside them"
            yield Problem(join(path, "required"), message, "add it to `properties`, or leave it out")


def _words(schema: Mapping[str, Any], root: Mapping[str, Any], path: str) -> Iterator[Problem]:
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            yield Problem(join(path, "pattern"), f"is no regular expression: {error}", "correct it")
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#") and not _leads_somewhere(reference, root):
        message = f"{reference!r} leads to nothing in this schema, so anything is allowed"
        yield Problem(join(path, "$ref"), message, "define it under `$defs`")


def _leads_somewhere(reference: str, root: Mapping[str, Any]) -> bool:
    place: object = root
    for part in reference[1:].strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if not part:
            continue
        if isinstance(place, Mapping) and name in place:
            place = place[name]
        elif isinstance(place, list) and name.isdigit() and int(name) < len(place):
            place = place[int(name)]
        else:
            return False
    return True


def _parts(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, object]]:
    for key in ("properties", "$defs", "definitions"):
        members = schema.get(key)
        for name, part in members.items() if isinstance(members, Mapping) else ():
            # An optional property may be forbidden.
            if part is not False or name in (schema.get("required") or ()):
                yield join(join(path, key), name), part
    for key in ("allOf", "anyOf", "oneOf", "prefixItems"):
        parts = schema.get(key)
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            yield join(join(path, key), index), part
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield join(path, key), schema[key]


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
