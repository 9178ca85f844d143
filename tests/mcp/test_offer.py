"""What MCP servers offer: asked once before a run, pinned in its settings, under names that models may call."""

import pytest
from tests.mcp.double import command

from mesocosm.core.failure import UsageError
from mesocosm.core.run import AgentSettings
from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.message import ToolDefinition
from mesocosm.mcp.offer import PinnedServer, ToolOffer, differences, offered_to, pin, read_offer


def server(name: str, *tools: str) -> PinnedServer:
    return PinnedServer(f"stdio:{name}", name=name, tools=tuple(map(ToolDefinition, tools)))


def test_the_tools_of_a_server_are_pinned_with_its_address() -> None:
    offer = pin([ServerAddress(command("pages"))], rounds=3)
    assert offer.servers[0].name == "pages".replace("pages", "double")
    assert [tool.name for tool in offer.servers[0].tools][:2] == ["add", "odd.name/x"]
    assert offer.rounds == 3
    assert read_offer(offer.document()) == offer


async def test_it_works_on_a_thread_with_an_event_loop() -> None:
    assert pin([ServerAddress(command())]).servers[0].tools


@pytest.mark.parametrize(
    ("fault", "said"), [("none", "offers no tools; leave it out"), ("twice", "lists the tool 'add' twice")]
)
def test_a_server_that_cannot_be_used_is_an_error_of_the_call(fault: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pin([ServerAddress(command(fault))])


def test_names_have_the_characters_that_models_may_use() -> None:
    tools = ToolOffer((server("a", "x.y/z", "x_y_z", "é" * 70, ""),)).tools()
    assert list(tools) == ["x_y_z", "x_y_z_2", "_" * 64, "tool"]
    assert [one.name for one in tools.values()] == ["x.y/z", "x_y_z", "é" * 70, ""]


def test_tools_of_one_name_get_the_name_of_their_server() -> None:
    tools = ToolOffer((server("one", "read", "only"), server("two", "read"), server("", "read"))).tools()
    assert list(tools) == ["one_read", "only", "two_read", "server3_read"]
    assert [one.place for one in tools.values()] == [0, 0, 1, 2]


def test_servers_of_one_name_are_told_apart_too() -> None:
    assert list(ToolOffer((server("same", "read"), server("same", "read"))).tools()) == ["same_read", "same_read_2"]


def test_differences_name_the_tools() -> None:
    before = [ToolDefinition("a"), ToolDefinition("b"), ToolDefinition("c")]
    now = [ToolDefinition("d"), ToolDefinition("b", "new"), ToolDefinition("a")]
    assert differences(before, now) == "gone: c; new: d; changed: b"
    assert differences(before, before[::-1]) == ""


def test_only_agents_that_talk_to_a_model_take_an_offer() -> None:
    offer = ToolOffer((server("a", "x"),))
    assert offered_to(AgentSettings("chat", {"tools": "text"}), offer).options["mcp"] == offer.document()
    assert offered_to(AgentSettings("program"), None) == AgentSettings("program")
    with pytest.raises(UsageError, match="the agent 'program' takes no MCP servers; chat and loop do"):
        offered_to(AgentSettings("program"), offer)


@pytest.mark.parametrize("wrong", [{}, [], {"servers": 1}, {"servers": [], "rounds": 0}, {"servers": [], "more": 1}])
def test_an_option_that_is_no_offer_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match="the option mcp of the agent"):
        read_offer(wrong)
