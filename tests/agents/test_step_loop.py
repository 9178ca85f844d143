import asyncio
import base64
from typing import Any

import pytest

from mesocosm.agents.loop import open_loop
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.info import BenchmarkInfo, Malformed
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import Capabilities, ModelReply, ModelSettings
from mesocosm.core.ports import Observation, Step
from mesocosm.testing.context import MemoryContext, RecordedAction, Said, ScriptedEnvironment

DOORS = {"type": "discrete", "enum_values": ["left", "right"]}
GUESS = {"type": "json", "schema": {"type": "object", "properties": {"guess": {"type": "string"}}}}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(60)).decode()


async def play(context: MemoryContext, **options: Any) -> MemoryContext:
    await open_loop(options).play(context)
    return context


async def failure(context: MemoryContext, **options: Any) -> EpisodeError:
    with pytest.raises(EpisodeError) as caught:
        await open_loop(options).play(context)
    return caught.value


def sent(context: MemoryContext, call: int) -> list[str]:
    return [message.text for message in context.requests[call].messages]


def retries(context: MemoryContext) -> list[Cause]:
    return [event.payload["cause"] for event in context.events if event.kind is Kind.RETRY]


class TestPlaying:
    async def test_goes_on_until_the_environment_ends_the_episode(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b", "c"), ["one", "two"]))
        assert context.over
        assert [acted.action for acted in context.actions] == ["one", "two"]

    async def test_ends_at_the_step_limit(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment(*"abcdef"), lambda _: "go", max_steps=2))
        assert context.steps == 2

    async def test_shows_the_step_and_how_many_are_left(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b", "c"), ["x", "y"], max_steps=2))
        assert sent(context, 0)[-1] == "[Step 1]\na\n\nSteps left, this one included: 2"
        assert sent(context, 1)[-1] == "[Step 2]\nb\n\nThis is the last step."

    async def test_without_a_limit_shows_the_observation_alone(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment({"pos": [1, 2]}, "end"), ["x"]))
        assert sent(context, 0)[-1] == '[Step 1]\n{"pos":[1,2]}'

    async def test_hands_reasoning_to_the_step(self) -> None:
        reply = ModelReply("Right is a wall.\nAction: left", reasoning="hidden thought")
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), [reply], action_space=DOORS))
        assert context.actions == [RecordedAction("left", "hidden thought\n\nRight is a wall.\nAction: left", "")]

    async def test_passes_the_settings_of_the_model_on(self) -> None:
        settings = ModelSettings("x/y", 0.7, 99, 0.9, extra={"seed": 1}, timeout_s=7)
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["x"], settings=settings))
        request = context.requests[0]
        assert (request.temperature, request.max_tokens, request.top_p) == (0.7, 99, 0.9)
        assert (request.extra, request.timeout_s) == ({"seed": 1}, 7)

    async def test_one_loop_plays_many_episodes_at_once(self) -> None:
        loop = open_loop({})
        info = BenchmarkInfo("many", "Many", "1", "0", "memory", ())
        contexts = [
            MemoryContext(ScriptedEnvironment(f"start {n}", "middle", "end"), lambda r: r.messages[1].text, info=info)
            for n in range(20)
        ]
        await asyncio.gather(*(loop.play(context) for context in contexts))
        for number, context in enumerate(contexts):
            assert [acted.action for acted in context.actions] == [f"[Step 1]\nstart {number}"] * 2

    async def test_one_loop_plays_different_benchmarks(self) -> None:
        loop = open_loop({})
        for space, reply in ((DOORS, "left"), (GUESS, '{"guess": "x"}'), (None, "text")):
            context = MemoryContext(ScriptedEnvironment("a", "b"), [reply], action_space=space)
            await loop.play(context)
            assert context.over

    async def test_failures_of_model_and_environment_pass_through(self) -> None:
        error = EpisodeError(Cause.MODEL_TIMEOUT, "too late")
        assert await failure(MemoryContext(ScriptedEnvironment("a", "b"), [error])) is error

    async def test_a_reply_that_was_only_mentioned_is_recorded_as_repaired(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["I would go left"], action_space=DOORS))
        assert [event.payload["repaired"] for event in context.events if event.kind is Kind.LOG] == [True]


class TestConversation:
    async def test_remembers_what_was_shown_and_answered(self) -> None:
        context = await play(
            MemoryContext(ScriptedEnvironment("a", "b", "c"), ["<think>hm</think>one", "two"]),
            system_prompt="Be brief.",
        )
        assert sent(context, 1)[1:] == ["[Step 1]\na", "one", "[Step 2]\nb"]
        assert sent(context, 1)[0].startswith("Be brief.")

    async def test_sends_the_same_objects_again(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment(*"abcd"), ["x", "y", "z"]))
        first, second, third = (request.messages for request in context.requests)
        assert first[0] is second[0] is third[0]
        assert first[1] is second[1] is third[1]
        assert second[2] is third[2]

    async def test_none_shows_the_present_alone(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b", "c"), ["x", "y"]), history="none")
        assert sent(context, 1)[1:] == ["[Step 2]\nb"]

    async def test_a_window_leaves_steps_out(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment(*"abcde"), list("wxyz")), history=1)
        assert sent(context, 3)[1:] == [
            "[Step 1]\na",
            "w",
            "(1 step left out here.)\n[Step 3]\nc",
            "y",
            "[Step 4]\nd",
        ]


class TestEnvironmentPrompt:
    async def test_stays_until_it_is_replaced(self) -> None:
        environment = ScriptedEnvironment(
            Observation("a", system_prompt="first"),
            Step(Observation("b")),
            Step(Observation("c"), system_prompt="second"),
            Step(Observation("d"), terminated=True),
        )
        context = await play(MemoryContext(environment, ["x", "y", "z"]))
        assert [sent(context, call)[0].split("\n")[0] for call in range(3)] == ["first", "first", "second"]
        messages = [request.messages[0] for request in context.requests]
        assert messages[0] is messages[1]

    async def test_of_the_manifest_holds_where_the_environment_says_nothing(self) -> None:
        info = BenchmarkInfo("a", "A", "1", "0", "memory", (), system_prompt="from the manifest")
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["x"], info=info))
        assert sent(context, 0)[0].startswith("from the manifest")

    async def test_an_empty_one_replaces_as_well(self) -> None:
        environment = ScriptedEnvironment(
            Observation("a", system_prompt="first"), Step(Observation("b"), system_prompt=""), "c"
        )
        context = await play(MemoryContext(environment, ["x", "y"]))
        assert "first" not in sent(context, 1)[0]


class TestMalformedActions:
    async def test_are_asked_for_once_more_with_what_is_wrong_and_allowed(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["Action: jump", "left"], action_space=DOORS))
        *_, shown, bad, objection = sent(context, 1)
        assert shown == "[Step 1]\na"
        assert bad == "Action: jump"
        assert "'jump' is not allowed" in objection
        assert "left, right" in objection
        assert retries(context) == [Cause.MALFORMED_ACTION]

    async def test_that_were_mended_leave_no_trace_in_the_conversation(self) -> None:
        replies: list[Said] = ["jump", "left", "right"]
        context = await play(MemoryContext(ScriptedEnvironment("a", "b", "c"), replies, action_space=DOORS))
        assert sent(context, 2)[1:] == ["[Step 1]\na", "left", "[Step 2]\nb"]

    async def test_fail_the_episode_after_the_last_reask(self) -> None:
        context = MemoryContext(ScriptedEnvironment("a", "b"), ["jump", "fly"], action_space=DOORS)
        error = await failure(context)
        assert error.cause is Cause.MALFORMED_ACTION
        assert "after 1 re-ask" in str(error)
        assert error.detail == "fly"
        assert context.actions == []

    @pytest.mark.parametrize("reask", [0, 3])
    async def test_are_asked_for_as_often_as_wished(self, reask: int) -> None:
        context = MemoryContext(ScriptedEnvironment("a", "b"), lambda _: "", action_space=DOORS)
        assert (await failure(context, reask=reask)).cause is Cause.MALFORMED_ACTION
        assert len(context.requests) == 1 + reask

    async def test_an_empty_reply_is_never_sent_back_as_empty(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["", "hello"]))
        assert all(message.content for message in context.requests[1].messages)

    async def test_bounds_are_told_again(self) -> None:
        space = {"type": "continuous", "bounds": {"low": 0, "high": 1}}
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["7", "0.7"], action_space=space))
        assert "at most 1" in sent(context, 1)[-1]
        assert "from 0 to 1" in sent(context, 1)[-1]


def cut(text: str) -> ModelReply:
    return ModelReply(text, finish_reason="length")


class TestRepliesThatAreCut:
    async def test_are_asked_for_with_more_tokens_where_the_space_is_structured(self) -> None:
        replies: list[Said] = [cut('{"guess": "cra'), '{"guess": "crane"}']
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), replies, action_space=GUESS))
        assert [request.max_tokens for request in context.requests] == [512, 2048]
        assert len(context.requests[0].messages) == len(context.requests[1].messages)
        assert retries(context) == [Cause.REPLY_TRUNCATED]
        assert context.actions[0].action == {"guess": "crane"}

    async def test_grow_fourfold_from_a_large_limit(self) -> None:
        settings = ModelSettings("x/y", max_tokens=1000)
        replies: list[Said] = [cut("{"), '{"guess": "x"}']
        context = await play(
            MemoryContext(ScriptedEnvironment("a", "b"), replies, action_space=GUESS, settings=settings)
        )
        assert context.requests[1].max_tokens == 4000

    async def test_fail_the_episode_when_they_are_cut_again(self) -> None:
        error = await failure(
            MemoryContext(ScriptedEnvironment("a", "b"), [cut('{"guess'), cut('{"guess')], action_space=GUESS)
        )
        assert error.cause is Cause.REPLY_TRUNCATED
        assert "raise max_tokens" in str(error)
        assert "2048" in str(error)

    async def test_a_whole_but_malformed_second_reply_is_asked_for_again(self) -> None:
        replies: list[Said] = [cut('{"guess'), "crane", '{"guess": "crane"}']
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), replies, action_space=GUESS))
        assert retries(context) == [Cause.REPLY_TRUNCATED, Cause.MALFORMED_ACTION]

    async def test_in_other_spaces_are_asked_for_again_and_shorter(self) -> None:
        context = MemoryContext(ScriptedEnvironment("a", "b"), [cut("hm"), cut("hm")], action_space=DOORS)
        error = await failure(context)
        assert error.cause is Cause.REPLY_TRUNCATED
        assert context.requests[1].max_tokens == 512
        assert "be shorter" in sent(context, 1)[-1]

    async def test_a_choice_only_mentioned_before_the_cut_is_not_taken(self) -> None:
        replies: list[Said] = [cut("Let me think about left and"), "Action: right"]
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), replies, action_space=DOORS))
        assert context.actions[0].action == "right"

    async def test_text_is_taken_with_a_warning(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b", "c"), [cut("a story"), cut("more")]))
        assert context.actions[0].action == "a story"
        assert len(context.warnings) == 1
        assert "max_tokens" in context.warnings[0]

    async def test_a_provider_that_takes_no_larger_limit_leaves_the_first_failure(self) -> None:
        rejected = EpisodeError(Cause.MODEL_REJECTED, "max_tokens is too large")
        error = await failure(
            MemoryContext(ScriptedEnvironment("a", "b"), [cut('{"guess'), rejected], action_space=GUESS)
        )
        assert error.cause is Cause.REPLY_TRUNCATED
        assert error.__cause__ is rejected


@pytest.mark.parametrize("reason", ["content_filter", "refusal", "SAFETY"])
async def test_a_withheld_reply_fails_the_episode_as_refused(reason: str) -> None:
    context = MemoryContext(ScriptedEnvironment("a", "b"), [ModelReply("I cannot", finish_reason=reason)])
    error = await failure(context)
    assert error.cause is Cause.REFUSED
    assert error.detail == "I cannot"


class TestStructuredOutput:
    CAPABLE = Capabilities(structured=True)

    def context(self, space: Any, reply: str, capabilities: Capabilities = CAPABLE) -> MemoryContext:
        return MemoryContext(ScriptedEnvironment("a", "b"), [reply], action_space=space, capabilities=capabilities)

    async def test_asks_for_reasoning_first_and_then_the_action(self) -> None:
        context = await play(self.context(DOORS, '{"reasoning": "a wall", "action": "left"}'))
        schema = context.requests[0].schema
        assert schema is not None
        assert list(schema["properties"]) == ["reasoning", "action"]
        assert context.actions == [RecordedAction("left", "a wall", "")]
        assert "JSON object" in sent(context, 0)[0]

    async def test_the_schema_is_built_once(self) -> None:
        loop = open_loop({})
        first = self.context(DOORS, "left")
        second = MemoryContext(
            ScriptedEnvironment("a", "b"),
            ["left"],
            action_space=first.action_space,
            capabilities=self.CAPABLE,
            info=first.info,
        )
        await loop.play(first)
        await loop.play(second)
        assert first.requests[0].schema is second.requests[0].schema
        assert first.requests[0].messages[0] is second.requests[0].messages[0]

    @pytest.mark.parametrize("space", [None, {"type": "text"}, {"type": "composite"}])
    async def test_is_not_used_for_text(self, space: Any) -> None:
        context = await play(self.context(space, "x"))
        assert context.requests[0].schema is None

    async def test_can_be_switched_on_and_off(self) -> None:
        off = await play(self.context(DOORS, "left"), structured="off")
        assert off.requests[0].schema is None
        on = await play(self.context(DOORS, "left", Capabilities()), structured="on")
        assert on.requests[0].schema is not None

    async def test_an_answer_in_plain_text_is_taken_all_the_same(self) -> None:
        context = await play(self.context(DOORS, "left"))
        assert context.actions[0].action == "left"


class TestDeviations:
    async def test_are_warned_of_once_each(self) -> None:
        space = {"type": "json", "schema": {"type": "object", "required": ["pos"]}}
        environment = ScriptedEnvironment({"x": 1}, {"x": 2}, {"pos": 1})
        context = await play(MemoryContext(environment, ["a", "b"], observation_space=space))
        assert context.warnings == ["an observation is outside the declared observation space: pos: is missing"]

    async def test_at_different_places_of_a_list_are_one_kind(self) -> None:
        space = {"type": "json", "schema": {"type": "array", "items": {"type": "integer"}}}
        environment = ScriptedEnvironment([1, "x"], ["y", 1, "z"], [1])
        context = await play(MemoryContext(environment, ["a", "b"], observation_space=space))
        assert len(context.warnings) == 1

    async def test_of_actions_are_warned_of_and_sent(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ['{"guess": 5}'], action_space=GUESS))
        assert context.actions[0].action == {"guess": 5}
        assert context.warnings == [
            "an action is outside the declared action space: guess: must be of type string, not integer"
        ]

    async def test_that_the_environment_noted_are_not_repeated(self) -> None:
        seen = Observation("text", notes=("an observation is outside the declared observation space: …",))
        context = await play(MemoryContext(ScriptedEnvironment(seen, {}), ["x"], observation_space={"type": "json"}))
        assert context.warnings == []


class TestImages:
    async def test_reach_a_model_that_sees(self) -> None:
        context = await play(
            MemoryContext(
                ScriptedEnvironment(Observation(PNG, "image/png"), "end"), ["x"], capabilities=Capabilities(images=True)
            )
        )
        content = context.requests[0].messages[-1].content
        assert content == (Text("[Step 1]"), Image("image/png", PNG))

    async def test_become_a_note_and_a_warning_for_one_that_does_not(self) -> None:
        environment = ScriptedEnvironment(Observation(PNG, "image/png"), Observation(PNG, "image/png"), "end")
        context = await play(MemoryContext(environment, ["x", "y"]))
        assert "(an image" in sent(context, 0)[-1]
        assert context.warnings == ["an observation holds images, and the model sees none"]

    async def test_are_shown_when_the_operator_says_so(self) -> None:
        context = await play(
            MemoryContext(ScriptedEnvironment(Observation(PNG, "image/png"), "end"), ["x"]), images="on"
        )
        assert isinstance(context.requests[0].messages[-1].content, tuple)


class TestTechniquesOfTheVow:
    async def test_that_are_unknown_cost_a_warning(self) -> None:
        vow = {"techniques": [{"technique_id": "calibration"}, {"technique_id": "luck", "required": True}]}
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["x"], vow=vow))
        assert len(context.warnings) == 2
        assert "'calibration'" in context.warnings[0]
        assert "requires" in context.warnings[1]

    async def test_cannot_make_us_import_what_they_name(self) -> None:
        vow = {"techniques": [{"technique_id": "antigravity:x"}]}
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["x"], vow=vow))
        assert "not known" in context.warnings[0]

    async def test_are_switched_off_by_the_operator(self) -> None:
        vow = {"techniques": [{"technique_id": "memory"}]}
        context = MemoryContext(ScriptedEnvironment("a", "b"), ["x"], vow=vow)
        await play(context, techniques={"memory": False})
        assert "Recent History" not in sent(context, 0)[0]

    async def test_are_switched_on_by_the_operator(self) -> None:
        context = await play(MemoryContext(ScriptedEnvironment("a", "b"), ["x"]), techniques={"memory": {}})
        assert "Recent History" in sent(context, 0)[0]


async def test_calls_of_tools_that_nobody_offered_are_malformed() -> None:
    reply = ModelReply("", tool_calls=(ToolCall("1", "fly", {}),), finish_reason="tool_calls")
    context = await play(MemoryContext(ScriptedEnvironment("a", "b"), [reply, "walk"]))
    *_, call, answer = context.requests[1].messages
    assert call.tool_calls == reply.tool_calls
    assert answer == Message("tool", "Not done: there is no tool 'fly' (tools: none).", tool_call_id="1", failed=True)


async def test_impossible_parameters_are_a_usage_error() -> None:
    with pytest.raises(UsageError):
        open_loop({"techniques": {"tool_calling": {"dispatch": "maybe"}}})


class TestRepliesWithoutAnAction:
    def context(self, *replies: str, malformed: Malformed = "ask", **more: Any) -> MemoryContext:
        info = BenchmarkInfo("memory", "Memory", "1", "0", "memory", (), malformed=malformed)
        return MemoryContext(ScriptedEnvironment("a", "b", "c"), replies, action_space=DOORS, info=info, **more)

    async def test_reach_the_environment_where_it_wants_them(self) -> None:
        context = await play(self.context("<think>hm</think> open sesame ", "left", malformed="pass"))
        assert [acted.action for acted in context.actions] == ["open sesame", "left"]
        assert (context.malformed, len(context.warnings)) == (1, 1)

    async def test_are_asked_for_again_where_the_environment_wants_actions(self) -> None:
        context = await play(self.context("open sesame", "left", "left"))
        assert ([acted.action for acted in context.actions], context.malformed) == (["left", "left"], 0)

    async def test_are_treated_as_the_operator_says(self) -> None:
        context = await play(self.context("open sesame", "left"), on_malformed="pass")
        assert [acted.action for acted in context.actions] == ["open sesame", "left"]
        error = await failure(self.context("open sesame", malformed="pass"), on_malformed="fail")
        assert (error.cause, "re-ask" in str(error)) == (Cause.MALFORMED_ACTION, False)

    async def test_come_out_of_their_wrapper(self) -> None:
        reply = '{"reasoning": "dark", "action": "open sesame"}'
        context = self.context(reply, "left", malformed="pass", capabilities=Capabilities(structured=True))
        assert (await play(context)).actions[0].action == "open sesame"

    async def test_are_asked_for_again_where_they_are_empty(self) -> None:
        context = await play(self.context("<think>hm</think>", "left", "left", malformed="pass"))
        assert (context.actions[0].action, context.malformed) == ("left", 0)
