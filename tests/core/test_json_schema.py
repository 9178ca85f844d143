"""The subset of JSON Schema."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.core.json_schema import same, schema_of_text, spelled, violations

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=12,
)
KEYWORDS = "type enum const properties required items prefixItems minimum maximum exclusiveMinimum minLength pattern"
KEYWORDS += " additionalProperties anyOf oneOf allOf $ref $defs minItems"
SCHEMA_LIKE = st.recursive(
    JSON | st.sampled_from(["object", "array", "string", "#", "#/$defs/a", "(a+)+$", "["]),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.sampled_from([*KEYWORDS.split(), "a"]), children, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, 3.0, 3.5),
        ({"type": "number"}, 3, True),
        ({"type": "boolean"}, False, 0),
        ({"type": "null"}, None, 0),
        ({"type": ["string", "null"]}, None, 5),
        ({"enum": [1, "a"]}, 1.0, True),
        ({"const": {"a": [1]}}, {"a": [1]}, {"a": [True]}),
        ({"minimum": 2}, 2, 1),
        ({"maximum": 2}, 2, 3),
        ({"exclusiveMinimum": 2}, 2.5, 2),
        ({"exclusiveMaximum": 2}, 1.5, 2),
        ({"minLength": 2}, "ab", "a"),
        ({"maxLength": 2}, "ab", "abc"),
        ({"pattern": "^[a-c]+$"}, "abc", "abd"),
        ({"required": ["a"]}, {"a": None}, {}),
        ({"properties": {"a": {"type": "string"}}}, {"a": "x", "b": 1}, {"a": 1}),
        ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1}, {"b": 1}),
        ({"additionalProperties": {"type": "string"}}, {"b": "x"}, {"b": 1}),
        ({"items": {"type": "string"}}, ["a"], ["a", 1]),
        ({"minItems": 1}, [1], []),
        ({"maxItems": 1}, [1], [1, 2]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["a", 1], ["a", "b"]),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, 4, 2),
        ({"oneOf": [{"minimum": 3}, {"maximum": 5}]}, 7, 4),
        ({"oneOf": [{"type": "string"}]}, "a", 4),
        ({"allOf": [{"minimum": 3}, {"maximum": 5}]}, 4, 6),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, "x", 1),
    ],
)
def test_each_keyword_tells_good_from_bad(schema: dict[str, Any], good: object, bad: object) -> None:
    assert violations(schema, good) == []
    assert len(violations(schema, bad)) == 1


def test_places_lead_into_the_value() -> None:
    schema = {"properties": {"rows": {"items": {"required": ["x"]}}}}
    assert violations(schema, {"rows": [{"x": 1}, {}]}) == ["rows[1].x: is missing"]


def test_a_recursive_schema_follows_the_value_and_ends() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}}}
    assert violations(tree, {"left": {"left": 5}}) == ["left.left: must be of type object, not integer"]
    assert violations({"$ref": "#"}, 1) == []
    assert violations({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1) == []


def test_unknown_and_malformed_keywords_are_ignored() -> None:
    schema = {"type": 5, "minimum": "x", "properties": 3, "required": [1], "pattern": "[", "anyOf": {}, "magic": 1}
    assert violations(schema, {}) == []
    assert violations(schema, "text") == []


def test_references_elsewhere_allow_everything() -> None:
    assert violations({"$ref": "https://example.com/schema"}, 1) == []
    assert violations({"$ref": "#/$defs/nowhere"}, 1) == []


def test_patterns_that_could_take_for_ever_are_not_tried() -> None:
    assert violations({"pattern": "^(a+)+$"}, "a" * 60 + "!") == []
    assert violations({"pattern": "^(a|a)*$"}, "a" * 60 + "!") == []


def test_the_work_on_a_large_value_is_bounded() -> None:
    schema = {"items": {"items": {"items": {"type": "integer"}}}}
    assert violations(schema, [[[1] * 300] * 300] * 300) == []
    assert len(violations(schema, [[["x"] * 300]])) == 20


@settings(deadline=None)
@given(SCHEMA_LIKE, JSON)
def test_no_schema_and_no_value_is_too_strange(schema: object, value: object) -> None:
    assert isinstance(violations(schema if isinstance(schema, dict) else {"allOf": [schema]}, value), list)


@pytest.mark.parametrize("text", [None, "", "[", "5", "[1]", "#/definitions/X", "[" * 100_000])
def test_only_the_text_of_an_object_is_a_schema(text: str | None) -> None:
    assert schema_of_text(text) is None


def test_a_schema_that_nests_absurdly_deep_is_none() -> None:
    assert schema_of_text('{"items":' * 200 + "{}" + "}" * 200) is None
    assert schema_of_text('{"items":' * 20 + "{}" + "}" * 20) is not None


def test_numbers_are_equal_by_value_and_booleans_are_no_numbers() -> None:
    assert same([1, {"a": 2.0}], [1.0, {"a": 2}])
    assert not same(1, True)
    assert not same([1], [1, 2])


def test_numbers_are_spelled_as_people_write_them() -> None:
    assert [spelled(number) for number in (35.0, -1, 0.5, 10**6, 1e300)] == ["35", "-1", "0.5", "1000000", "1e+300"]
    assert "bits" in spelled(10**5000)
