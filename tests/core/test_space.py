"""Spaces: reading, rules, JSON Schema, deviations."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from mesocosm.core.description import describe
from mesocosm.core.failure import Problem
from mesocosm.core.space import (
    DEEPEST,
    CompositeSpace,
    Space,
    SpaceField,
    SpaceSpec,
    SpaceType,
    action_schema,
    deviations,
    json_schema,
    parse_space,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=12,
)
SPACE_KEYS = st.sampled_from(["type", "fields", "bounds", "enum_values", "schema_ref", "schema", "shape", "examples"])
SPACE_LIKE = st.recursive(
    JSON | st.sampled_from([*SpaceType]),
    lambda children: st.dictionaries(SPACE_KEYS | st.text(max_size=4), children, max_size=4),
    max_leaves=10,
)


def read(raw: object) -> tuple[Space | None, list[Problem]]:
    problems: list[Problem] = []
    return parse_space(raw, "s", problems), problems


def space(raw: object) -> Space:
    found, problems = read(raw)
    assert found is not None, problems
    return found


def leaf(raw: object) -> SpaceSpec:
    found = space(raw)
    assert isinstance(found, SpaceSpec)
    return found


def errors(raw: object) -> dict[str, str]:
    return {problem.path: problem.message for problem in read(raw)[1] if problem.severity == "error"}


def warnings(raw: object) -> dict[str, Problem]:
    return {problem.path: problem for problem in read(raw)[1] if problem.severity == "warning"}


def test_fields_of_spaces_make_a_composite_whatever_the_type_says() -> None:
    for word in ("json", "composite", "object"):
        found = space({"type": word, "description": "move", "fields": {"x": {"type": "text"}}})
        assert isinstance(found, CompositeSpace)
        assert found.description == "move"


def test_fields_used_as_documentation_leave_a_leaf() -> None:
    raw = {"type": "json", "fields": {"board": "nine letters", "turn": 3}}
    found, problems = read(raw)
    assert isinstance(found, SpaceSpec)
    assert problems == []


def test_fields_that_are_spaces_only_in_part_leave_a_leaf_and_say_why() -> None:
    raw = {"type": "composite", "fields": {"a": {"type": "text"}, "b": {"type": "txet"}}}
    assert isinstance(space(raw), SpaceSpec)
    warning = warnings(raw)["s.fields"]
    assert "s.fields.b.type" in warning.message
    assert "'text'" in warning.fix


def test_fields_without_a_type_must_all_be_spaces() -> None:
    assert errors({"fields": {"a": {"type": "text"}, "b": "words"}}) == {
        "s.fields.b": 'must be an object, not the string "words"'
    }


def test_an_untyped_composite_needs_a_field() -> None:
    assert list(errors({"fields": {}})) == ["s.fields"]


def test_a_typed_leaf_may_have_no_fields() -> None:
    assert leaf({"type": "composite", "fields": {}}).type is SpaceType.COMPOSITE
    assert leaf({"type": "composite"}).type is SpaceType.COMPOSITE


def test_composites_nest_and_paths_lead_to_the_fault() -> None:
    raw = {"fields": {"radio": {"fields": {"channel": {"type": "discrete", "enum_values": []}}}}}
    assert list(errors(raw)) == ["s.fields.radio.fields.channel.enum_values"]


def test_neither_shape_fits_and_both_faults_are_named() -> None:
    assert list(errors({"type": "object", "fields": {"a": {"type": "txt"}}})) == ["s.type", "s.fields.a.type"]


def test_keys_of_python_objects_must_be_strings() -> None:
    assert list(errors({"fields": {1: {"type": "text"}}})) == ["s"]
    assert list(errors({"type": "text", None: 1})) == ["s"]


def test_a_space_that_is_built_already_is_checked_again() -> None:
    assert list(errors(SpaceSpec(type=SpaceType.DISCRETE))) == ["s.enum_values"]


def test_nesting_beyond_the_limit_is_a_problem_and_no_crash() -> None:
    raw: dict[str, Any] = {"type": "text"}
    for _ in range(DEEPEST + 2):
        raw = {"fields": {"a": raw}}
    assert any("deeper" in message for message in errors(raw).values())


@pytest.mark.parametrize("raw", [None, 3, "text", [], True])
def test_a_space_must_be_an_object(raw: object) -> None:
    assert list(errors(raw)) == ["s"]


@pytest.mark.parametrize("values", [None, []])
def test_a_discrete_space_needs_values(values: object) -> None:
    assert list(errors({"type": "discrete", "enum_values": values})) == ["s.enum_values"]


def test_a_discrete_space_has_no_duplicates() -> None:
    assert 'duplicates: "a"' in errors({"type": "discrete", "enum_values": ["a", "b", "a"]})["s.enum_values"]


def test_discrete_values_must_be_strings() -> None:
    assert list(errors({"type": "discrete", "enum_values": ["a", 2, 3]})) == ["s.enum_values[1]", "s.enum_values[2]"]


@pytest.mark.parametrize(("low", "high"), [(2, 1), (1, 1)])
def test_the_low_bound_must_be_less_than_the_high_one(low: float, high: float) -> None:
    assert list(errors({"type": "continuous", "bounds": {"low": low, "high": high}})) == ["s.bounds"]


def test_other_keys_of_bounds_are_ignored_with_a_hint() -> None:
    raw = {"type": "continuous", "bounds": {"min": 5, "max": 1}}
    assert leaf(raw).low is None
    assert "`low`" in warnings(raw)["s.bounds.min"].fix
    assert "`high`" in warnings(raw)["s.bounds.max"].fix


def test_infinite_bounds_are_no_bounds() -> None:
    raw = {"type": "continuous", "bounds": {"low": float("-inf"), "high": 1}}
    assert json_schema(space(raw)) == {"type": "number", "maximum": 1}
    assert "s.bounds.low" in warnings(raw)


def test_an_image_needs_a_dtype_or_a_description() -> None:
    assert list(errors({"type": "image"})) == ["s"]
    assert errors({"type": "image", "dtype": "uint8"}) == {}
    assert errors({"type": "image", "description": "the board"}) == {}


def test_a_multi_modal_space_needs_a_description() -> None:
    assert list(errors({"type": "multi_modal", "dtype": "uint8"})) == ["s"]
    assert errors({"type": "multi_modal", "description": "image and text"}) == {}


def test_an_unknown_type_suggests_the_near_one() -> None:
    _, problems = read({"type": "Discret"})
    assert problems[0].path == "s.type"
    assert problems[0].fix == "did you mean 'discrete'?"


def test_all_type_errors_of_a_leaf_come_together() -> None:
    raw = {"type": "json", "dtype": 8, "shape": ["a"], "bounds": [0, 1], "schema_ref": {}, "description": 1}
    assert set(errors(raw)) == {"s.dtype", "s.shape[0]", "s.bounds", "s.schema_ref", "s.description"}


def test_a_type_error_is_not_reported_as_a_broken_rule_too() -> None:
    assert list(errors({"type": "discrete", "enum_values": "left"})) == ["s.enum_values"]


def test_unknown_keys_are_warnings_with_the_likely_meaning() -> None:
    found = warnings({"type": "discrete", "enum_values": ["a"], "choices": ["b"], "descripton": "x", "_note": 1})
    assert found["s.choices"].fix == "did you mean `enum_values`?"
    assert found["s.descripton"].fix == "did you mean `description`?"
    assert "s._note" not in found


def test_a_schema_ref_that_does_not_parse_is_a_warning_and_means_any_object() -> None:
    raw = {"type": "json", "schema_ref": "#/definitions/Move"}
    assert json_schema(space(raw)) == {"type": "object"}
    assert "s.schema_ref" in warnings(raw)
    assert errors(raw) == {}


def test_a_schema_object_inside_a_json_space_is_its_schema() -> None:
    schema = {"type": "object", "properties": {"guess": {"type": "string"}}, "required": ["guess"]}
    for key, value in (("schema", schema), ("schema_ref", json.dumps(schema)), ("schema", json.dumps(schema))):
        assert json_schema(space({"type": "json", key: value})) == schema


def test_a_schema_ref_wins_over_a_schema() -> None:
    raw = {"type": "json", "schema_ref": '{"type": "array"}', "schema": {"type": "object"}}
    assert json_schema(space(raw)) == {"type": "array"}


def test_a_schema_that_is_documentation_is_a_warning() -> None:
    assert "s.schema" in warnings({"type": "json", "schema": "see the readme"})


@settings(deadline=None)
@given(JSON | SPACE_LIKE)
def test_any_json_gives_problems_and_no_exception(raw: object) -> None:
    found, problems = read(raw)
    assert found is not None or any(problem.severity == "error" for problem in problems)
    if found is not None:
        json_schema(found)
        describe(found)
        deviations(found, raw)


class Room(BaseModel):
    """A model with a space in it."""

    view: SpaceField


def test_a_pydantic_model_resolves_a_space_the_same_way() -> None:
    room = Room.model_validate({"view": {"type": "json", "fields": {"x": {"type": "text"}}}})
    assert isinstance(room.view, CompositeSpace)
    assert Room.model_validate(room.model_dump()) == room


def test_a_pydantic_model_with_a_bad_space_is_a_validation_error() -> None:
    with pytest.raises(ValidationError, match=r"fields\.b"):
        Room.model_validate({"view": {"fields": {"b": 3}}})


def test_the_schema_of_each_kind_of_space() -> None:
    assert json_schema(space({"type": "discrete", "enum_values": ["a", "b"]})) == {"type": "string", "enum": ["a", "b"]}
    assert json_schema(space({"type": "continuous", "shape": [3], "bounds": {"low": 0, "high": 2}})) == {
        "type": "number",
        "minimum": 0,
        "maximum": 2,
    }
    assert json_schema(space({"type": "json"})) == {"type": "object"}
    for kind in ("text", "composite"):
        assert json_schema(space({"type": kind})) == {"type": "string"}
    both = {"fields": {"a": {"type": "text"}, "b": {"type": "continuous"}}}
    assert json_schema(space(both)) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    }


def test_a_reply_has_reasoning_first_and_a_required_action() -> None:
    schema = action_schema(space({"type": "discrete", "enum_values": ["a"]}))
    assert list(schema["properties"]) == ["reasoning", "action"]
    assert schema["required"] == ["action"]


def test_definitions_move_to_the_root_of_a_reply() -> None:
    one = {"$defs": {"Cell": {"type": "integer"}}, "$ref": "#/$defs/Cell"}
    other = {"definitions": {"Cell": {"type": "string"}}, "type": "array", "items": {"$ref": "#/definitions/Cell"}}
    raw = {"fields": {"one": {"type": "json", "schema": one}, "other": {"type": "json", "schema": other}}}
    schema = action_schema(space(raw))
    fields = schema["properties"]["action"]["properties"]
    assert schema["$defs"] == {"Cell": {"type": "integer"}, "other_Cell": {"type": "string"}}
    assert fields["one"] == {"$ref": "#/$defs/Cell"}
    assert fields["other"]["items"] == {"$ref": "#/$defs/other_Cell"}


def test_a_recursive_schema_stays_recursive_inside_a_reply() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}}}
    schema = action_schema(space({"type": "json", "schema": tree}))
    assert schema["properties"]["action"] == {"$ref": "#/$defs/action"}
    assert schema["$defs"]["action"]["properties"]["left"] == {"$ref": "#/$defs/action"}


FERRY = {
    "fields": {
        "engine": {"type": "discrete", "enum_values": ["ahead", "astern"]},
        "rudder": {"type": "continuous", "bounds": {"low": -35, "high": 35}},
        "radio": {"fields": {"message": {"type": "text"}}},
    }
}


def test_a_conforming_action_has_no_deviations() -> None:
    assert deviations(space(FERRY), {"engine": "ahead", "rudder": 35, "radio": {"message": ""}}) == []


def test_deviations_name_every_place_and_rule_but_not_the_value() -> None:
    found = deviations(space(FERRY), {"engine": "north", "rudder": 70.5, "radio": {}, "horn": 1})
    assert found == [
        'engine: must be one of "ahead", "astern"',
        "rudder: must be at most 35",
        "radio.message: is missing",
        "has fields that the space does not name: horn",
    ]


def test_deviations_stop_at_the_limit() -> None:
    wide = {"fields": {f"f{index}": {"type": "text"} for index in range(100)}}
    assert len(deviations(space(wide), {})) == 20
    assert len(deviations(space(wide), {}, limit=3)) == 3


def test_a_composite_action_must_be_an_object() -> None:
    assert deviations(space(FERRY), "ahead") == ["must be an object with engine, rudder, radio, not string"]


@pytest.mark.parametrize(
    ("raw", "good", "bad"),
    [
        ({"type": "text"}, "go", 5),
        ({"type": "continuous"}, 1.5, "1.5"),
        ({"type": "continuous"}, 1, True),
        ({"type": "continuous", "shape": [2, 1]}, [[1], [2]], [[1], [2], [3]]),
        ({"type": "json"}, {"a": 1}, "a"),
        ({"type": "json"}, [1], 1),
        ({"type": "json", "schema": {"type": "string"}}, "a", {"a": 1}),
        ({"type": "discrete", "enum_values": ["1"]}, "1", 1),
        ({"type": "image", "dtype": "uint8"}, "aGk=", 7),
        ({"type": "image", "dtype": "uint8"}, {"url": "x"}, [1]),
    ],
)
def test_values_are_held_against_their_space(raw: object, good: object, bad: object) -> None:
    assert deviations(space(raw), good) == []
    assert len(deviations(space(raw), bad)) == 1


@pytest.mark.parametrize("value", [None, 1, "x", [], {}])
def test_kinds_without_a_shape_accept_anything(value: object) -> None:
    assert deviations(space({"type": "multi_modal", "description": "d"}), value) == []
    assert deviations(space({"type": "composite"}), value) == []


def test_a_description_shows_choices_bounds_fields_and_schema() -> None:
    raw = {
        "description": "helm",
        "fields": {
            "engine": {"type": "discrete", "enum_values": ["ahead", "stop"], "description": "the engine"},
            "call": {"type": "discrete", "enum_values": ["all clear", "mayday"]},
            "rudder": {"type": "continuous", "bounds": {"low": -35.0, "high": 35.0}},
            "depth": {"type": "continuous", "bounds": {"high": 0}},
            "radio": {"fields": {"message": {"type": "text", "description": "may be empty"}}},
        },
    }
    assert describe(space(raw)).split("\n") == [
        "a JSON object with these fields (helm):",
        "- engine: one of: ahead, stop (the engine)",
        '- call: one of: "all clear", "mayday"',
        "- rudder: a number from -35 to 35",
        "- depth: a number of at most 0",
        "- radio: a JSON object with these fields:",
        "  - message: may be empty",
    ]
    assert '{"type": "array"}' in describe(space({"type": "json", "schema": {"type": "array"}}))
    assert describe(space({"type": "text"})) == "text"
    assert describe(space({"type": "continuous"})) == "a number"
    assert describe(space({"type": "continuous", "bounds": {"low": 0.5}})) == "a number of at least 0.5"
