"""The answer that earns the full score: the answer key's first choice of every value."""

from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.benchmarks.builtin.bfcl.tools import wire_name
from mesocosm.core.turn import Answer, Called

REFUSAL = Answer("None of these functions can do that.")


def best_answer(keys: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]]) -> Answer:
    """Return an answer that makes the calls of the key; parameters that may be left out are."""
    return Answer(tool_calls=tuple(Called(wire_name(name), _first(accepted)) for key in keys for name, accepted in key.items()))


def _first(accepted: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {name: _plain(values[0]) for name, values in accepted.items() if "" not in values}


def _plain(value: Any) -> Any:
    """Return an accepted value as one that can be given: inside objects the key has lists of choices again."""
    if isinstance(value, Mapping):
        return {name: values[0] if isinstance(values, list) and values else values for name, values in value.items() if "" not in _listed(values)}
    if isinstance(value, list):
        return [_plain(item) if isinstance(item, Mapping) else item for item in value]
    return value


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list) else ()
