from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.agents.parsing import MalformedReply, Parsed, Parser
from mesocosm.core.space import deviations, parse_space
from mesocosm.core.thought import split_thought

FERRY = {
    "fields": {
        "engine": {"type": "discrete", "enum_values": ["ahead", "stop", "astern"]},
        "rudder": {"type": "continuous", "bounds": {"low": -35, "high": 35}},
        "radio": {
            "fields": {
                "channel": {"type": "discrete", "enum_values": ["12", "16"]},
                "message": {"type": "text"},
            }
        },
    }
}
GUESS = {
    "type": "json",
    "schema": {"type": "object", "properties": {"guess": {"type": "string"}}, "required": ["guess"]},
}
CALM = {"engine": "stop", "rudder": 0, "radio": {"channel": "12", "message": ""}}
SPACES: list[Mapping[str, Any]] = [
    FERRY,
    GUESS,
    {"type": "json"},
    {"type": "text"},
    {"type": "discrete", "enum_values": ["left", "right", "turn_left"]},
    {"type": "continuous", "bounds": {"low": 0, "high": 1}},
    {"type": "continuous", "shape": [2]},
    {"type": "image", "description": "a picture"},
]


def parser(space: Mapping[str, Any] | None) -> Parser:
    return Parser(parse_space(space, "space", []) if space else None)


def action(space: Mapping[str, Any] | None, text: str, *, wrapped: bool = False) -> Any:
    outcome = parser(space).parse(text, wrapped=wrapped)
    assert isinstance(outcome, Parsed), outcome
    return outcome.action


def reason(space: Mapping[str, Any] | None, text: str, *, wrapped: bool = False) -> str:
    outcome = parser(space).parse(text, wrapped=wrapped)
    assert isinstance(outcome, MalformedReply), outcome
    return outcome.reason


class TestThought:
    @pytest.mark.parametrize(
        ("text", "thought", "answer"),
        [
            ("<think>hm</think> left", "hm", "left"),
            ("<think>hm, left", "hm, left", ""),
            ("hm</think>left", "hm", "left"),
            ("a <THINK>x</THINK> b", "x", "a  b"),
            ("<think>a <think> b</think> left", "a  b", "left"),
            ("left < right", "", "left < right"),
        ],
    )
    def test_is_told_apart_from_the_answer(self, text: str, thought: str, answer: str) -> None:
        assert split_thought(text)[1] == answer
        assert split_thought(text)[0].replace("<think>", "") == thought

    def test_becomes_reasoning_and_is_not_searched(self) -> None:
        outcome = parser(GUESS).parse('<think>{"guess": "no"}</think>{"guess": "yes"}')
        assert outcome == Parsed({"guess": "yes"}, '{"guess": "no"}')

    def test_without_an_answer_is_malformed(self) -> None:
        assert "thought" in reason({"type": "text"}, "<think>I wonder")


class TestText:
    def test_stays_a_string_whatever_it_looks_like(self) -> None:
        for text in ("5", "true", '{"action": "x"}', "[1]", "null"):
            assert action({"type": "text"}, f" {text}\n") == text

    def test_follows_the_last_marker_line(self) -> None:
        outcome = parser({"type": "text"}).parse("I think.\nACTION: one\nno,\n**ACTION:** go north\nand west")
        assert outcome == Parsed("go north\nand west", "I think.\nACTION: one\nno,")

    def test_a_marker_inside_a_line_or_in_small_letters_is_text(self) -> None:
        for text in ("Action: search[x]", "the word ACTION: is here"):
            assert action({"type": "text"}, text) == text

    def test_that_is_empty_is_malformed(self) -> None:
        assert reason({"type": "text"}, " \n") == "the reply is empty"
        assert reason({"type": "text"}, "I think.\nACTION:") == "nothing follows ACTION:"

    def test_is_what_an_undeclared_space_takes(self) -> None:
        assert action(None, "anything") == "anything"

    def test_without_utf8_form_is_mended(self) -> None:
        assert action(None, "a\ud800") == "a\ufffd"


DOORS = {"type": "discrete", "enum_values": ["left", "right"]}


class TestDiscrete:
    def test_gives_the_declared_spelling(self) -> None:
        assert parser(DOORS).parse("LEFT") == Parsed("left")

    def test_keeps_the_text_as_reasoning(self) -> None:
        text = "The wall is right.\nAction: left"
        assert parser(DOORS).parse(text) == Parsed("left", text)

    def test_says_when_the_choice_was_only_mentioned(self) -> None:
        outcome = parser(DOORS).parse("I would go left")
        assert isinstance(outcome, Parsed)
        assert outcome.repaired

    def test_reads_the_action_of_an_object_and_never_its_reasoning(self) -> None:
        text = '{"reasoning": "the action: right is bad", "action": "left"}'
        assert parser(DOORS).parse(text, wrapped=True) == Parsed("left", "the action: right is bad")
        assert action(DOORS, '{"action": "left", "reasoning": "not action: right"}') == "left"
        assert action(DOORS, 'Sure:\n```json\n{"action": "left", "reasoning": "action: right?"}\n```') == "left"

    def test_takes_what_is_said_after_an_object(self) -> None:
        assert action(DOORS, '{"action": "left"} No, wait.\nAction: right') == "right"

    def test_searches_no_object_that_is_cut_off(self) -> None:
        assert "cut off" in reason(DOORS, '{"reasoning": "I go left since', wrapped=True)
        assert "cut off" in reason(DOORS, '```json\n{"reasoning": "I go left since')

    def test_names_a_choice_that_is_not_allowed(self) -> None:
        assert reason(DOORS, "Action: jump") == "'jump' is not allowed"
        assert reason(DOORS, '{"action": "jump"}') == "'jump' is not allowed"

    def test_without_choice_is_malformed(self) -> None:
        assert reason(DOORS, "I do not know.") == "the reply makes no choice"

    def test_takes_scalars_that_spell_a_choice(self) -> None:
        counts = {"type": "discrete", "enum_values": ["1", "2", "true"]}
        assert action(counts, '{"action": 2.0}') == "2"
        assert action(counts, '{"action": true}') == "true"


UNIT = {"type": "continuous", "bounds": {"low": 0, "high": 1}}


class TestContinuous:
    @pytest.mark.parametrize(
        "text", ["0.25", '{"action": 0.25}', '{"action": "0.25"}', "I take 0.25 because 0.9 is much"]
    )
    def test_reads_the_last_number(self, text: str) -> None:
        assert action(UNIT, text) == 0.25

    def test_out_of_bounds_is_malformed_and_says_the_bound(self) -> None:
        assert reason(UNIT, "first 0.5, then 7") == "7.0 is out of bounds, it must be at most 1"

    @pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", '{"action": NaN}', "1e999"])
    def test_refuses_what_is_not_finite(self, text: str) -> None:
        assert reason(UNIT, text)

    def test_gives_whole_numbers_where_they_are_declared(self) -> None:
        value = action({"type": "continuous", "dtype": "int32"}, "Answer: 7")
        assert value == 7
        assert isinstance(value, int)

    def test_takes_a_list_of_the_declared_shape(self) -> None:
        pair = {"type": "continuous", "shape": [2], "bounds": {"low": 0, "high": 1}}
        assert action(pair, "[0.5, 1]") == [0.5, 1]
        assert action(pair, "So I steer [0.5, 1].") == [0.5, 1]
        assert action(pair, '{"action": [0.5, 1]}') == [0.5, 1]

    def test_a_number_too_long_for_a_float_is_malformed(self) -> None:
        assert reason(UNIT, f'{{"action": {"9" * 4000}}}')


class TestJson:
    @pytest.mark.parametrize(
        "text",
        [
            '{"guess": "crane"}',
            'I think.\n```json\n{"guess": "crane"}\n```\nDone.',
            "{'guess': 'crane',}",
            'No {"guess": "slate"} but {"guess": "crane"} (see [1])',
            '{"reasoning": "so", "action": {"guess": "crane"}}',
            '{"action": {"guess": "crane"}}',
        ],
    )
    def test_takes_the_last_value_that_has_to_do_with_the_space(self, text: str) -> None:
        assert action(GUESS, text) == {"guess": "crane"}

    def test_a_wrong_last_value_is_not_replaced_by_an_earlier_one(self) -> None:
        assert action(GUESS, '{"guess": "slate"} then {"guess": 5}') == {"guess": 5}

    def test_passes_on_an_object_of_other_fields(self) -> None:
        assert action(GUESS, '{"word": "crane"}') == {"word": "crane"}

    def test_keeps_the_text_before_as_reasoning(self) -> None:
        assert parser(GUESS).parse('I think.\n```json\n{"guess": "x"}\n```') == Parsed({"guess": "x"}, "I think.")

    def test_does_not_unwrap_where_action_is_a_field_of_the_space(self) -> None:
        own = {"type": "json", "schema": {"type": "object", "properties": {"action": {"type": "string"}}}}
        told = {"type": "json", "description": 'send {"action": "move", "to": "A"}'}
        for space in (own, told):
            assert action(space, '{"action": "left"}') == {"action": "left"}
        assert action(told, '{"action": {"action": "left"}}', wrapped=True) == {"action": "left"}

    def test_unwraps_lists_but_keeps_an_object_around_a_scalar(self) -> None:
        assert action({"type": "json"}, '{"action": [1]}') == [1]
        assert action({"type": "json"}, '{"action": "left"}') == {"action": "left"}

    def test_refuses_scalars_for_objects_and_takes_them_where_declared(self) -> None:
        assert "object" in reason(GUESS, "5")
        assert action({"type": "json", "schema": {"type": "integer"}}, "5") == 5

    def test_without_json_is_malformed(self) -> None:
        assert "no JSON" in reason(GUESS, "crane")

    def test_that_is_cut_off_is_malformed_even_after_a_whole_value(self) -> None:
        assert "cut off" in reason(GUESS, '{"guess": "slate"} no {"guess": "cra')


class TestComposite:
    def test_reads_a_plain_object(self) -> None:
        assert parser(FERRY).parse(msgspec.json.encode(CALM).decode()) == Parsed(CALM)

    def test_coerces_every_leaf(self) -> None:
        text = '{"Engine": "AHEAD", "rudder": "-3.5", "radio": "{\\"channel\\": 12, \\"message\\": 5}"}'
        outcome = parser(FERRY).parse(text)
        assert outcome == Parsed(
            {"engine": "ahead", "rudder": -3.5, "radio": {"channel": "12", "message": "5"}}, repaired=True
        )

    def test_names_what_is_missing_or_wrong_with_its_place(self) -> None:
        assert reason(FERRY, '{"engine": "ahead"}') == "rudder: is missing; radio: is missing"
        text = '{"engine": "fly", "rudder": 99, "radio": {"channel": "12", "message": null}}'
        wrong = reason(FERRY, text)
        assert "engine: must be one of" in wrong
        assert "rudder: must be at most 35" in wrong
        assert "radio.message: must be text" in wrong

    def test_takes_thought_out_of_the_object(self) -> None:
        outcome = parser(FERRY).parse(msgspec.json.encode({"reasoning": "calm", **CALM}).decode())
        assert outcome == Parsed(CALM, "calm")

    def test_reads_the_wrapper(self) -> None:
        text = msgspec.json.encode({"reasoning": "calm", "action": CALM}).decode()
        assert parser(FERRY).parse(text, wrapped=True) == Parsed(CALM, "calm")

    def test_with_a_field_called_action_is_not_unwrapped(self) -> None:
        space = {"fields": {"action": {"type": "discrete", "enum_values": ["go", "stay"]}}}
        assert action(space, '{"action": "GO"}') == {"action": "go"}
        assert action(space, '{"action": "go"}', wrapped=True) == {"action": "go"}
        assert action(space, '{"reasoning": "", "action": {"action": "go"}}', wrapped=True) == {"action": "go"}

    def test_leaves_unknown_fields(self) -> None:
        assert action(FERRY, msgspec.json.encode({**CALM, "horn": 1}).decode()) == {**CALM, "horn": 1}


def test_says_what_is_allowed() -> None:
    assert "left, right" in parser(DOORS).allowed
    assert "0 to 1" in parser(UNIT).allowed
    assert "engine" in parser(FERRY).allowed
    assert "text" in parser(None).allowed


MARKS = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', "'", "\n", "```", "```json\n", "9" * 30, "0.5", "nan", "true"]
)
WORDS = st.sampled_from(['{"action": ', '"left"', "left", "not ", '"rudder": ', '"guess"', "\ud800", "é"])
LABELS = st.sampled_from(["Action:", "ACTION:", "<think>", "</think>", "\\boxed{", "**"])
PIECES = MARKS | WORDS | LABELS
REPLIES = st.one_of(st.text(max_size=120), st.lists(PIECES, max_size=25).map("".join))


@settings(max_examples=300)
@given(REPLIES, st.sampled_from([None, *SPACES]), st.booleans())
def test_no_text_raises_and_every_action_can_be_sent(text: str, space: Mapping[str, Any] | None, wrapped: bool) -> None:
    outcome = parser(space).parse(text, wrapped=wrapped)
    if isinstance(outcome, MalformedReply):
        assert outcome.reason
        return
    msgspec.json.encode([outcome.action, outcome.reasoning])
    if space is None or space.get("type") in ("text", "image"):
        assert isinstance(outcome.action, str)
        assert outcome.action
    elif space.get("type") in ("discrete", "continuous"):
        parsed = parse_space(space, "space", [])
        assert parsed is not None
        assert deviations(parsed, outcome.action) == []


@pytest.mark.parametrize(
    "piece", ["Action: ", "{", '{"action": "', "<think>", "</think>", " ", "\n", "left ", "ACTION:\n"]
)
@pytest.mark.parametrize(
    "space", [FERRY, DOORS, UNIT, {"type": "text"}], ids=["composite", "discrete", "number", "text"]
)
def test_reads_replies_of_a_megabyte(space: Mapping[str, Any], piece: str) -> None:
    """Quadratic time would mean hours here."""
    outcome = parser(space).parse(piece * (1_000_000 // len(piece)))
    assert isinstance(outcome, Parsed | MalformedReply)


def test_reads_an_action_of_a_megabyte() -> None:
    text = '{"guess": "' + "x" * 1_000_000 + '"}'
    assert len(action(GUESS, text)["guess"]) == 1_000_000
