"""Spaces: the form of an environment's observations and actions.

A space is a leaf (`SpaceSpec`) or a `CompositeSpace` of named spaces. When JSON is read, an object with spaces as
`fields` is a composite, regardless of its `type`; otherwise `fields` is documentation.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from mesocosm.core.failure import Problem
from mesocosm.core.json_schema import (
    MOST_DEVIATIONS,
    below,
    hoisted,
    listed,
    schema_of_text,
    spelled,
    type_of,
    violations,
)
from mesocosm.core.reading import format_value, join, not_an_object, read_fields, unknown_keys

DEEPEST = 64
"""Maximum nesting of composites; more is a mistake or an attack."""


class SpaceType(StrEnum):
    """Kinds of leaf spaces."""

    DISCRETE = "discrete"
    CONTINUOUS = "continuous"
    TEXT = "text"
    JSON = "json"
    IMAGE = "image"
    MULTI_MODAL = "multi_modal"
    COMPOSITE = "composite"


class SpaceSpec(BaseModel):
    """A leaf. `type` decides which fields apply: `enum_values` for discrete, `bounds` for continuous, and so on.

    A JSON Schema given as an object under the key `schema` is stored in `schema_ref` as JSON text. Infinite bounds are
    dropped.
    """

    type: SpaceType = Field(description=f"one of {', '.join(SpaceType)}")
    dtype: str | None = Field(default=None, description="the name of a data type, such as uint8")
    shape: list[int] | None = Field(default=None, description="a list of integers, such as [64, 64, 3]")
    bounds: dict[str, float] | None = Field(default=None, description='an object such as {"low": 0, "high": 1}')
    enum_values: list[str] | None = Field(default=None, description='a list of strings, such as ["left", "right"]')
    schema_ref: str | None = Field(
        default=None, description="a JSON Schema as JSON text; as an object it goes under `schema`"
    )
    description: str = Field(default="", description="a text for the agent")
    examples: list[Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _adopt_schema(cls, raw: Any) -> Any:
        if not isinstance(raw, Mapping) or raw.get("type") != SpaceType.JSON or "schema" not in raw:
            return raw
        if schema_of_text(_text(raw.get("schema_ref"))) is not None or not _absent_or_text(raw.get("schema_ref")):
            return raw
        given = raw["schema"]
        text = _dumped(given) if isinstance(given, Mapping) else _text(given)
        return {**raw, "schema_ref": text} if schema_of_text(text) is not None else raw

    @field_validator("examples", mode="before")
    @classmethod
    def _only_lists(cls, given: Any) -> Any:
        return given if isinstance(given, list) else None

    @field_validator("bounds", mode="after")
    @classmethod
    def _finite(cls, bounds: dict[str, float] | None) -> dict[str, float] | None:
        return None if bounds is None else {key: value for key, value in bounds.items() if math.isfinite(value)}

    @property
    def low(self) -> float | None:
        """The lower bound, or None."""
        return (self.bounds or {}).get("low")

    @property
    def high(self) -> float | None:
        """The upper bound, or None."""
        return (self.bounds or {}).get("high")

    @property
    def json_schema(self) -> dict[str, Any] | None:
        """The parsed `schema_ref`; None if it is missing or cannot be parsed."""
        return schema_of_text(self.schema_ref)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _absent_or_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _dumped(schema: Any) -> str | None:
    try:
        return json.dumps(schema)
    except (TypeError, ValueError, RecursionError):
        return None


def _resolved(raw: Any) -> Any:
    if isinstance(raw, SpaceSpec | CompositeSpace):
        return raw
    reading = _read(raw, "", 0)
    if reading.space is None:
        raise ValueError("; ".join(str(problem) for problem in reading.problems if problem.severity == "error"))
    return reading.space


class CompositeSpace(BaseModel):
    """An object of named spaces."""

    fields: dict[str, "SpaceField"]
    description: str = ""

    @field_validator("description", mode="before")
    @classmethod
    def _only_text(cls, given: Any) -> Any:
        return given if isinstance(given, str) else ""


Space = SpaceSpec | CompositeSpace
SpaceField = Annotated[SpaceSpec | CompositeSpace, BeforeValidator(_resolved)]
"""A space as a field of a pydantic model: JSON objects become a leaf or a composite."""

CompositeSpace.model_rebuild()


@dataclass(frozen=True, slots=True)
class _Reading:
    """A space with its problems; `space` is None if the JSON is neither a leaf nor a composite."""

    space: Space | None
    problems: tuple[Problem, ...] = ()


def parse_space(raw: object, path: str, problems: list[Problem]) -> Space | None:
    """Read a space from JSON and add every problem to `problems`, with paths below `path`.

    Return None if types are wrong. A space that only breaks a rule (such as an empty enumeration) is returned, with an
    error among the problems.
    """
    reading = _read(raw, path, 0)
    problems.extend(reading.problems)
    return reading.space


def _read(raw: object, path: str, depth: int) -> _Reading:
    if isinstance(raw, SpaceSpec | CompositeSpace):
        raw = raw.model_dump(mode="json", exclude_none=True)
    if not isinstance(raw, Mapping):
        return _Reading(None, (not_an_object(raw, path, "the space"),))
    if depth > DEEPEST:
        return _Reading(None, (Problem(path, f"nests deeper than {DEEPEST} composites", "flatten the space"),))
    fields, typed = raw.get("fields"), raw.get("type") is not None
    if not all(isinstance(key, str) for key in (*raw, *(fields if isinstance(fields, Mapping) else ()))):
        return _Reading(None, (Problem(path, "has keys that are no strings", "JSON knows only strings as keys"),))
    if not isinstance(fields, Mapping) or (typed and not fields):
        return _read_leaf(raw, path)
    composite = _read_composite(raw, fields, path, depth)
    if composite.space is not None or not typed:
        return composite
    leaf = _read_leaf(raw, path)
    if leaf.space is None:
        return _Reading(None, (*leaf.problems, *composite.problems))
    return _Reading(leaf.space, (*leaf.problems, *_documentation(fields, composite, path)))


def _documentation(fields: Mapping[str, Any], composite: _Reading, path: str) -> Iterator[Problem]:
    """Warn if `fields` looks like spaces but is read as documentation; give the first reason."""
    if any(isinstance(value, Mapping) and ("type" in value or "fields" in value) for value in fields.values()):
        reason = next(problem for problem in composite.problems if problem.severity == "error")
        message = f"is read as documentation, because not all of it are spaces: {reason}"
        yield Problem(join(path, "fields"), message, reason.fix, "warning")


def _read_composite(raw: Mapping[str, Any], fields: Mapping[str, Any], path: str, depth: int) -> _Reading:
    parts = {name: _read(value, join(join(path, "fields"), name), depth + 1) for name, value in fields.items()}
    problems = [problem for part in parts.values() for problem in part.problems]
    if not fields:
        problems.append(Problem(join(path, "fields"), "is empty", "name at least one space, or give a `type` instead"))
    known = (*CompositeSpace.model_fields, "type")
    problems += unknown_keys(raw, known, path, harmless=_HARMLESS | set(SpaceSpec.model_fields))
    spaces = {name: part.space for name, part in parts.items() if part.space is not None}
    if len(spaces) < len(parts):
        return _Reading(None, tuple(problems))
    return _Reading(CompositeSpace(fields=spaces, description=raw.get("description", "")), tuple(problems))


_HARMLESS = frozenset(
    "schema fields name title label example text comment notes note format required default unit".split()  # noqa: SIM905
)
_RENAMED = {
    **dict.fromkeys(("enum", "values", "options", "choices", "allowed_values", "actions"), "enum_values"),
    **dict.fromkeys(("min", "minimum", "low"), "bounds.low"),
    **dict.fromkeys(("max", "maximum", "high"), "bounds.high"),
    **dict.fromkeys(("properties", "json_schema"), "schema"),
}


def _read_leaf(raw: Mapping[str, Any], path: str) -> _Reading:
    reading = read_fields(SpaceSpec, raw, path, {"type": "json"})
    faulty = [fault.path for fault in reading.problems]
    broken = [
        rule for rule in _rules(reading.partial, path) if not any(place.startswith(rule.path) for place in faulty)
    ]
    problems = [*reading.problems, *broken, *_warnings(raw, reading.partial, path)]
    return _Reading(reading.value, tuple(problems))


def _rules(leaf: SpaceSpec, path: str) -> Iterator[Problem]:
    if leaf.type is SpaceType.DISCRETE:
        yield from _enumeration(leaf, join(path, "enum_values"))
    elif leaf.type is SpaceType.CONTINUOUS:
        if leaf.low is not None and leaf.high is not None and not leaf.low < leaf.high:
            message = f"low ({spelled(leaf.low)}) must be less than high ({spelled(leaf.high)})"
            yield Problem(join(path, "bounds"), message, "swap or widen the bounds")
    elif leaf.type is SpaceType.IMAGE and not leaf.dtype and not leaf.description.strip():
        yield Problem(path, "an image space needs `dtype` or a `description`", 'add for example "dtype": "uint8"')
    elif leaf.type is SpaceType.MULTI_MODAL and not leaf.description.strip():
        yield Problem(path, "a multi_modal space needs a `description`", "say what it is made of")


def _enumeration(leaf: SpaceSpec, path: str) -> Iterator[Problem]:
    values = leaf.enum_values or []
    if not values:
        yield Problem(path, "a discrete space needs at least one value", 'list the choices: ["left", "right"]')
    seen: set[str] = set()
    repeated = [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]
    if repeated:
        yield Problem(path, f"has duplicates: {listed(sorted(set(repeated)))}", "name each value once")


def _warnings(raw: Mapping[str, Any], leaf: SpaceSpec, path: str) -> Iterator[Problem]:
    yield from unknown_keys(raw, SpaceSpec.model_fields, path, harmless=_HARMLESS, renamed=_RENAMED)
    bounds = raw.get("bounds")
    for key in bounds if isinstance(bounds, Mapping) else ():
        if key not in ("low", "high"):
            meant = str(_RENAMED.get(key, "low` or `high")).removeprefix("bounds.")
            yield Problem(join(join(path, "bounds"), key), "is not a bound", f"did you mean `{meant}`?", "warning")
        elif isinstance(bounds, Mapping) and isinstance(bounds[key], float) and not math.isfinite(bounds[key]):
            yield Problem(join(join(path, "bounds"), key), "is no finite number: no bound", "leave it out", "warning")
    if leaf.type is not SpaceType.JSON:
        return
    if leaf.schema_ref and leaf.json_schema is None:
        message = f"is no JSON Schema in JSON text, so any object is allowed: {format_value(leaf.schema_ref)}"
        yield Problem(join(path, "schema_ref"), message, "write the schema as an object under `schema`", "warning")
    elif raw.get("schema") is not None and not leaf.schema_ref and "schema_ref" not in raw:
        message = f"is no JSON Schema, so any object is allowed: {format_value(raw['schema'])}"
        yield Problem(join(path, "schema"), message, "write the schema as an object", "warning")


def narrowed(space: Any, legal: Sequence[str]) -> Any:
    """Return the part of an action space that is `legal` now: the space itself if nothing is said, or it is no leaf."""
    if not legal or not isinstance(space, SpaceSpec):
        return space
    return SpaceSpec.model_construct(type=SpaceType.DISCRETE, enum_values=list(legal), description=space.description)


def json_schema(space: Space) -> dict[str, Any]:
    """Return the JSON Schema of the values of a space."""
    if isinstance(space, CompositeSpace):
        shared: dict[str, Any] = {}
        properties = {name: hoisted(json_schema(field), shared, name) for name, field in space.fields.items()}
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        return schema | ({"$defs": shared} if shared else {})
    if space.type is SpaceType.DISCRETE:
        return {"type": "string", "enum": list(space.enum_values or [])}
    if space.type is SpaceType.CONTINUOUS:
        limits = {"minimum": space.low, "maximum": space.high}
        return {"type": "number"} | {key: value for key, value in limits.items() if value is not None}
    if space.type is SpaceType.JSON:
        return dict(space.json_schema or {"type": "object"})
    return {"type": "string"}


def action_schema(space: Space) -> dict[str, Any]:
    """Return the JSON Schema of a whole reply: `reasoning` first, so that the model can reason before it acts."""
    shared: dict[str, Any] = {}
    action = hoisted(json_schema(space), shared, "action")
    properties = {"reasoning": {"type": "string"}, "action": action}
    schema = {"type": "object", "properties": properties, "required": ["action"]}
    return schema | ({"$defs": shared} if shared else {})


def deviations(space: Space, value: Any, *, path: str = "", limit: int = MOST_DEVIATIONS) -> list[str]:
    """Return how `value` differs from `space`, in at most `limit` sentences; empty if it conforms.

    Sentences name the path and the rule, not the value, so that the same mistake has the same text in every step.
    """
    if isinstance(space, CompositeSpace):
        return _composite_deviations(space, value, path, limit)
    if space.type is SpaceType.DISCRETE:
        known = isinstance(value, str) and value in (space.enum_values or ())
        return [] if known else violations(json_schema(space), value, path=path, limit=limit)
    if space.type is SpaceType.CONTINUOUS:
        return violations(_with_shape(json_schema(space), space.shape, value), value, path=path, limit=limit)
    if space.type is SpaceType.JSON:
        schema = space.json_schema
        return violations({"type": ["object", "array"]} if schema is None else schema, value, path=path, limit=limit)
    if isinstance(value, str) or space.type not in (SpaceType.TEXT, SpaceType.IMAGE):
        return []
    expected = "string" if space.type is SpaceType.TEXT else ["string", "object"]
    return violations({"type": expected}, value, path=path, limit=limit)


def _composite_deviations(space: CompositeSpace, value: Any, path: str, limit: int) -> list[str]:
    lead = f"{path}: " if path else ""
    if not isinstance(value, Mapping):
        return [f"{lead}must be an object with {', '.join(space.fields)}, not {type_of(value)}"]
    found: list[str] = []
    for name, field in space.fields.items():
        if name not in value:
            found.append(f"{below(path, name)}: is missing")
        else:
            found += deviations(field, value[name], path=below(path, name), limit=limit - len(found))
        if len(found) >= limit:
            return found[:limit]
    extra = [str(name)[:40] for name in value if name not in space.fields]
    if extra:
        found.append(f"{lead}has fields that the space does not name: {', '.join(extra[:5])}")
    return found[:limit]


def _with_shape(schema: dict[str, Any], shape: list[int] | None, value: Any) -> dict[str, Any]:
    """Wrap a scalar's schema in lists if a shape is declared and `value` is a list; scalars are also valid."""
    if isinstance(value, (list, tuple)):
        for size in reversed((shape or [])[:8]):
            schema = {"type": "array", "items": schema, "minItems": size, "maxItems": size}
    return schema
