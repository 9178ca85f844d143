"""The official SDK of MCP on the other side: its servers give tools to a run, its client plays our environments.

Needs MESOCOSM_TEST_GUESTS/mcp, an environment with the package `mcp` (2.x).
"""

import asyncio
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.client import McpClient
from mesocosm.mcp.errors import ServerEnded
from mesocosm.mcp.message import McpToolResult
from mesocosm.sandboxes.port import free_port

PYTHON = Path(os.environ.get("MESOCOSM_TEST_GUESTS", "/nowhere")) / "mcp" / "bin" / "python"
PROGRAMS = Path(__file__).parent / "mcp_programs"
WORD_GAME = Path(__file__).parents[2] / "examples" / "word-game"
GUESSING = Path(__file__).parents[1] / "environments" / "guessing.py"
MESOCOSM = (sys.executable, "-m", "mesocosm")

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="MESOCOSM_TEST_GUESTS names no folder with an environment called mcp"
)


@asynccontextmanager
async def over(transport: str) -> AsyncIterator[McpClient]:
    """Yield a client of the SDK's server."""
    script = [str(PYTHON), str(PROGRAMS / "server.py")]
    if transport == "stdio":
        async with McpClient(ServerAddress("stdio:" + shlex.join(script))) as client:
            yield client
        return
    port = free_port()
    process = await asyncio.create_subprocess_exec(*script, str(port), stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        while b"Uvicorn running" not in (await process.stderr.readline()):
            assert process.returncode is None
        async with McpClient(ServerAddress(f"http://127.0.0.1:{port}/mcp")) as client:
            yield client
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_tools_of_the_sdk_are_listed_and_called(transport: str) -> None:
    async with over(transport) as client:
        assert client.name == "adder"
        assert [tool.name for tool in await client.tools()] == ["add", "fail", "big", "die"]
        assert await client.call("add", {"a": 2, "b": 3}) == McpToolResult("5")
        wrong = await client.call("add", {"a": "x"})
        assert wrong.failed
        assert "Input should be a valid integer" in wrong.text
        assert (await client.call("fail", {})).failed
        assert (await client.call("nope", {})).failed
        assert len((await client.call("big", {"n": 10_000_000})).text) == 10_000_000
        with pytest.raises(ServerEnded):
            await client.call("die", {})


async def played(*words: str) -> str:
    """Return what the SDK's client prints of an episode."""
    process = await asyncio.create_subprocess_exec(
        str(PYTHON), str(PROGRAMS / "client.py"), *words, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


async def test_its_client_plays_an_environment_over_stdio() -> None:
    out = await played("word-game", *MESOCOSM, "env", "serve", str(WORD_GAME), "--protocol", "mcp", "--stdio")
    lines = out.splitlines()
    assert lines[0] == "reset step find_words"
    assert "Guess a five-letter word." in lines[1]
    assert "s..te fits: skate, slate, state, suite" in lines[2]
    assert re.search(r"The episode is over after \d+ steps, with a total reward of", lines[-1])


async def test_its_client_plays_an_environment_over_http() -> None:
    port = free_port()
    command = (*MESOCOSM, "env", "serve", f"{GUESSING}:Guess", "--protocol", "mcp", "--port", str(port))
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        while b"Ctrl-C ends" not in (await process.stderr.readline()):
            assert process.returncode is None
        out = await played("guess", f"http://127.0.0.1:{port}/mcp")
    finally:
        process.terminate()
        await process.communicate()
    assert out.splitlines()[0] == "reset step"
    assert "The episode" in out
