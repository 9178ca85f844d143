"""Describe spaces in words, for prompts and for people."""

import json
import re

from mesocosm.core.json_schema import spelled
from mesocosm.core.space import Space, SpaceSpec, SpaceType

_PLAIN_WORD = re.compile(r"[\w.+-]+")


def describe(space: Space) -> str:
    """Return a description of a space: choices, bounds, fields (indented lists), JSON Schema, the author's text."""
    return _described(space, "")


def _described(space: Space, indent: str) -> str:
    if isinstance(space, SpaceSpec):
        return _leaf(space)
    lead = "a JSON object with these fields" + (f" ({space.description})" if space.description else "")
    lines = [f"{indent}- {name}: {_described(field, indent + '  ')}" for name, field in space.fields.items()]
    return "\n".join([f"{lead}:", *lines])


def _leaf(space: SpaceSpec) -> str:
    own = space.description.strip()
    if space.type is SpaceType.DISCRETE:
        return _with(f"one of: {_choices(space.enum_values or [])}", own)
    if space.type is SpaceType.CONTINUOUS:
        return _with(_number(space), own)
    if space.type is SpaceType.JSON and (schema := space.json_schema) is not None:
        return f"{own or 'a JSON value'}\nIt must follow this JSON Schema: {json.dumps(schema, ensure_ascii=False)}"
    return own or space.type.value.replace("_", "-")


def _with(text: str, own: str) -> str:
    return f"{text} ({own})" if own else text


def _choices(values: list[str]) -> str:
    """Join choices; quote all of them if any contains more than a plain word."""
    plain = all(_PLAIN_WORD.fullmatch(value) for value in values)
    return ", ".join(values if plain else [json.dumps(value, ensure_ascii=False) for value in values])


def _number(space: SpaceSpec) -> str:
    if space.low is not None and space.high is not None:
        return f"a number from {spelled(space.low)} to {spelled(space.high)}"
    if space.low is not None:
        return f"a number of at least {spelled(space.low)}"
    if space.high is not None:
        return f"a number of at most {spelled(space.high)}"
    return "a number"
