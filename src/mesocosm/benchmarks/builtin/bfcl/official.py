"""The verdict of the leaderboard on an answer, quirks included.

Calls of the API are judged as those of a model with native calls: their functions have underscores instead of dots.
Text is judged as that of a prompted model: a list of calls in the language of the category, brackets optional, in
backticks or not. Where the leaderboard's checker itself fails, the answer is wrong. docs/bfcl-rules.md lists the rules.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mesocosm.agents.call_text import TextCall
from mesocosm.agents.tool_text import TEXT_CALL
from mesocosm.benchmarks.builtin.bfcl import official_literals
from mesocosm.benchmarks.builtin.bfcl.categories import Category, Language
from mesocosm.benchmarks.builtin.bfcl.literals import LANGUAGES
from mesocosm.benchmarks.builtin.bfcl.official_syntax import NoCalls, decoded
from mesocosm.benchmarks.builtin.bfcl.tools import wire_name
from mesocosm.benchmarks.builtin.bfcl.values import TYPES, Fit, fit, normal
from mesocosm.core.turn import Answer

Function = Mapping[str, Any]
Key = Mapping[str, Mapping[str, Sequence[Any]]]
Call = tuple[str, Mapping[Any, Any]]


Readings = Callable[[str, str, str], Sequence[Any]]
"""The values that source text of a type, with elements of a type, may stand for."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The types of a language, which of them have typed elements, and the conversion of source text, if any."""

    types: Mapping[str, type]
    nested: tuple[str, ...]
    readings: Readings | None = None


_LISTS = ("Array", "ArrayList", "array")
_RULES: Mapping[Language, _Rules] = {
    "python": _Rules(TYPES, ("array", "tuple")),
    "java": _Rules(official_literals.JAVA_TYPES, _LISTS, lambda *text: [official_literals.java(*text)]),
    "javascript": _Rules(official_literals.SCRIPT_TYPES, _LISTS, lambda *text: [official_literals.script(*text)]),
}


def is_right(category: Category, functions: Sequence[Function], keys: Sequence[Key], answer: Answer) -> bool | None:
    """Return whether the leaderboard counts the answer as right.

    None for text where calls in Java or JavaScript are right: the leaderboard reads it with parsers of these languages
    that recover from errors in their own way.
    """
    spelled = answer.text and all(call.id.startswith(TEXT_CALL) for call in answer.tool_calls)
    native = bool(answer.tool_calls) and not spelled
    if not native and category.expects == "calls" and category.language != "python":
        return None if "(" in answer.text else False
    try:
        calls = _native(answer) if native else decoded(answer.text)
    except NoCalls:
        return category.expects == "none"
    if category.expects != "calls":
        return bool(calls) == (category.expects == "any")
    return _are_right(category, functions, keys, calls, _RULES[category.language], native)


def is_right_in_content(
    category: Category, functions: Sequence[Function], keys: Sequence[Key], calls: Sequence[TextCall]
) -> bool:
    """Return whether the leaderboard would count these calls as right if it read their form, whatever it is."""
    if category.expects != "calls":
        return bool(calls) == (category.expects == "any")
    rules = _RULES[category.language]
    if category.language != "python":
        rules = replace(rules, readings=LANGUAGES[category.language].readings)
    given = [(call.name, call.arguments) for call in calls if isinstance(call.arguments, dict)]
    return len(given) == len(calls) and _are_right(category, functions, keys, given, rules, native=False)


def _native(answer: Answer) -> list[Call]:
    """Return the calls of the API. Raises NoCalls for one whose arguments are not JSON."""
    calls: list[Call] = []
    for call in answer.tool_calls:
        try:
            arguments = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
        except (ValueError, RecursionError) as error:
            raise NoCalls from error
        if not isinstance(arguments, dict):
            raise NoCalls
        calls.append((call.name, arguments))
    return calls


def _are_right(
    category: Category,
    functions: Sequence[Function],
    keys: Sequence[Key],
    calls: Sequence[Call],
    rules: _Rules,
    native: bool,
) -> bool:
    if len(calls) != len(keys):
        return False
    several = "parallel" in category.name or "multiple" in category.name
    left = list(calls)
    try:
        for key in keys:
            function = _named(functions, next(iter(key))) if several else functions[0]
            at = next(at for at, call in enumerate(left) if _is_right(function, call, key, rules, native))
            del left[at]
    except (StopIteration, LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        return False
    return True


def _named(functions: Sequence[Function], name: str) -> Function:
    return next(one for one in functions if one["name"] == name)


def _is_right(function: Function, call: Call, key: Key, rules: _Rules, native: bool) -> bool:
    name, arguments = call
    accepted = next(iter(key.values()))
    declared, required = function["parameters"]["properties"], function["parameters"]["required"]
    if name != (wire_name(function["name"]) if native else function["name"]):
        return False
    if any(one not in arguments for one in required):
        return False
    for parameter, value in arguments.items():
        if parameter not in declared or parameter not in accepted:
            return False
        if not _is_accepted(value, declared[parameter], accepted[parameter], rules):
            return False
    return all(one in arguments or "" in values for one, values in accepted.items())


def _is_accepted(value: Any, declared: Mapping[str, Any], accepted: Sequence[Any], rules: _Rules) -> bool:
    kind = declared["type"]
    expected = rules.types[kind]
    inside = declared["items"]["type"] if kind in rules.nested else ""
    inner = rules.types[inside] if kind in rules.nested else None
    if rules.readings is not None:
        if type(value) is not str:
            return False
        return any(_matches(one, accepted, expected, inner) for one in rules.readings(value, kind, inside))
    if kind == "tuple" and type(value) is tuple:
        value = list(value)
    return _matches(float(value) if kind == "float" and type(value) is int else value, accepted, expected, inner)


def _matches(value: Any, accepted: Sequence[Any], expected: type, inner: type | None) -> bool:
    fits = fit(value, accepted, expected, inner)
    if fits is not Fit.DECLARED:
        return fits is Fit.AS_KEY and value in accepted
    if expected is dict:
        return any(_same_dict(value, one) for one in accepted if one != "")
    if expected is list and inner is dict:
        return any(
            len(value) == len(one) and all(_same_dict(given, right) for given, right in zip(value, one, strict=True))
            for one in accepted
        )
    if expected is str:
        return normal(value) in [normal(one) for one in accepted if type(one) is str]
    if expected is list:
        return [normal(one) for one in value] in [[normal(one[at]) for at in range(len(one))] for one in accepted]
    return value in accepted


def _same_dict(value: Any, key: Any) -> bool:
    """Return whether the key accepts each entry and no required one is missing; the "" that allows none never does."""
    if key == "":
        return False
    for name, given in value.items():
        if name not in key or normal(given) not in [normal(key[name][at]) for at in range(len(key[name]))]:
            return False
    return all(name in value or "" in items for name, items in key.items())
