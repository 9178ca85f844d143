from dataclasses import replace
from typing import Any

import pytest

from mesocosm.agents.loop import open_loop
from mesocosm.agents.tool_calling import ToolCalling, ToolCallingParams, form_of
from mesocosm.agents.tool_text import calls_in
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import Capabilities, ModelReply
from mesocosm.core.ports import Observation, Step
from mesocosm.core.space import parse_space
from mesocosm.testing.context import MemoryContext, Said, ScriptedEnvironment

LOOKUP = {"name": "lookup", "description": "Find a chart.", "parameters": {"type": "object"}}
NATIVE = Capabilities(tools=True, structured=True, images=True)
JSON = {"type": "json"}


def context(replies: list[Said], *shown: Any, space: Any = JSON, native: bool = True, **config: Any) -> MemoryContext:
    declared = {"technique_id": "tool_calling", "config_schema": {"tools": [LOOKUP, "wait"], **config}}
    return MemoryContext(
        ScriptedEnvironment(*(shown or ("start", "chart", "end"))),
        replies,
        action_space=space,
        capabilities=NATIVE if native else Capabilities(),
        vow={"techniques": [declared]},
    )


def calls(*made: tuple[str, Any]) -> ModelReply:
    return ModelReply(
        "", tool_calls=tuple(ToolCall(f"c{n}", name, arguments) for n, (name, arguments) in enumerate(made))
    )


async def play(context: MemoryContext, **options: Any) -> MemoryContext:
    await open_loop(options).play(context)
    return context


class TestNativeTools:
    async def test_are_offered_by_name_and_parameters_and_not_by_schema(self) -> None:
        played = await play(context([calls(("lookup", {})), calls(("wait", {}))]))
        request = played.requests[0]
        assert [tool.name for tool in request.tools] == ["lookup", "wait"]
        assert request.tools[0].parameters == {"type": "object"}
        assert request.schema is None
        assert "Available Tools" not in request.messages[0].text

    async def test_calls_become_actions_and_observations_their_results(self) -> None:
        played = await play(context([calls(("lookup", {"at": "north"})), '{"steer": 1}']))
        assert [acted.action for acted in played.actions] == [
            {"tool": "lookup", "arguments": {"at": "north"}},
            {"steer": 1},
        ]
        *_, asked, answer = played.requests[1].messages
        assert asked.tool_calls[0].name == "lookup"
        assert answer == Message("tool", "[Step 2]\nchart", tool_call_id="c0")

    async def test_signed_thoughts_stay_with_their_reply(self) -> None:
        thought = ({"type": "thinking", "thinking": "hm", "signature": "signed"},)
        for call in (("lookup", {"n": 1}), ("fly", {})):
            played = await play(context([replace(calls(call), blocks=thought), '{"a": 1}', '{"a": 2}']))
            assert played.requests[1].messages[-2].blocks == thought
            assert played.requests[1].messages[-1].role == "tool"

    async def test_parallel_calls_are_made_one_after_the_other(self) -> None:
        replies: list[Said] = [calls(("lookup", {"n": 1}), ("lookup", {"n": 2})), '{"done": 1}']
        played = await play(context(replies, "start", "one", "two", "end"))
        assert [acted.action["arguments"] for acted in played.actions[:2]] == [{"n": 1}, {"n": 2}]
        first, second = played.requests[1].messages[-2:]
        assert (first.text, first.tool_call_id) == ("one", "c0")
        assert (second.text, second.tool_call_id) == ("[Step 3]\ntwo", "c1")

    async def test_the_end_of_the_episode_stops_further_calls(self) -> None:
        replies: list[Said] = [calls(("lookup", {}), ("wait", {}), ("wait", {}))]
        played = await play(context(replies, "start", "one", "end"))
        assert played.steps == 2

    async def test_every_call_is_recorded(self) -> None:
        played = await play(context([calls(("lookup", {"n": 1})), calls(("wait", {}))]))
        events = [event.payload for event in played.events if event.kind is Kind.TOOL_CALL]
        assert events[0] == {"id": "c0", "name": "lookup", "arguments": {"n": 1}}
        assert events[1]["name"] == "wait"

    async def test_results_in_the_info_are_shown_before_the_observation(self) -> None:
        step = Step(Observation("sea"), info={"tool_result": {"depth": 5}})
        played = await play(context([calls(("lookup", {})), '{"a": 1}'], "start", step, "end"))
        answer, seen = played.requests[1].messages[-2:]
        assert (answer.role, answer.text) == ("tool", '{"depth":5}')
        assert (seen.role, seen.text) == ("user", "[Step 2]\nsea")

    async def test_images_follow_the_result_in_a_message_of_their_own(self) -> None:
        picture = Step(Observation("https://example.org/a.png", "image/png"))
        played = await play(context([calls(("lookup", {})), '{"a": 1}'], "start", picture, "end"))
        answer, seen = played.requests[1].messages[-2:]
        assert (answer.role, seen.role) == ("tool", "user")
        assert isinstance(seen.content, tuple)

    @pytest.mark.parametrize(
        ("call", "complaint"),
        [(("fly", {}), "no tool 'fly' (tools: lookup, wait)"), (("lookup", "north"), "not a JSON object")],
    )
    async def test_bad_calls_are_asked_for_again(self, call: tuple[str, Any], complaint: str) -> None:
        played = await play(context([calls(call), '{"a": 1}'], "start", "end"))
        answer = played.requests[1].messages[-1]
        assert answer.role == "tool"
        assert complaint in answer.text
        assert [e.payload["cause"] for e in played.events if e.kind is Kind.RETRY] == [Cause.MALFORMED_ACTION]

    async def test_a_call_in_text_is_understood_as_well(self) -> None:
        played = await play(context(['{"tool": "lookup", "arguments": {"n": 1}}', '{"a": 1}']))
        assert played.actions[0].action == {"tool": "lookup", "arguments": {"n": 1}}
        assert played.requests[1].messages[-1].text == "[Step 2]\nResult of lookup:\nchart"

    async def test_without_history_results_come_as_text(self) -> None:
        replies: list[Said] = [calls(("lookup", {"n": 1}), ("lookup", {"n": 2})), '{"a": 1}']
        played = await play(context(replies, "start", "one", "two", "end"), history="none")
        (_, shown) = played.requests[1].messages
        assert shown == Message("user", "[Step 3]\nResult of lookup: one\nResult of lookup:\ntwo")

    async def test_the_words_beside_a_call_are_reasoning(self) -> None:
        reply = ModelReply("I look.", reasoning="deep", tool_calls=(ToolCall("c", "lookup", {}),))
        played = await play(context([reply, '{"a": 1}']))
        assert played.actions[0].reasoning == "deep\n\nI look."


class TestToolsInText:
    async def test_are_listed_with_the_way_to_call_them(self) -> None:
        played = await play(context(['{"tool": "lookup", "arguments": {}}', '{"a": 1}'], native=False))
        system = played.requests[0].messages[0].text
        assert "## Available Tools\n```json" in system
        assert '"lookup"' in system
        assert '"arguments"' in system
        assert played.requests[0].tools == ()

    async def test_calls_and_results_go_through_the_conversation(self) -> None:
        reply = 'Let me see.\n{"tool": "lookup", "arguments": {"n": 1}}'
        played = await play(context([reply, '{"a": 1}'], native=False))
        assert [message.text for message in played.requests[1].messages[2:]] == [
            reply,
            "[Step 2]\nResult of lookup:\nchart",
        ]

    @pytest.mark.parametrize(
        "text",
        [
            '{"name": "lookup", "arguments": {"n": 1}}',
            '{"tool_name": "lookup", "args": {"n": 1}}',
            '{"action": {"tool": "lookup", "arguments": {"n": 1}}}',
            '[{"function": {"name": "lookup", "arguments": {"n": 1}}}]',
            "```json\n{'tool': 'lookup', 'parameters': {'n': 1}}\n```",
        ],
    )
    def test_calls_are_found_in_many_spellings(self, text: str) -> None:
        (call,) = calls_in(text, {"lookup": None})
        assert (call.name, call.arguments) == ("lookup", {"n": 1})

    @pytest.mark.parametrize(
        "text", ["lookup", '{"tool": "fly"}', '{"a": "lookup"}', '{"tool": "lookup"} {"a": 1}', "[]"]
    )
    def test_other_text_is_no_call(self, text: str) -> None:
        assert calls_in(text, {"lookup": None}) == ()


class TestForms:
    @pytest.mark.parametrize(
        ("space", "action"),
        [
            (None, '{"tool": "lookup", "arguments": {"n": 1}}'),
            ({"type": "text"}, '{"tool": "lookup", "arguments": {"n": 1}}'),
            ({"type": "json"}, {"tool": "lookup", "arguments": {"n": 1}}),
            ({"type": "discrete", "enum_values": ["lookup", "go"]}, "lookup"),
            (
                {"fields": {"name": {"type": "text"}, "args": {"type": "json"}}},
                {"name": "lookup", "args": {"n": 1}},
            ),
            (
                {"fields": {"tool": {"type": "text"}, "input": {"type": "text"}}},
                {"tool": "lookup", "input": '{"n":1}'},
            ),
            ({"fields": {"action": {"type": "text"}, "n": {"type": "continuous"}}}, {"action": "lookup", "n": 1}),
            (
                {"type": "json", "schema": {"type": "object", "properties": {"tool_name": {}, "parameters": {}}}},
                {"tool_name": "lookup", "parameters": {"n": 1}},
            ),
        ],
    )
    def test_follow_from_the_action_space(self, space: Any, action: Any) -> None:
        form = form_of(parse_space(space, "s", []) if space else None, ["lookup"])
        assert form is not None
        assert form.action(ToolCall("c", "lookup", {"n": 1})) == action

    @pytest.mark.parametrize(
        "space",
        [
            {"type": "continuous"},
            {"type": "discrete", "enum_values": ["go"]},
            {"fields": {"x": {"type": "text"}}},
            {"fields": {"tool": {"type": "text"}, "args": {"type": "json"}, "x": {"type": "text"}}},
            {"type": "json", "schema": {"type": "array"}},
            {"type": "json", "schema": {"type": "object", "properties": {"guess": {}}}},
        ],
    )
    def test_do_not_exist_in_every_space(self, space: Any) -> None:
        assert form_of(parse_space(space, "s", []), ["lookup"]) is None

    async def test_none_leaves_the_tools_as_a_list_with_a_warning(self) -> None:
        played = await play(context(["go"], "start", "end", space={"type": "discrete", "enum_values": ["go"]}))
        assert played.requests[0].tools == ()
        assert "## Available Tools" in played.requests[0].messages[0].text
        assert "no form for tool calls" in played.warnings[0]

    async def test_can_be_given(self) -> None:
        shape = {"do": ["{name}", "{arguments}"], "kind": "tool"}
        played = await play(context([calls(("lookup", {"n": 1})), '{"a": 1}'], shape=shape))
        assert played.actions[0].action == {"do": ["lookup", {"n": 1}], "kind": "tool"}

    async def test_a_call_that_fits_no_action_goes_back_to_the_model(self) -> None:
        space = {"fields": {"action": {"type": "text"}, "n": {"type": "continuous"}}}
        replies: list[Said] = [calls(("lookup", {})), calls(("lookup", {"n": 1}))]
        played = await play(context(replies, "start", "end", space=space))
        assert "n: is missing" in played.requests[1].messages[-1].text
        assert played.actions[0].action == {"action": "lookup", "n": 1}

    async def test_dispatch_to_the_environment_can_be_forced_or_left(self) -> None:
        forced = await play(
            context(
                [calls(("wait", {}))],
                "start",
                "end",
                space={"type": "discrete", "enum_values": ["go"]},
                dispatch="action",
            )
        )
        assert forced.actions[0].action == {"tool": "wait", "arguments": {}}
        listed = await play(context(['{"tool": "wait"}'], "start", "end", dispatch="none"))
        assert listed.requests[0].tools == ()
        assert listed.actions[0].action == {"tool": "wait"}


def test_tools_are_read_in_every_common_form() -> None:
    params = ToolCallingParams.model_validate(
        {
            "tools": [
                "a",
                {"type": "function", "function": {"name": "b"}},
                {"name": "c", "input_schema": {"type": "object"}},
            ]
        }
    )
    assert [tool.name for tool in params.tools] == ["a", "b", "c"]
    assert params.tools[2].parameters == {"type": "object"}
    named = ToolCallingParams.model_validate({"tools": {"a": {"description": "A."}, "b": None}})
    assert [(tool.name, tool.description) for tool in named.tools] == [("a", "A."), ("b", "")]


async def test_without_tools_nothing_happens() -> None:
    technique = ToolCalling(ToolCallingParams())
    bare = MemoryContext(ScriptedEnvironment("a"))
    await technique.on_start(bare)
    assert technique.tools() == ()
    assert technique.sections(Observation(), 1, "") == {}
    assert bare.warnings == []
