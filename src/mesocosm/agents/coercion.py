"""Convert JSON values to the form that a space declares, if their meaning is unambiguous."""

import json
from dataclasses import dataclass, field
from typing import Any

from mesocosm.agents.loose_json import whole
from mesocosm.agents.quantity import Quantity
from mesocosm.agents.vocabulary import Vocabulary
from mesocosm.core.json_schema import below, listed, type_of
from mesocosm.core.registry import fold
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec, SpaceType, deviations

_QUANTITY = Quantity()


@dataclass(slots=True)
class Coerced:
    """A value in the declared form; `problems` name ambiguous parts, `changed` means that something was corrected."""

    value: Any
    problems: list[str] = field(default_factory=list)
    changed: bool = False


class Coercion:
    """Converts values to the form of one space. Create it once per space."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._fields: dict[str, Coercion] = {}
        self._folded: dict[str, str] = {}
        self._vocabulary: Vocabulary | None = None
        if isinstance(space, CompositeSpace):
            self._fields = {name: Coercion(part) for name, part in space.fields.items()}
            self._folded = {fold(name): name for name in reversed(space.fields)}
        elif space.type is SpaceType.DISCRETE:
            self._vocabulary = Vocabulary(space.enum_values or [])

    def coerce(self, value: Any, path: str = "") -> Coerced:
        """Return `value` with names and leaves as declared.

        Accepts other spellings of field names and choices, numbers as text, scalars as text, and objects as JSON text.
        Undeclared fields are kept.
        """
        if isinstance(self._space, CompositeSpace):
            return self._composite(value, path)
        return self._leaf(self._space, value, path)

    def names(self, value: Any) -> bool:
        """Return whether `value` is an object with at least one declared field, in any spelling."""
        return isinstance(value, dict) and any(fold(name) in self._folded for name in value)

    def _composite(self, value: Any, path: str) -> Coerced:
        done = Coerced({})
        if isinstance(value, str):
            found = whole(value)
            value, done.changed = (found.value if found else value), True
        if not isinstance(value, dict):
            done.problems.append(_at(path, f"must be an object with {', '.join(self._fields)}, not {type_of(value)}"))
            return done
        given = {self._name(name, value): item for name, item in value.items()}
        done.changed = done.changed or given.keys() != value.keys()
        done.value = given
        for name, part in self._fields.items():
            if name not in given:
                done.problems.append(f"{below(path, name)}: is missing")
                continue
            inner = part.coerce(given[name], below(path, name))
            given[name] = inner.value
            done.problems += inner.problems
            done.changed = done.changed or inner.changed
        return done

    def _name(self, name: str, among: dict[str, Any]) -> str:
        declared = self._folded.get(fold(name), name)
        return name if name in self._fields or declared in among else declared

    def _leaf(self, space: SpaceSpec, value: Any, path: str) -> Coerced:
        if space.type is SpaceType.DISCRETE:
            return self._choice(space, value, path)
        if space.type is SpaceType.CONTINUOUS:
            return _number(space, value, path)
        if space.type is SpaceType.TEXT:
            return _text(value, path)
        if space.type is SpaceType.JSON and isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            found = whole(value) if deviations(space, value) else None
            return Coerced(value) if found is None else Coerced(found.value, changed=True)
        return Coerced(value)

    def _choice(self, space: SpaceSpec, value: Any, path: str) -> Coerced:
        spelled = (
            value if isinstance(value, str) else json.dumps(value) if isinstance(value, bool | int | float) else ""
        )
        known = self._vocabulary.exact(spelled) if self._vocabulary else None
        if known is None:
            return Coerced(value, [_at(path, f"must be one of {listed(list(space.enum_values or []))}")])
        return Coerced(known, changed=known != value)


def scalar_text(value: Any) -> str:
    """Return a scalar in the spelling of a declared choice: `5` for 5.0, `true` for True; "" for other values."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return json.dumps(value) if isinstance(value, bool | int | float) else ""


def _number(space: SpaceSpec, value: Any, path: str) -> Coerced:
    number = _QUANTITY.exact(value) if isinstance(value, str) else value
    done = Coerced(value if number is None else number, changed=isinstance(value, str))
    done.problems = deviations(space, done.value, path=path)
    return done


def _text(value: Any, path: str) -> Coerced:
    if isinstance(value, str):
        return Coerced(value)
    if value is None:
        return Coerced(value, [_at(path, "must be text, not null")])
    return Coerced(json.dumps(value, ensure_ascii=False), changed=True)


def _at(path: str, message: str) -> str:
    return f"{path}: {message}" if path else message
