"""Random members of spaces."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.core.sampling import sample
from mesocosm.core.space import Space, deviations, parse_space

SPACES: list[dict[str, Any]] = [
    {"type": "discrete", "enum_values": ["left", "right"]},
    {"type": "continuous", "bounds": {"low": -2, "high": 3}},
    {"type": "continuous", "bounds": {"low": 5}},
    {"type": "continuous", "bounds": {"high": -5}},
    {"type": "continuous"},
    {"type": "text"},
    {"type": "json"},
    {"type": "image", "dtype": "uint8"},
    {"type": "composite"},
    {"fields": {"a": {"type": "discrete", "enum_values": ["x"]}, "b": {"fields": {"c": {"type": "continuous"}}}}},
]
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1, "maximum": 3}}, "required": ["a"]},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
    {"type": "string", "minLength": 12, "maxLength": 14},
    {"type": "string", "pattern": "^[A-Z]{2}$", "examples": ["AB", "CD"]},
    {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    {"type": ["null", "integer"]},
    {"enum": [1, None, "a"]},
    {"const": {"a": 1}},
    {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 7}]},
    {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "null"}}}]},
    {
        "allOf": [
            {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
            {"properties": {"b": {"const": 2}}, "required": ["b"]},
        ]
    },
    {"type": "object", "properties": {"child": {"$ref": "#"}}},
    {"$defs": {"move": {"enum": ["up", "down"]}}, "type": "array", "items": {"$ref": "#/$defs/move"}, "minItems": 1},
    {"prefixItems": [{"const": 1}, {"const": 2}], "minItems": 2, "maxItems": 2},
    {"minimum": 3},
]


def space(raw: object) -> Space:
    problems: list[Any] = []
    found = parse_space(raw, "", problems)
    assert found is not None, problems
    return found


@pytest.mark.parametrize("raw", SPACES)
@settings(deadline=None)
@given(seed=st.integers())
def test_a_sample_of_a_space_conforms_to_it(raw: dict[str, Any], seed: int) -> None:
    value = sample(space(raw), random.Random(seed))
    assert deviations(space(raw), value) == []


@pytest.mark.parametrize("schema", SCHEMAS)
@settings(deadline=None)
@given(seed=st.integers())
def test_a_sample_of_a_schema_conforms_to_it(schema: dict[str, Any], seed: int) -> None:
    found = space({"type": "json", "schema": schema})
    assert deviations(found, sample(found, random.Random(seed))) == []


def test_every_choice_comes_up() -> None:
    found = space({"type": "discrete", "enum_values": ["a", "b", "c"]})
    rng = random.Random(7)
    assert {sample(found, rng) for _ in range(100)} == {"a", "b", "c"}


def test_bounded_numbers_spread_over_the_whole_range() -> None:
    found = space({"type": "continuous", "bounds": {"low": 0, "high": 1}})
    rng = random.Random(7)
    values = [sample(found, rng) for _ in range(1000)]
    assert min(values) < 0.01
    assert max(values) > 0.99
    assert abs(sum(values) / 1000 - 0.5) < 0.05


def test_an_integer_dtype_gives_whole_numbers() -> None:
    found = space({"type": "continuous", "dtype": "int32", "bounds": {"low": 0.5, "high": 3.5}})
    rng = random.Random(7)
    assert {sample(found, rng) for _ in range(50)} == {1, 2, 3}
    half_open = space({"type": "continuous", "dtype": "uint8", "bounds": {"low": 0.5}})
    assert all(type(value) is int and value >= 1 for value in (sample(half_open, rng) for _ in range(50)))


def test_text_comes_from_the_values_or_examples_that_the_author_gives() -> None:
    rng = random.Random(7)
    named = space({"type": "text", "enum_values": ["hit", "stand"]})
    assert sample(named, rng) in {"hit", "stand"}
    shown = space({"type": "text", "examples": ["e4", 5, "d4"]})
    assert {sample(shown, rng) for _ in range(40)} == {"e4", "d4"}
    assert sample(space({"type": "text"}), rng).isalpha()


def test_equal_generators_give_equal_actions() -> None:
    found = space({"type": "json", "schema": SCHEMAS[0]})
    assert [sample(found, random.Random(3)) for _ in range(5)] == [sample(found, random.Random(3))] * 5


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"type": "array", "minItems": 100, "items": {"$ref": "#"}},
        {"type": "object", "required": ["a", "b"], "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}},
        {"anyOf": 3, "type": [4], "required": [[]], "properties": [], "items": 5},
        {"type": "string", "minLength": 10**12},
        {"type": "integer", "minimum": 10**400},
    ],
)
def test_hostile_schemas_end(schema: dict[str, Any]) -> None:
    sample(space({"type": "json", "schema": schema}), random.Random(0))
