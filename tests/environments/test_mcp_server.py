"""Environments as MCP servers, played with our own client and with raw requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web
from tests.environments.guessing import Fragile, Guess, Painted

from mesocosm.core.message import ToolCall
from mesocosm.core.ports import Benchmark
from mesocosm.core.run import BenchmarkRef
from mesocosm.environments.benchmark import open_environment
from mesocosm.environments.inprocess import ClassBenchmark
from mesocosm.environments.mcp_server import McpEndpoint, PlayerTools
from mesocosm.environments.player_session import PlayerSession
from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.client import McpClient
from mesocosm.mcp.errors import ServerEnded, ServerUnreachable
from mesocosm.mcp.message import RpcMessage

WORD_GAME = Path(__file__).parents[2] / "examples" / "word-game"


@asynccontextmanager
async def served(env_class: type = Guess, *, most: int = 8, idle_s: float = 3600.0) -> AsyncIterator[str]:
    """Yield the URL of a server of `env_class`."""
    app = web.Application()
    McpEndpoint(ClassBenchmark(env_class), most=most, idle_s=idle_s).add_to(app, "/mcp")
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()


def client(url: str) -> McpClient:
    return McpClient(ServerAddress(url))


async def test_an_episode_is_played_with_tools() -> None:
    async with served() as url, client(url) as server:
        tools = {tool.name: tool for tool in await server.tools()}
        assert list(tools) == ["reset", "step"]
        assert tools["step"].parameters["properties"]["action"]["enum"][0] == "0"
        assert "Guess the number from 0 to 9." in tools["reset"].description
        first = await server.call("reset", {"seed": 3})
        assert first.text == "Reply with a number.\nWhich number?\nSeed 3. Steps left: 5."
        told = [await server.call("step", {"action": str(number)}) for number in range(10)]
    ended = next(place for place, one in enumerate(told) if "The episode " in one.text)
    assert ended < 5
    assert all(one.failed and "reset begins another" in one.text for one in told[ended + 1 :])


async def test_what_the_player_did_wrong_is_a_failed_result() -> None:
    async with served() as url, client(url) as server:
        assert (await server.call("step", {"action": "1"})).text == "no episode has begun; reset first"
        assert "seed: must be a whole number" in (await server.call("reset", {"seed": "x"})).text
        await server.call("reset", {})
        wrong = await server.call("step", {"action": "eleven"})
        assert wrong.failed
        assert wrong.text.startswith('action: must be one of "0"')
        assert (await server.call("dance", {})).text == "there is no tool 'dance'; there are reset, step"


async def test_a_failure_of_the_environment_is_a_failed_result() -> None:
    async with served(Fragile) as url, client(url) as server:
        await server.call("reset", {})
        failed = await server.call("step", {"x": "luck", "metadata": ""})
    assert (failed.failed, failed.text) == (True, "Fragile.step() failed: ValueError: no luck")


async def test_a_picture_is_sent_as_one() -> None:
    tools = PlayerTools(PlayerSession(ClassBenchmark(Painted)))
    answer = await tools.answer(RpcMessage("2.0", 1, "tools/call", {"name": "reset"}))
    content = msgspec.json.decode(answer or b"")["result"]["content"]
    assert content[0] == {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}


async def test_declared_tools_are_offered_and_become_actions() -> None:
    benchmark: Benchmark = open_environment(BenchmarkRef("environment", str(WORD_GAME / "benchanything.json")))
    tools = PlayerTools(PlayerSession(benchmark))
    assert [tool["name"] for tool in tools.tools()] == ["reset", "step", "find_words"]
    assert tools._form is not None
    action = tools._form.action(ToolCall("", "find_words", {"pattern": "s..te"}))
    assert action == '{"tool": "find_words", "arguments": {"pattern": "s..te"}}'


async def test_sessions_are_apart_and_end() -> None:
    async with served() as url, client(url) as one, client(url) as other:
        await one.call("reset", {"seed": 1})
        assert (await other.call("step", {"action": "1"})).text == "no episode has begun; reset first"


async def test_more_sessions_than_there_may_be_are_refused_and_idle_ones_make_room() -> None:
    async with served(most=1) as url, client(url):
        with pytest.raises(ServerUnreachable, match="all 1 sessions are taken; try again later"):
            async with client(url):
                pass
    async with served(most=1, idle_s=-1.0) as url, client(url) as first, client(url) as second:
        await second.call("reset", {})
        with pytest.raises(ServerEnded, match="has ended the session"):
            await first.call("reset", {})


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("nonsense", 400, -32700),
        ("[]", 400, -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}', 400, -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}', 200, -32601),
    ],
)
async def test_requests_that_cannot_be_answered_have_an_error(body: str, status: int, code: int) -> None:
    async with served() as url, aiohttp.ClientSession() as raw:
        answer = await raw.post(url, data=body)
        assert (answer.status, (await answer.json())["error"]["code"]) == (status, code)


async def test_pages_of_other_sites_are_refused() -> None:
    async with served() as url, aiohttp.ClientSession() as raw:
        assert (await raw.post(url, data="{}", headers={"Origin": "http://evil.example"})).status == 403


async def test_the_version_of_the_client_is_taken_if_it_is_known() -> None:
    tools = PlayerTools(PlayerSession(ClassBenchmark(Guess)))
    for asked, given in (("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")):
        answer = await tools.answer(RpcMessage("2.0", 1, "initialize", {"protocolVersion": asked}))
        assert msgspec.json.decode(answer or b"")["result"]["protocolVersion"] == given
