"""Convert the functions of an item to tools: names that every API accepts, and parameters as JSON Schema."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.benchmarks.builtin.bfcl.categories import Language
from mesocosm.core.model import Tool

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_TYPES = {
    "dict": "object",
    "HashMap": "object",
    "tuple": "array",
    "list": "array",
    "ArrayList": "array",
    "Array": "array",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "byte": "integer",
    "short": "integer",
    "long": "integer",
    "char": "string",
    "String": "string",
}
_UNTYPED = ("any", "Any")
_STYLE: Mapping[Language, str] = {
    "python": "",
    "java": " Every value is given as a text that spells it in the syntax of Java 8.",
    "javascript": " Every value is given as a text that spells it in the syntax of JavaScript.",
}


def wire_name(name: str) -> str:
    """Return a function's name in a form that APIs accept: dots and other special characters become underscores."""
    return _FOREIGN.sub("_", name)


def own_names(functions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the functions' own names by every name that a call may use."""
    names = [str(function["name"]) for function in functions]
    return {wire_name(name): name for name in reversed(names)} | {name: name for name in names}


def tool(function: Mapping[str, Any], language: Language) -> Tool:
    """Return a function as a tool. For Java and JavaScript every parameter is a string with source text."""
    parameters = function.get("parameters") or {}
    schema = _schema(parameters) if language == "python" else _texts(parameters)
    described = str(function.get("description") or "") + _STYLE[language]
    return Tool(wire_name(str(function["name"])), described, {**schema, "type": "object"})


def _schema(declared: Any) -> dict[str, Any]:
    if not isinstance(declared, Mapping):
        return {}
    found = {name: value for name, value in declared.items() if name not in ("properties", "items", "optional")}
    kind = declared.get("type")
    if kind in _UNTYPED:
        del found["type"]
    elif isinstance(kind, str):
        found["type"] = _TYPES.get(kind, kind)
    if isinstance(declared.get("properties"), Mapping):
        found["properties"] = {name: _schema(value) for name, value in declared["properties"].items()}
    if "items" in declared or found.get("type") == "array":
        found["items"] = _schema(declared.get("items"))
    return found


def _texts(declared: Mapping[str, Any]) -> dict[str, Any]:
    properties = declared.get("properties") or {}
    return {
        "properties": {name: _text(value) for name, value in properties.items()},
        "required": list(declared.get("required") or ()),
    }


def _text(declared: Mapping[str, Any]) -> dict[str, str]:
    items = declared.get("items")
    inside = f" of {items['type']}" if isinstance(items, Mapping) and "type" in items else ""
    described = str(declared.get("description") or "").strip()
    return {"type": "string", "description": f"{described} (type {declared.get('type', 'any')}{inside})".strip()}
