"""Check whether the value of a parameter is one that the answer key accepts.

The rules are those of the leaderboard's published checker (gorilla, ast_checker). `accepted` is the key's list of
values; an empty string in it marks an optional parameter.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

_IGNORED = re.compile(r"[ ,./\-_*^]")
TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
"""Python types of declared parameter types; an unknown type counts as a string."""


class Fit(Enum):
    """How a value fits its declared type: not, as declared, or by the type in the answer key (a variable's name)."""

    NOT = 0
    DECLARED = 1
    AS_KEY = 2


def normal(value: Any) -> Any:
    """Return a value normalized for comparison: in strings, case, spaces, kind of quotes and `,./-_*^` are ignored."""
    if isinstance(value, str):
        return _IGNORED.sub("", value).lower().replace("'", '"')
    return value


def fit(value: Any, accepted: Sequence[Any], expected: type, inner: type | None) -> Fit:
    """Return how `value` fits the declared type `expected` with elements of type `inner`.

    Elements must have the type `inner` or that of the key's own elements. If the key lists a value that is not a list,
    elements are not checked.
    """
    keyed = _type_of(accepted)
    if type(value) is not expected:
        return Fit.AS_KEY if type(value) is keyed else Fit.NOT
    if inner is not None and not any(_elements_fit(value, item, inner) for item in accepted):
        return Fit.NOT
    return Fit.DECLARED if keyed in (None, expected) else Fit.AS_KEY


def _elements_fit(value: Any, item: Any, inner: type) -> bool:
    if type(item) is not list:
        return True
    return all(fit(element, item, inner, None) is not Fit.NOT for element in value)


def _type_of(accepted: Sequence[Any]) -> type | None:
    return next((type(item) for item in accepted if item != ""), None)


def is_accepted(value: Any, accepted: Sequence[Any], expected: type, inner: type | None) -> bool:
    """Return whether a value of the declared type is one of the accepted ones."""
    if expected is dict:
        return isinstance(value, dict) and any(isinstance(item, dict) and _same_dict(value, item) for item in accepted)
    if expected is list and inner is dict:
        return isinstance(value, list) and any(isinstance(item, list) and _same_dicts(value, item) for item in accepted)
    if expected is str:
        return normal(value) in [normal(item) for item in accepted if isinstance(item, str)]
    if expected is list:
        return _normal_list(value) in [_normal_list(item) for item in accepted]
    return value in accepted


def _normal_list(value: Any) -> Any:
    return [normal(item) for item in value] if isinstance(value, list | str) else value


def _same_dict(value: Mapping[str, Any], key: Mapping[str, Any]) -> bool:
    """Return whether the key accepts each entry and no required entry is missing."""
    if any(name not in key or normal(item) not in _accepted(key[name]) for name, item in value.items()):
        return False
    return all(name in value or "" in _accepted(items) for name, items in key.items())


def _accepted(items: Any) -> list[Any]:
    """Return the accepted values of an entry; a key may hold one value in place of a list."""
    return [normal(item) for item in items] if isinstance(items, list) else [normal(items)]


def _same_dicts(value: Sequence[Any], key: Sequence[Any]) -> bool:
    return len(value) == len(key) and all(
        isinstance(item, dict) and isinstance(other, dict) and _same_dict(item, other)
        for item, other in zip(value, key, strict=True)
    )
