"""Compare the calls of an answer with the answer key, by the rules of the leaderboard's published checker.

A call is right if it names the expected function, has every required parameter, has no parameter that the function or
the key does not know, gives each value the declared type (integers pass as floats in Python) and one of the accepted
values, and omits only parameters that the key allows to be omitted. Several calls may come in any order, but their
number must match the key.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.agents.call_text import TextCall
from mesocosm.benchmarks.builtin.bfcl.categories import Language
from mesocosm.benchmarks.builtin.bfcl.literals import LANGUAGES
from mesocosm.benchmarks.builtin.bfcl.values import TYPES, Fit, fit, is_accepted

Function = Mapping[str, Any]
Key = Mapping[str, Mapping[str, Sequence[Any]]]
"""One call of the answer key: the function's name, and the accepted values of each parameter."""

_NESTED = ("array", "tuple")
_MOST_NAMED, _MOST_SHOWN = 2, 80


_KINDS = (
    (re.compile(r"^(\d+|no) calls? where (\d+) (?:is|are) right(?:, without|$)"), None),
    (re.compile(r"where no function fits$"), "Calls something where no function fits"),
    (re.compile(r"^calls none of the functions$"), "Calls none of the functions"),
    (re.compile(r"(?:^|as it should be: )calls \S+, not "), "Calls another function"),
    (re.compile(r"lacks (?:its required )?parameter"), "Leaves out a parameter"),
    (re.compile(r"has a parameter \S+ that is not expected"), "Adds a parameter"),
    (re.compile(r"which is not of type"), "Gives a value of the wrong type"),
    (re.compile(r"which is not accepted"), "Gives a wrong value"),
)


def kind_of_fault(wrong: str) -> str:
    """Return the kind of a fault, the same for like ones; empty for one that has no kind of its own."""
    for pattern, kind in _KINDS:
        found = pattern.search(wrong)
        if found is None:
            continue
        if kind is not None:
            return kind
        given, right = 0 if found[1] == "no" else int(found[1]), int(found[2])
        return "Makes no call" if not given else "Too many calls" if given > right else "Too few calls"
    return ""


def fault(functions: Sequence[Function], calls: Sequence[TextCall], keys: Sequence[Key], language: Language) -> str:
    """Return what is wrong with the calls; empty if nothing is."""
    if len(calls) != len(keys):
        made = f"{len(calls) or 'no'} {'call' if len(calls) == 1 else 'calls'}"
        absent = dict.fromkeys(name for key in keys for name in key if all(call.name != name for call in calls))
        without = f", without {' and '.join(absent)}" if calls and absent else ""
        return f"{made} where {len(keys)} {'is' if len(keys) == 1 else 'are'} right{without}"
    left = list(calls)
    for key in keys:
        faults = [_call_fault(functions, call, key, language) for call in left]
        if "" not in faults:
            return faults[0] if len(faults) == 1 else f"no call is {next(iter(key))} as it should be: {faults[0]}"
        del left[faults.index("")]
    return ""


def _call_fault(functions: Sequence[Function], call: TextCall, key: Key, language: Language) -> str:
    (name, accepted), *_ = key.items()
    if call.name != name:
        return f"calls {call.name}, not {name}"
    if not isinstance(call.arguments, Mapping):
        return f"the arguments of {name} are not an object"
    function = next((function for function in functions if function["name"] == name), None)
    parameters = (function or {}).get("parameters") or {}
    declared = parameters.get("properties") or {}
    for required in parameters.get("required") or ():
        if required not in call.arguments:
            return f"{name} lacks its required parameter {required}"
    for parameter, value in call.arguments.items():
        if parameter not in declared or parameter not in accepted:
            return f"{name} has a parameter {parameter} that is not expected"
        found = _value_fault(value, declared[parameter], accepted[parameter], language)
        if found:
            return f"parameter {parameter} of {name} {found}"
    missing = next((one for one in accepted if one not in call.arguments and "" not in accepted[one]), None)
    return "" if missing is None else f"{name} lacks parameter {missing}"


def _value_fault(value: Any, declared: Mapping[str, Any], accepted: Sequence[Any], language: Language) -> str:
    given, kind = value, str(declared.get("type", "any"))
    items = declared.get("items")
    inside = str(items.get("type", "any")) if isinstance(items, Mapping) else ""
    if language == "python":
        expected = TYPES.get(kind, str)
        inner = TYPES.get(inside, str) if inside and kind in _NESTED else None
        if kind == "tuple" and isinstance(value, tuple):
            value = list(value)
        if kind == "float" and type(value) is int:
            value = _as_float(value)
        readings = [value]
    else:
        if not isinstance(value, str):
            return f"is not text that spells a value of type {kind}"
        literals = LANGUAGES[language]
        expected = literals.types.get(kind, str)
        typed = inside not in ("", "any") and kind in literals.nested
        inner = literals.types.get(inside, str) if typed else None
        readings = literals.readings(value, kind, inside)
    fits = [(one, fit(one, accepted, expected, inner)) for one in readings]
    if all(how is Fit.NOT for _, how in fits):
        return f"is {_shown(given)}, which is not of type {kind}{f' of {inside}' if inner else ''}"
    right = any(
        one in accepted if how is Fit.AS_KEY else is_accepted(one, accepted, expected, inner)
        for one, how in fits
        if how is not Fit.NOT
    )
    return "" if right else f"is {_shown(given)}, which is not accepted; {_right(accepted)}"


def _right(accepted: Sequence[Any]) -> str:
    """Return in words which values are accepted; an empty one stands for a parameter that may be left out."""
    named = [_shown(one) for one in accepted if one != ""]
    if not named:
        return "it is to be left out"
    more = f" or {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"right is {' or '.join(named[:_MOST_NAMED])}{more}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def _as_float(value: int) -> Any:
    try:
        return float(value)
    except OverflowError:
        return value
