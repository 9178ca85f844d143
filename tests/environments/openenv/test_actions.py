"""What an agent chooses from, and the object that the server gets."""

from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.model import Tool
from mesocosm.core.space import CompositeSpace, SpaceSpec, SpaceType, deviations
from mesocosm.environments.openenv.actions import ActionForm, action_form, observation_space, takes_tools

METADATA = {"type": "object", "description": "Additional metadata for the action"}


def schema(required: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"metadata": METADATA, **fields},
        "required": list(fields) if required is None else required,
    }


def leaf(form: ActionForm) -> SpaceSpec:
    assert not isinstance(form.space, CompositeSpace)
    return form.space


def test_one_text_field_is_a_text_space() -> None:
    form = action_form(schema(message={"type": "string", "description": "what to say"}))
    assert (leaf(form).type, leaf(form).description) == (SpaceType.TEXT, "what to say")
    assert form.sent("hello") == {"message": "hello"}


def test_an_enumeration_behind_a_reference_is_a_discrete_space() -> None:
    form = action_form(
        {
            **schema(action={"$ref": "#/$defs/Move", "description": "where to"}),
            "$defs": {"Move": {"type": "string", "enum": ["UP", "DOWN"]}},
        }
    )
    assert (leaf(form).enum_values, leaf(form).description) == (["UP", "DOWN"], "where to")
    assert form.sent("UP") == {"action": "UP"}


@pytest.mark.parametrize(
    ("rules", "choices", "value"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 2}, ["0", "1", "2"], 1),
        ({"type": "integer", "exclusiveMinimum": -1, "exclusiveMaximum": 2}, ["0", "1"], 1),
        ({"type": "boolean"}, ["true", "false"], True),
        ({"enum": [1, 2.5, "x"]}, ["1", "2.5", "x"], 1),
        ({"const": 1}, ["1"], 1),
    ],
)
def test_few_values_are_chosen_by_their_text_and_sent_as_they_are(
    rules: dict[str, Any], choices: list[str], value: Any
) -> None:
    form = action_form(schema(a=rules))
    assert leaf(form).enum_values == choices
    sent = form.sent("true" if value is True else "1")["a"]
    assert (sent, type(sent)) == (value, type(value))


def test_a_number_keeps_its_bounds_and_a_whole_one_is_whole() -> None:
    form = action_form(schema(force={"type": "number", "minimum": -1, "maximum": 1}))
    assert (leaf(form).type, leaf(form).low, leaf(form).high) == (SpaceType.CONTINUOUS, -1.0, 1.0)
    assert leaf(action_form(schema(n={"type": "integer"}))).dtype == "int64"


def test_the_caller_may_name_the_choices_that_a_schema_does_not() -> None:
    form = action_form(schema(action={"type": "integer"}), actions=[0, 1])
    assert (leaf(form).enum_values, form.sent("1")) == (["0", "1"], {"action": 1})


def test_choices_are_refused_where_an_action_has_several_fields() -> None:
    with pytest.raises(UsageError, match="its fields are: x, y"):
        action_form(schema(x={"type": "integer"}, y={"type": "integer"}), actions=[0])


def test_an_object_with_further_fields_stays_an_object() -> None:
    # The rest of them would be lost if only the required one were asked for.
    form = action_form(schema(["kind"], kind={"enum": ["click", "type"]}, text={"type": "string"}))
    assert leaf(form).type is SpaceType.JSON
    assert deviations(form.space, {"text": "x"}) == ["kind: is missing"]
    assert form.sent({"kind": "click"}) == {"kind": "click"}


def test_the_metadata_of_every_action_is_not_asked_for() -> None:
    form = action_form(schema(x={"type": "integer"}, y={"type": "integer"}))
    assert set(leaf(form).json_schema["properties"]) == {"x", "y"}  # type: ignore[index]


def test_what_is_no_object_is_a_malformed_action() -> None:
    form = action_form(schema(x={"type": "integer"}, y={"type": "integer"}))
    with pytest.raises(EpisodeError, match="no JSON object") as caught:
        form.sent([1, 2])
    assert caught.value.cause is Cause.MALFORMED_ACTION


TOOLS = (
    Tool("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
    Tool("stop", "", {"type": "object"}),
)


def test_calls_of_tools_are_checked_against_their_own_arguments() -> None:
    form = action_form(schema(tool_name={"type": "string"}, arguments={"type": "object"}), TOOLS)
    call = {"type": "call_tool", "tool_name": "add", "arguments": {"a": 1}}
    assert deviations(form.space, call) == []
    assert deviations(form.space, {**call, "arguments": {}}) != []
    assert deviations(form.space, {**call, "tool_name": "subtract"}) != []
    assert form.sent({"tool_name": "add", "arguments": {"a": 1}}) == call


def test_choices_make_no_sense_for_tools() -> None:
    with pytest.raises(UsageError, match="calls of tools"):
        action_form(schema(), TOOLS, ["add"])


@pytest.mark.parametrize(
    ("fields", "tools"),
    [
        ({}, True),
        ({"type": {}, "tool_name": {}, "arguments": {}}, True),
        ({"message": {"type": "string"}}, False),
    ],
)
def test_actions_of_mcp_are_recognised_by_their_fields(fields: dict[str, Any], tools: bool) -> None:
    assert takes_tools(schema(**fields)) is tools


def test_observations_are_described_without_reward_and_end() -> None:
    given = {"description": "A board.", **schema(board={"type": "array"}, reward={"type": "number"}, done={})}
    space = observation_space(given)
    assert space.description.startswith("A board.")
    assert '"board"' in space.description
    assert '"reward"' not in space.description
    assert deviations(space, {}) == []
