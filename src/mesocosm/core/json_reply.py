"""The one JSON object that a model was asked to reply with, and the score in it.

What can be read in one way only is read: an object in a fence, after thoughts, or with words around it. Of everything
else a ValueError says the problem, with which the model is asked again. No number is ever cut to a scale.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mesocosm.core.thought import split_thought

_FENCE = "```"
_OPENED = re.compile(r"(?:```[a-zA-Z]*)?")
_NUMBER = re.compile(r"\s*([+-]?\d{1,9}(?:\.\d{1,9})?)\s*(?:(?:/|out\s+of)\s*(\d{1,9}(?:\.\d{1,9})?)\s*)?", re.ASCII)


def members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object. Raises ValueError for a duplicate name: which is meant is not known."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return members


def object_in(reply: str, *, needs: Collection[str] = (), material: Iterable[str] = ()) -> dict[str, Any]:
    """Return the one JSON object in a reply. Raises ValueError.

    It may stand in a fence, after thoughts, or in an object with one member. With other words around it, it must be
    the only one, have all the names that it `needs`, and not stand in the `material` that was judged: a quoted object
    is no reply. Numbers in words behind it could contradict it, so there must be none.
    """
    try:
        return _unwrapped(_parsed(reply), needs)
    except ValueError as error:
        problem = error
    text = split_thought(reply)[1]
    if not text:
        raise ValueError("it has thoughts and nothing else" if reply.strip() else "it is empty")
    start, end = text.find("{"), text.rfind("}") + 1
    try:
        found = _unwrapped(_parsed(text[start:end] if start >= 0 else ""), needs)
    except ValueError:
        if start >= 0 and end <= start:
            raise ValueError("it breaks off before its object ends") from None
        raise problem from None
    before, inner, behind = text[:start].strip(), text[start:end], text[end:].strip()
    if _OPENED.fullmatch(before) and behind in ("", _FENCE):
        return found
    if lacking := [name for name in needs if name not in found]:
        raise ValueError(f"the object in it lacks {', '.join(lacking)}")
    if any(letter.isdigit() for letter in behind):
        raise ValueError("the words behind the object name another number")
    whole = "".join(inner.split())
    if any(whole in "".join(text.split()) for text in material):
        raise ValueError("the object in it is quoted from the material")
    return found


def _parsed(text: str) -> dict[str, Any]:
    try:
        said = json.loads(text, object_pairs_hook=members_once)
    except RecursionError:
        raise ValueError("it nests too deep") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(said, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the reply is invalid
    return said


def _unwrapped(said: dict[str, Any], needs: Collection[str]) -> dict[str, Any]:
    """Return the only member of an object if that is the object that was asked for."""
    if len(said) == 1 and needs and not said.keys() & set(needs):
        (inner,) = said.values()
        if isinstance(inner, dict) and all(name in inner for name in needs):
            return inner
    return said


def score_in(value: object, low: float, high: float, name: str = "score") -> float:
    """Return a score on the scale from `low` to `high`: a number, also as text, `"8"`, and of the best, `"8/10"`.

    Raises ValueError for everything else, and for a score off the scale: what the model meant by it is not known.
    """
    if isinstance(value, Mapping):
        value = value.get("score")
    if isinstance(value, str) and (spelled := _NUMBER.fullmatch(value)):
        if spelled[2] is not None and float(spelled[2]) != high:
            raise ValueError(f'"{name}" is {value.strip()}, and the best score is {high:g}')
        value = float(spelled[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise ValueError(f'"{name}" is not a number')
    if not low <= value <= high:
        raise ValueError(f'"{name}" is {value:g}, and the scale goes from {low:g} to {high:g}')
    return float(value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
