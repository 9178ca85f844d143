"""Tools of MCP servers in a conversation and in the step loop: who calls them, and what their failures mean."""

import re
from typing import Any

import pytest
from tests.mcp.double import command, url_server

from mesocosm.agents.chat import open_chat
from mesocosm.agents.loop import open_loop
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, RunAborted, UsageError
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, Tool
from mesocosm.core.turn import Turn
from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.message import ToolDefinition
from mesocosm.mcp.offer import PinnedServer, ToolOffer, pin
from mesocosm.testing.context import MemoryContext, Said, ScriptedEnvironment

NATIVE = Capabilities(tools=True)
LOOK = Tool("look", "Look around.", {"type": "object", "properties": {}})


def calling(*calls: tuple[str, Any], text: str = "") -> ModelReply:
    made = tuple(ToolCall(f"c{n}", name, arguments) for n, (name, arguments) in enumerate(calls))
    return ModelReply(text, tool_calls=made, finish_reason="tool_calls")


def context(replies: list[Said], *shown: Any, native: bool = True, **more: Any) -> MemoryContext:
    data = [turn.data() if isinstance(turn, Turn) else turn for turn in (*(shown or ("2 + 3?",)), "end")]
    capabilities = NATIVE if native else Capabilities()
    return MemoryContext(ScriptedEnvironment(*data), replies, capabilities=capabilities, **more)


async def play(played: MemoryContext, offer: ToolOffer, **options: Any) -> MemoryContext:
    await open_chat({"mcp": offer.document(), **options}).play(played)
    return played


def offer(fault: str = "", **more: Any) -> ToolOffer:
    return pin([ServerAddress(command(fault))], **more)


def tool_events(played: MemoryContext) -> list[Any]:
    return [{**event.payload, "seconds": 0} for event in played.events if event.kind is Kind.TOOL_CALL]


async def test_a_call_is_made_recorded_and_given_back_until_the_model_answers() -> None:
    played = await play(context([calling(("add", {"a": 2, "b": 3})), "5"]), offer())

    first, second = played.requests
    assert [tool.name for tool in first.tools][:2] == ["add", "odd_name_x"]
    assert [message.role for message in second.messages] == ["user", "assistant", "tool"]
    assert second.messages[-1] == Message("tool", "5", tool_call_id="c0")
    assert played.actions[0].action == "5"
    assert tool_events(played) == [
        {"id": "c0", "name": "add", "arguments": {"a": 2, "b": 3}, "server": command(), "result": "5", "seconds": 0}
    ]


async def test_several_calls_of_one_reply_are_made_in_order() -> None:
    replies: list[Said] = [calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})), "done"]
    played = await play(context(replies), offer())
    assert [message.text for message in played.requests[1].messages[-2:]] == ["2", "4"]


async def test_an_error_of_a_tool_is_shown_to_the_model_as_a_failure() -> None:
    replies: list[Said] = [calling(("fail", {}), ("nope", {}), ("add", "{not json"), ("add", {})), "done"]
    played = await play(context(replies), offer())
    told = played.requests[1].messages[-4:]
    assert all(message.failed for message in told)
    assert told[0].text == "no luck"
    assert told[1].text.startswith("there is no tool 'nope'; there are add, odd_name_x, fail")
    assert [message.text for message in told[2:]] == ["the arguments are no JSON object", "a and b are needed"]
    assert [event.get("failed") for event in tool_events(played)] == [True] * 4


async def test_a_tool_with_odd_characters_is_called_by_its_own_name() -> None:
    played = await play(context([calling(("odd_name_x", {})), "done"]), offer())
    assert played.requests[1].messages[-1].text == "odd"
    assert tool_events(played)[0]["tool"] == "odd.name/x"


async def test_a_model_without_tools_calls_them_in_its_text() -> None:
    replies: list[Said] = ['[{"tool": "add", "arguments": {"a": 2, "b": 3}}]', "5"]
    played = await play(context(replies, native=False), offer())
    assert "Add two numbers." in played.requests[0].messages[0].text
    assert played.requests[0].tools == ()
    assert played.requests[1].messages[-1] == Message("user", "Result of add: 5")
    assert played.actions[0].action == "5"


async def test_a_benchmark_keeps_its_own_tools_beside_those_of_servers() -> None:
    turn = Turn((Message("user", "2 + 3?"),), (LOOK,))
    replies: list[Said] = [calling(("add", {"a": 2, "b": 3}), ("look", {})), "done"]
    played = context(replies, turn, Turn((Message("tool", "a wall", tool_call_id="c1"),)))
    await play(played, offer())
    assert played.actions[0].action["tool_calls"] == [{"name": "look", "id": "c1"}]
    told = played.requests[1].messages[-2:]
    assert [(message.tool_call_id, message.text) for message in told] == [("c0", "5"), ("c1", "a wall")]


async def test_two_tools_of_one_name_end_the_run() -> None:
    turn = Turn((Message("user", "?"),), (Tool("add"),))
    with pytest.raises(RunAborted, match="the benchmark has a tool 'add', and so has the MCP server"):
        await play(context(["x"], turn), offer())


async def test_a_model_that_only_calls_tools_fails_after_the_rounds() -> None:
    played = context([calling(("add", {"a": 1, "b": 1}))] * 3)
    with pytest.raises(EpisodeError, match="called tools more than 2 times in a row; --mcp-rounds") as raised:
        await play(played, offer(rounds=2))
    assert raised.value.cause is Cause.MALFORMED_ACTION
    assert len(tool_events(played)) == 2


async def test_a_long_result_is_cut_and_both_sides_are_told() -> None:
    played = await play(context([calling(("big", {})), "done"]), offer(characters=100))
    assert played.requests[1].messages[-1].text == "x" * 100 + "\n[cut: this is the beginning of 10,000,000 characters]"
    assert played.warnings == ["a result of the tool big was cut after 100 characters (--mcp-characters)"]


@pytest.mark.parametrize(
    ("tool", "cause", "said"),
    [
        ("die", Cause.ENVIRONMENT_ERROR, "ended with exit code 3: out of memory"),
        ("hang", Cause.ENVIRONMENT_TIMEOUT, "did not answer tools/call of hang within 0.5 s"),
    ],
)
async def test_a_server_that_fails_is_not_a_failure_of_the_model(tool: str, cause: Cause, said: str) -> None:
    pinned = offer()
    impatient = ToolOffer(pinned.servers, timeout=0.5) if tool == "hang" else pinned
    played = context([calling((tool, {})), "done"])
    with pytest.raises(EpisodeError, match=re.escape(said)) as raised:
        await play(played, impatient)
    assert raised.value.cause is cause
    assert not raised.value.rule.valid
    assert said in tool_events(played)[0]["error"]


async def test_a_server_that_is_away_leaves_the_episode_pending() -> None:
    pinned = PinnedServer("http://127.0.0.1:9/mcp", tools=(ToolDefinition("add"),))
    with pytest.raises(EpisodeError, match="cannot be reached") as raised:
        await play(context(["x"]), ToolOffer((pinned,)))
    assert raised.value.cause is Cause.ENVIRONMENT_UNREACHABLE
    assert raised.value.rule.pending


async def test_a_refused_credential_ends_the_run() -> None:
    async with url_server(key="k") as server:
        pinned = PinnedServer(server.url, tools=(ToolDefinition("twice"),))
        with pytest.raises(RunAborted, match="refuses access"):
            await play(context(["x"]), ToolOffer((pinned,)))


async def test_other_tools_than_the_run_began_with_end_it() -> None:
    with pytest.raises(RunAborted, match=r"offers other tools than when the run began \(changed: add\)"):
        await play(context(["x"]), offer("changed"))


async def test_a_program_has_its_own_tools() -> None:
    played = context(["x"])
    played.program = True
    with pytest.raises(RunAborted, match="runs a program, which has its own tools"):
        await play(played, offer())


class TestStepLoop:
    async def test_a_call_takes_no_step_and_its_result_is_shown(self) -> None:
        replies = iter([calling(("add", {"a": 2, "b": 3})), ModelReply("5")])

        def reply(request: ModelRequest) -> Said:
            return next(replies)

        played = MemoryContext(
            ScriptedEnvironment("2 + 3?", "end"), reply, action_space={"type": "text"}, capabilities=NATIVE
        )
        await open_loop({"mcp": offer().document()}).play(played)
        assert [action.action for action in played.actions] == ["5"]
        assert any(message.text == "5" and message.role == "tool" for message in played.requests[1].messages)
        assert [event["result"] for event in tool_events(played)] == ["5"]

    async def test_rounds_without_an_action_are_limited(self) -> None:
        played = MemoryContext(
            ScriptedEnvironment("2 + 3?", "end"),
            lambda _: calling(("add", {"a": 2, "b": 3})),
            action_space={"type": "text"},
            capabilities=NATIVE,
        )
        with pytest.raises(EpisodeError, match="called tools 3 times in a row without an action"):
            await open_loop({"mcp": offer(rounds=3).document()}).play(played)

    def test_a_profile_settles_its_own_tools(self) -> None:
        with pytest.raises(UsageError, match="mcp cannot be chosen"):
            open_loop({"profile": "swecc-0.2", "mcp": offer().document()})
