"""MCP servers that are started by a command, well-behaved or not."""

import asyncio
import os
import select
import sys

import pytest
from tests.mcp.double import command

from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.client import McpClient
from mesocosm.mcp.errors import McpError, ProtocolBroken, ServerEnded, ServerSilent, ServerUnreachable
from mesocosm.mcp.message import McpToolResult

PATIENT_S = 60.0
NAMES = ["add", "odd.name/x", "fail", "big", "tell", "die", "hang", "structured", "picture", "child"]


def client(fault: str = "", *, seconds: float = PATIENT_S, **more: str) -> McpClient:
    return McpClient(
        ServerAddress(command(fault), env=tuple(more)), seconds=seconds, environment={**os.environ, **more}
    )


async def test_tools_are_listed_and_called() -> None:
    async with client() as server:
        tools = await server.tools()
        assert [tool.name for tool in tools] == NAMES
        assert tools[0].description == "Add two numbers."
        assert tools[0].parameters["required"] == ["a", "b"]
        assert await server.call("add", {"a": 2, "b": 3}) == McpToolResult("5")
        assert server.name == "double"


async def test_pages_of_tools_are_joined() -> None:
    async with client("pages") as server:
        assert [tool.name for tool in await server.tools()] == NAMES


async def test_calls_may_overlap() -> None:
    async with client() as server:
        found = await asyncio.gather(*(server.call("add", {"a": n, "b": n}) for n in range(20)))
    assert [one.text for one in found] == [str(2 * n) for n in range(20)]


@pytest.mark.parametrize("fault", ["older", "greets", "noise", "asks"])
async def test_what_is_unusual_but_allowed_or_common_does_no_harm(fault: str) -> None:
    async with client(fault) as server:
        assert (await server.call("add", {"a": 2, "b": 3})).text == "5"


async def test_an_error_is_a_failed_result_and_the_connection_lives_on() -> None:
    async with client() as server:
        assert await server.call("fail", {}) == McpToolResult("no luck", failed=True)
        assert await server.call("nope", {}) == McpToolResult("Unknown tool: nope", failed=True)
        assert await server.call("add", {"a": 1}) == McpToolResult("a and b are needed", failed=True)
        assert (await server.call("add", {"a": 2, "b": 3})).text == "5"


async def test_results_that_are_no_text_are_told_as_text() -> None:
    async with client() as server:
        assert (await server.call("structured", {})).text == '{"n":1}'
        assert (await server.call("picture", {})).text == "[image/png, 5 bytes, which are not shown]"
        assert len((await server.call("big", {})).text) == 10_000_000


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        ("twice", ProtocolBroken, "lists the tool 'add' twice"),
        ("circles", ProtocolBroken, "lists its tools in circles: the cursor 'again' comes again"),
        ("nonsense", ProtocolBroken, "sent something that is no JSON-RPC message"),
    ],
)
async def test_a_list_of_tools_that_cannot_be_meant_is_an_error(fault: str, kind: type[McpError], said: str) -> None:
    with pytest.raises(kind, match=said):
        async with client(fault) as server:
            await server.tools()


async def test_a_message_that_is_too_large_fails_its_call_alone() -> None:
    async with client("flood") as server:
        with pytest.raises(ProtocolBroken, match=r"a message of more than 33,554,432 bytes"):
            await server.call("add", {"a": 2, "b": 3})
        assert [tool.name for tool in await server.tools()] == NAMES


async def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(ProtocolBroken, match="speaks version '1999-01-01' of the protocol; known are 2025-11-25"):
        async with client("old"):
            pass


async def test_a_server_that_refuses_to_begin_says_why() -> None:
    with pytest.raises(ServerUnreachable, match="refuses to begin: not today"):
        async with client("refuses"):
            pass


async def test_a_process_that_dies_is_told_with_its_last_words() -> None:
    async with client() as server:
        with pytest.raises(ServerEnded, match="ended with exit code 3: out of memory") as raised:
            await server.call("die", {})
        assert raised.value.stderr == "out of memory"
        with pytest.raises(ServerEnded, match="exit code 3"):
            await server.tools()


async def test_a_call_that_hangs_ends_at_the_timeout_and_so_does_the_process() -> None:
    async with client(seconds=0.2) as server:
        with pytest.raises(ServerSilent, match=r"did not answer tools/call of hang within 0\.2 s"):
            await server.call("hang", {})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("/nowhere/server", "cannot be started: /nowhere/server: No such file or directory"),
        ("false", "ended with exit code 1"),
        ("echo hello", "ended with exit code 0; it wrote 'hello', which is no message"),
    ],
)
async def test_a_command_that_is_no_server_is_an_error(words: str, said: str) -> None:
    with pytest.raises(ServerUnreachable, match=said):
        async with McpClient(ServerAddress(f"stdio:{words}")):
            pass


async def test_only_named_variables_reach_the_process_and_their_values_never_come_back() -> None:
    secrets = {"TOOL_TOKEN": "zebra-banana-quark"}
    given = {**os.environ, **secrets, "OPENAI_API_KEY": "sk-of-the-model-0123456789"}
    async with McpClient(ServerAddress(command(), env=("TOOL_TOKEN",)), environment=given) as server:
        assert (await server.call("tell", {})).text == "[redacted] unset"
    async with McpClient(ServerAddress(command()), environment=given) as server:
        assert (await server.call("tell", {})).text == "unset unset"


async def test_the_end_of_a_connection_ends_the_process_with_its_children() -> None:
    async with client() as server:
        watched = [os.pidfd_open(int(pid)) for pid in (await server.call("child", {})).text.split()]
    assert _over(watched)


async def test_a_cancelled_caller_leaves_no_process() -> None:
    started = asyncio.Event()
    watched: list[int] = []

    async def use() -> None:
        async with client() as server:
            watched.extend(os.pidfd_open(int(pid)) for pid in (await server.call("child", {})).text.split())
            started.set()
            await server.call("hang", {})

    task = asyncio.create_task(use())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _over(watched)


async def test_a_process_that_reads_nothing_more_ends_when_its_client_is_killed() -> None:
    code = f"""
import asyncio
from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.client import McpClient

async def main():
    async with McpClient(ServerAddress({command()!r})) as server:
        print(server._connection._process.pid, flush=True)
        await server.call("hang", {{}})

asyncio.run(main())
"""
    client = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert client.stdout is not None
    watched = [os.pidfd_open(int(await client.stdout.readline()))]
    client.kill()
    await client.wait()
    assert _over(watched)


def _over(watched: list[int]) -> bool:
    """Return whether the processes of these descriptors have ended; wait for them as long as a test may take."""
    ended = [bool(select.select([fd], [], [], PATIENT_S)[0]) for fd in watched]
    for fd in watched:
        os.close(fd)
    return all(ended)
