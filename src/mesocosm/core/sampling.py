"""Sample random members of a space, for the random model."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from mesocosm.core.json_schema import Schema, referred
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec, SpaceType

_SPARSE = 8
"""Depth from which only required properties are sampled, so that recursive schemas end."""
_DEEPEST = 24
_MOST_WORK = 5_000
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def sample(space: Space, rng: Random) -> Any:
    """Return a random action of `space`, any JSON value.

    Choices and bounded numbers are uniform. A number with one bound is that bound plus or minus a half-normal value;
    one without bounds is standard normal. Text comes from `enum_values`, otherwise from the author's `examples`,
    otherwise it is a short word. Values of a json space follow the known keywords of its schema. Equal
    generators give equal actions.
    """
    if isinstance(space, CompositeSpace):
        return {name: sample(field, rng) for name, field in space.fields.items()}
    if space.type is SpaceType.CONTINUOUS:
        return _continuous(space, rng)
    if space.type is SpaceType.JSON:
        schema = space.json_schema
        if schema is None:
            return rng.choice(space.examples) if space.examples else {}
        return sample_schema(schema, rng)
    choices = space.enum_values or [example for example in space.examples or [] if isinstance(example, str)]
    return rng.choice(choices) if choices else _word(rng)


def _continuous(space: SpaceSpec, rng: Random) -> float:
    whole = (space.dtype or "").lstrip("u").startswith("int")
    return _number(space.low, space.high, rng, whole=whole)


def _number(low: float | None, high: float | None, rng: Random, *, whole: bool) -> float:
    if whole:
        low = None if low is None else math.ceil(low)
        high = None if high is None else math.floor(high)
    if low is not None and high is not None:
        if whole:
            return rng.randint(int(low), int(high)) if low <= high else int(low)
        return rng.uniform(low, high)
    spread = abs(rng.gauss(0.0, 10.0 if whole else 1.0))
    value = low + spread if low is not None else high - spread if high is not None else rng.gauss(0.0, 1.0)
    return math.floor(value) if whole and low is None else math.ceil(value) if whole else value


def _word(rng: Random) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(1, 3)))


def sample_schema(schema: Schema, rng: Random) -> Any:
    """Return a random value of a JSON Schema. `pattern` is ignored; give `examples` or `default` for such text."""
    return _Sampler(schema, rng).value(schema, 0)


@dataclass(slots=True)
class _Sampler:
    root: Schema
    rng: Random
    work: int = 0

    def value(self, schema: object, depth: int) -> Any:
        self.work += 1
        rules = self.merged(referred(schema, self.root), 0)
        options = rules.get("enum")
        if isinstance(options, list) and options:
            return self.rng.choice(options)
        if "const" in rules:
            return rules["const"]
        if depth > _DEEPEST or self.work > _MOST_WORK:
            return None
        declared = rules.get("type")
        kinds = _known(declared if isinstance(declared, list) else [declared])
        return _KINDS[self.rng.choice(kinds) if kinds else _implied(rules)](self, rules, depth)

    def merged(self, rules: Schema, depth: int) -> Schema:
        """Return the rules merged with a random branch of each alternative and all of `allOf`; later keywords win."""
        merged = dict(rules)
        for key in ("anyOf", "oneOf", "allOf"):
            branches = merged.pop(key, None)
            if not isinstance(branches, list) or not branches or depth > _SPARSE or self.work > _MOST_WORK:
                continue
            for branch in branches if key == "allOf" else [self.rng.choice(branches)]:
                self.work += 1
                merged = _joined(merged, self.merged(referred(branch, self.root), depth + 1))
        return merged

    def object(self, rules: Schema, depth: int) -> dict[str, Any]:
        properties = rules.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = rules.get("required")
        wanted = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        names = [name for name in properties if name in wanted or (depth < _SPARSE and self.rng.random() < 0.5)]
        names += [name for name in dict.fromkeys(wanted) if name not in properties]
        return {name: self.value(properties.get(name, {}), depth + 1) for name in names}

    def array(self, rules: Schema, depth: int) -> list[Any]:
        least = max(int(_bound(rules, "minItems") or 0), 0)
        most: float | None = _bound(rules, "maxItems")
        size = (
            self.rng.randint(least, max(int(least + 3 if most is None else most), least)) if depth < _SPARSE else least
        )
        first = rules.get("prefixItems")
        first = first if isinstance(first, list) else []
        items = rules.get("items", {})
        return [self.value(first[i] if i < len(first) else items, depth + 1) for i in range(min(size, 100))]

    def text(self, rules: Schema, _depth: int) -> str:
        for key in ("examples", "default"):
            given = rules.get(key)
            texts = [text for text in (given if isinstance(given, list) else [given]) if isinstance(text, str)]
            if texts:
                return self.rng.choice(texts)
        least, most = int(_bound(rules, "minLength") or 0), _bound(rules, "maxLength")
        text = _word(self.rng)
        while len(text) < min(least, 10_000):
            text += " " + _word(self.rng)
        return text if most is None else text[: max(int(most), 0)]

    def number(self, rules: Schema, *, whole: bool) -> float:
        low, high = _bound(rules, "minimum"), _bound(rules, "maximum")
        above, under = _bound(rules, "exclusiveMinimum"), _bound(rules, "exclusiveMaximum")
        if above is not None:
            low = above + 1 if whole else math.nextafter(above, math.inf)
        if under is not None:
            high = under - 1 if whole else math.nextafter(under, -math.inf)
        return _number(low, high, self.rng, whole=whole)


def _known(kinds: list[object]) -> list[str]:
    return [kind for kind in kinds if isinstance(kind, str) and kind in _KINDS]


def _joined(one: Schema, other: Schema) -> dict[str, Any]:
    joined = {**one, **other}
    if isinstance(one.get("properties"), Mapping) and isinstance(other.get("properties"), Mapping):
        joined["properties"] = {**one["properties"], **other["properties"]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        joined["required"] = [*one["required"], *other["required"]]
    return joined


_HINTS = {
    "object": ("properties", "required"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "string": ("minLength", "maxLength", "pattern"),
}


def _implied(rules: Schema) -> str:
    """Return the type that the keywords imply if none is declared; "object" by default."""
    return next((kind for kind, keys in _HINTS.items() if any(key in rules for key in keys)), "object")


def _bound(rules: Schema, key: str) -> float | None:
    value = rules.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < 1e300:
        return None
    return value


_KINDS: dict[str, Callable[[_Sampler, Schema, int], Any]] = {
    "object": _Sampler.object,
    "array": _Sampler.array,
    "string": _Sampler.text,
    "number": lambda sampler, rules, _depth: sampler.number(rules, whole=False),
    "integer": lambda sampler, rules, _depth: sampler.number(rules, whole=True),
    "boolean": lambda sampler, _rules, _depth: sampler.rng.random() < 0.5,
    "null": lambda _sampler, _rules, _depth: None,
}
