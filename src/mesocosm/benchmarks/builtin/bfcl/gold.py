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
        kind = str((declared.get("properties") or {}).get(name, {}).get("type", "any"))
        found[name] = value if language == "python" else spelled(value, kind, language)
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


def spelled(value: Any, kind: str, language: Language) -> str:
    """Return a value as Java or JavaScript source text; strings are returned unchanged."""
    if isinstance(value, str):
        return value
    if language == "java" and isinstance(value, list):
        return f"new ArrayList<>(Arrays.asList({', '.join(map(json.dumps, value))}))"
    if language == "java" and isinstance(value, Mapping):
        puts = " ".join(f"put({json.dumps(name)}, {json.dumps(item)});" for name, item in value.items())
        return f"new HashMap<>() {{{{ {puts} }}}}"
    return json.dumps(value) + {"long": "L", "float": "f", "Bigint": "n"}.get(kind, "") * _has_suffix(kind, language)


def _has_suffix(kind: str, language: Language) -> bool:
    return kind in (("long", "float") if language == "java" else ("Bigint",))
