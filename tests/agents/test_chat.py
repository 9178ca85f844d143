"""The agent chat: what it says to models, and what it takes their replies for."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mesocosm.agents.chat import open_chat
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import Capabilities, ModelReply, ModelSettings, Tool
from mesocosm.core.turn import Turn
from mesocosm.testing.context import MemoryContext, Said, ScriptedEnvironment

LOOK = Tool("look", "Look around.", {"type": "object", "properties": {"far": {"type": "boolean"}}})
WAIT = Tool("wait")
NATIVE = Capabilities(tools=True, structured=True)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def user(text: str) -> Message:
    return Message("user", text)


def context(replies: list[Said], *shown: Any, native: bool = False, **settings: Any) -> MemoryContext:
    data = [turn.data() if isinstance(turn, Turn) else turn for turn in (*shown, "end")]
    return MemoryContext(
        ScriptedEnvironment(*data),
        replies,
        capabilities=NATIVE if native else Capabilities(),
        settings=ModelSettings("scripted/memory", **settings),
    )


async def play(context: MemoryContext, **options: Any) -> MemoryContext:
    await open_chat(options).play(context)
    return context


def action(played: MemoryContext, place: int = 0) -> Any:
    """Return an action as it is stored."""
    return json.loads(json.dumps(played.actions[place].action))


def called(*calls: tuple[str, Any], text: str = "") -> ModelReply:
    made = tuple(ToolCall(f"c{n}", name, arguments) for n, (name, arguments) in enumerate(calls))
    return ModelReply(text, tool_calls=made, finish_reason="tool_calls")


class TestSpeaking:
    async def test_a_text_is_one_user_message_and_nothing_else(self) -> None:
        played = await play(context(["42"], "What is it?"))
        assert played.requests[0].messages == [user("What is it?")]
        assert played.actions[0].action == "42"

    async def test_settings_of_the_model_reach_the_request(self) -> None:
        played = await play(context(["x"], "?", temperature=0.5, max_tokens=9, top_p=0.1, extra={"k": 1}))
        request = played.requests[0]
        assert (request.temperature, request.max_tokens, request.top_p, request.extra) == (0.5, 9, 0.1, {"k": 1})

    async def test_own_system_prompt_goes_before_that_of_the_benchmark(self) -> None:
        played = await play(context(["x"], Turn((user("?"),), system="Be brief.")), system_prompt="You are kind.")
        assert played.requests[0].messages[0] == Message("system", "You are kind.\n\nBe brief.")

    async def test_what_was_said_is_said_again_in_the_next_turn(self) -> None:
        played = await play(context(["one", "two"], "first", "second"))
        assert [message.text for message in played.requests[1].messages] == ["first", "one", "second"]
        assert [acted.action for acted in played.actions] == ["one", "two"]

    async def test_a_new_system_message_takes_the_place_of_the_old_one(self) -> None:
        turns = Turn((user("a"),), system="old"), Turn((user("b"),)), Turn((user("c"),), system="new")
        played = await play(context(["x", "y", "z"], *turns))
        assert [request.messages[0].text for request in played.requests] == ["old", "old", "new"]

    async def test_threads_know_nothing_of_each_other(self) -> None:
        turns = Turn((user("a"),), thread="one"), Turn((user("b"),), thread="two"), Turn((user("c"),), thread="one")
        played = await play(context(["x", "y", "z"], *turns))
        assert [message.text for message in played.requests[1].messages] == ["b"]
        assert [message.text for message in played.requests[2].messages] == ["a", "x", "c"]
        assert [acted.role for acted in played.actions] == ["one", "two", "one"]

    async def test_what_is_no_turn_is_shown_as_json(self) -> None:
        played = await play(context(["x"], {"board": [1, 2]}))
        assert played.requests[0].messages == [user('{"board":[1,2]}')]

    async def test_a_schema_goes_to_models_that_take_one(self) -> None:
        turn = Turn((user("?"),), schema=SCHEMA)
        able, unable = await play(context(["{}"], turn, native=True)), await play(context(["{}"], turn))
        assert (able.requests[0].schema, able.requests[0].schema_name) == (SCHEMA, "answer")
        assert unable.requests[0].schema is None


class TestAnswers:
    async def test_an_empty_answer_is_an_action_and_is_marked_in_the_conversation(self) -> None:
        played = await play(context(["", "x"], "a", "b"))
        assert played.actions[0].action == ""
        assert played.requests[1].messages[1] == Message("assistant", "(no answer)")

    async def test_thought_is_reasoning_and_no_part_of_the_answer(self) -> None:
        replies: list[Said] = [ModelReply("<think>hm</think> 42", reasoning="let me see"), "x"]
        played = await play(context(replies, "a", "b"))
        assert (played.actions[0].action, played.actions[0].reasoning) == ("42", "let me see\n\nhm")
        assert played.requests[1].messages[1] == Message("assistant", "42")

    @pytest.mark.parametrize("word", ["content_filter", "REFUSAL", "safety"])
    async def test_a_withheld_reply_is_a_failure_of_the_agent(self, word: str) -> None:
        with pytest.raises(EpisodeError, match="withheld") as raised:
            await play(context([ModelReply("", finish_reason=word)], "?"))
        assert raised.value.cause is Cause.REFUSED

    async def test_a_refusal_in_words_is_an_answer(self) -> None:
        assert (await play(context(["I cannot help with that."], "?"))).actions[0].action.startswith("I cannot")

    @pytest.mark.parametrize("text", ["", "<think>and so on"])
    async def test_a_reply_that_is_cut_before_any_answer_is_a_failure(self, text: str) -> None:
        with pytest.raises(EpisodeError, match="cut at 512 tokens") as raised:
            await play(context([ModelReply(text, finish_reason="length")], "?"))
        assert raised.value.cause is Cause.REPLY_TRUNCATED

    async def test_a_reply_that_is_cut_later_counts_as_it_stands_with_one_warning(self) -> None:
        cut = ModelReply("it is 4", finish_reason="length")
        played = await play(context([cut, cut], "a", "b"))
        assert played.actions[0].action == "it is 4"
        assert len(played.warnings) == 1

    async def test_calls_that_nobody_offered_are_passed_over(self) -> None:
        assert (await play(context([called(("look", {}), text="hm")], "?", native=True))).actions[0].action == "hm"


class TestToolsOfTheApi:
    async def test_are_offered_and_their_calls_become_the_action(self) -> None:
        turn = Turn((user("?"),), (LOOK, WAIT))
        played = await play(context([called(("look", {"far": True}), ("wait", {}), text="so")], turn, native=True))
        assert played.requests[0].tools == (LOOK, WAIT)
        assert played.requests[0].messages == [user("?")]
        assert action(played) == {
            "text": "so",
            "tool_calls": [
                {"name": "look", "arguments": {"far": True}, "id": "c0"},
                {"name": "wait", "id": "c1"},
            ],
        }

    async def test_calls_are_recorded(self) -> None:
        played = await play(context([called(("look", {}))], Turn((user("?"),), (LOOK,)), native=True))
        assert [event.payload for event in played.events if event.kind is Kind.TOOL_CALL] == [
            {"id": "c0", "name": "look", "arguments": {}}
        ]

    async def test_signed_thoughts_stay_with_their_reply(self) -> None:
        thought = ({"type": "thinking", "thinking": "hm", "signature": "signed"},)
        for reply in (called(("look", {})), ModelReply("well")):
            turns = Turn((user("?"),), (LOOK,)), Turn((user("and now?"),))
            played = await play(context([replace(reply, blocks=thought), "done"], *turns, native=True))
            assert played.requests[1].messages[1].blocks == thought

    async def test_results_follow_their_calls(self) -> None:
        result = Message("tool", "a hill", tool_call_id="c0")
        turns = Turn((user("?"),), (LOOK,)), Turn((result, user("and now?")))
        played = await play(context([called(("look", {})), "done"], *turns, native=True))
        assert played.requests[1].messages[1].tool_calls == (ToolCall("c0", "look", {}),)
        assert played.requests[1].messages[2:] == [result, user("and now?")]
        assert played.requests[1].tools == (LOOK,)
        assert action(played, 1) == {"text": "done", "tool_calls": []}

    async def test_a_call_without_a_result_gets_an_empty_one_before_anything_else_is_said(self) -> None:
        late = Message("tool", "waited", tool_call_id="c1")
        turns = Turn((user("?"),), (LOOK, WAIT)), Turn((user("and now?"), late))
        played = await play(context([called(("look", {}), ("wait", {})), "done"], *turns, native=True))
        assert played.requests[1].messages[2:] == [
            Message("tool", "(no result)", tool_call_id="c0"),
            late,
            user("and now?"),
        ]

    async def test_tools_can_be_taken_back(self) -> None:
        turns = Turn((user("?"),), (LOOK,)), Turn((user("!"),), ())
        played = await play(context(["a", "b"], *turns, native=True))
        assert [request.tools for request in played.requests] == [(LOOK,), ()]
        assert (action(played), action(played, 1)) == ({"text": "a", "tool_calls": []}, "b")

    async def test_arguments_that_are_no_object_are_handed_on_as_they_are(self) -> None:
        played = await play(context([called(("look", "{far"))], Turn((user("?"),), (LOOK,)), native=True))
        assert action(played)["tool_calls"][0]["arguments"] == "{far"


class TestToolsAsText:
    async def test_are_listed_in_the_system_message(self) -> None:
        played = await play(context(["x"], Turn((user("?"),), (LOOK,), system="Be brief.")))
        system = played.requests[0].messages[0].text
        assert system.startswith("Be brief.")
        assert '"name": "look"' in system
        assert "JSON list of calls" in system
        assert played.requests[0].tools == ()

    async def test_an_able_model_can_be_asked_to_write_them_too(self) -> None:
        played = await play(context(['{"tool": "look"}'], Turn((user("?"),), (LOOK,)), native=True), tools="text")
        assert played.requests[0].tools == ()
        assert action(played)["tool_calls"] == [{"name": "look", "id": "text_0"}]

    @pytest.mark.parametrize(
        "text",
        [
            'First I look. [{"tool": "look", "arguments": {"far": true}}, {"tool": "wait", "arguments": {}}]',
            '{"tool": "look", "arguments": {"far": true}}\n{"name": "wait"}',
            '```json\n[{"name": "look", "arguments": {"far": true}}, {"name": "wait"}]\n```',
            '{"text": "", "tool_calls": [{"name": "look", "arguments": {"far": true}}, {"name": "wait"}]}',
        ],
    )
    async def test_calls_are_found_at_the_end_of_a_reply(self, text: str) -> None:
        played = await play(context([text], Turn((user("?"),), (LOOK, WAIT))))
        calls = [(call["name"], call.get("arguments", {})) for call in action(played)["tool_calls"]]
        assert calls == [("look", {"far": True}), ("wait", {})]
        assert action(played)["text"] == ""

    @pytest.mark.parametrize(
        "text", ['{"tool": "fly"}', 'I would look {"far": true}', '[{"tool": "look"}, {"tool": "fly"}]', "look()"]
    )
    async def test_other_replies_call_nothing_and_stay_as_they_are(self, text: str) -> None:
        played = await play(context([text], Turn((user("?"),), (LOOK,))))
        assert action(played) == {"text": text, "tool_calls": []}

    async def test_an_answer_spelled_out_without_calls_is_its_text(self) -> None:
        played = await play(context(['{"text": "no", "tool_calls": []}'], Turn((user("?"),), (LOOK,))))
        assert action(played) == {"text": "no", "tool_calls": []}

    async def test_results_are_told_by_the_user_under_the_name_of_the_tool(self) -> None:
        said = '{"tool": "look"}'
        turns = Turn((user("?"),), (LOOK,)), Turn((Message("tool", "a hill", tool_call_id="text_0"),))
        played = await play(context([said, "done"], *turns))
        assert played.requests[1].messages[2:] == [Message("assistant", said), user("Result of look: a hill")]

    async def test_calls_in_a_history_that_is_shown_are_spelled(self) -> None:
        past = Message("assistant", "Well.", tool_calls=(ToolCall("a", "look", {"far": True}),))
        turn = Turn((user("?"), past, Message("tool", "a hill", tool_call_id="a")), (LOOK,))
        messages = (await play(context(["x"], turn))).requests[0].messages
        assert messages[2] == Message("assistant", 'Well.\n[{"tool":"look","arguments":{"far":true}}]')
        assert messages[3] == user("Result of a: a hill")


@pytest.mark.parametrize("options", [{"toolz": "text"}, {"tools": "never"}, {"system_prompt": 3}])
def test_unusable_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="'chat'"):
        open_chat(options)
