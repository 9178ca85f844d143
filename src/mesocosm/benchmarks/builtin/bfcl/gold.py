"""The answer that earns the full score: the answer key's first choice of every required value."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.benchmarks.builtin.bfcl.categories import Language
from mesocosm.benchmarks.builtin.bfcl.tools import wire_name
from mesocosm.core.turn import Answer, CalledTool

Function = Mapping[str, Any]
Keys = Sequence[Mapping[str, Mapping[str, Sequence[Any]]]]

REFUSAL = Answer("None of these functions can do that.")


def best_answer(functions: Sequence[Function], keys: Keys, language: Language) -> Answer:
    """Return an answer that makes the calls of the key, without optional parameters."""
    declared = {function["name"]: function.get("parameters") or {} for function in functions}
    return Answer(
        tool_calls=tuple(
            CalledTool(wire_name(name), _arguments(accepted, declared.get(name, {}), language))
            for key in keys
            for name, accepted in key.items()
        )
    )


def any_answer(functions: Sequence[Function]) -> Answer:
    """Return an answer that calls the first function without arguments."""
    return Answer(tool_calls=(CalledTool(wire_name(functions[0]["name"])),))


def _arguments(
    accepted: Mapping[str, Sequence[Any]], declared: Mapping[str, Any], language: Language
) -> dict[str, Any]:
    required = declared.get("required") or ()
    found: dict[str, Any] = {}
    for name, values in accepted.items():
        if "" in values and name not in required:
            continue
        value = _plain(next((value for value in values if value != ""), ""))
        parameter = (declared.get("properties") or {}).get(name, {})
        kind, inside = str(parameter.get("type", "any")), str((parameter.get("items") or {}).get("type", ""))
        found[name] = value if language == "python" else spelled(value, kind, inside, language)
    return found


def _plain(value: Any) -> Any:
    """Return an accepted value in a form that can be passed: inside objects the key again has lists of choices."""
    if isinstance(value, Mapping):
        return {name: _chosen(values) for name, values in value.items() if not _may_lack(values)}
    if isinstance(value, list):
        return [_plain(item) if isinstance(item, Mapping) else item for item in value]
    return value


def _chosen(values: Any) -> Any:
    return values[0] if isinstance(values, list) and values else values


def _may_lack(values: Any) -> bool:
    return isinstance(values, list) and "" in values


def spelled(value: Any, kind: str, inside: str, language: Language) -> str:
    """Return a value of type `kind` as Java or JavaScript source text; strings are returned unchanged."""
    return value if isinstance(value, str) else _literal(value, kind, inside, language)


_JAVA_ELEMENTS = {"integer": "int", "char": "char", "String": "String", "long": "long", "float": "float"}
_SUFFIXES: Mapping[tuple[Language, str], str] = {
    ("java", "long"): "L",
    ("java", "float"): "f",
    ("javascript", "Bigint"): "n",
}


def _literal(value: Any, kind: str, inside: str, language: Language) -> str:
    if language == "java" and isinstance(value, list):
        elements = ", ".join(_literal(one, inside, "", language) for one in value)
        if kind == "Array":
            return f"new {_JAVA_ELEMENTS.get(inside, 'Object')}[]{{{elements}}}"
        return f"new ArrayList<>(Arrays.asList({elements}))" if value else "new ArrayList<>()"
    if language == "java" and isinstance(value, Mapping):
        puts = " ".join(f"put({json.dumps(name)}, {_literal(one, '', '', language)});" for name, one in value.items())
        return f"new HashMap<>() {{{{ {puts} }}}}"
    return json.dumps(value) + _SUFFIXES.get((language, kind), "")
