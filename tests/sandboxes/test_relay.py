"""Ports of ours that a confined program may reach, and no others."""

import asyncio
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mesocosm.core.failure import EpisodeError
from mesocosm.sandboxes.bubblewrap import BubblewrapSandbox, available

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)

TALK = """
import socket, sys
for port, words in zip(map(int, sys.argv[1::2]), sys.argv[2::2]):
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(words.encode() * 50_000)
            connection.shutdown(socket.SHUT_WR)
            said = b""
            while data := connection.recv(65536):
                said += data
            print(port, len(said), said[:3].decode())
    except OSError as error:
        print(port, type(error).__name__)
"""


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    """Serve what says everything back in capitals, and return its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def said(sandbox: BubblewrapSandbox, cwd: Path, *arguments: str) -> list[str]:
    process = await sandbox.start([sys.executable, "-c", TALK, *arguments], cwd=cwd)
    async with asyncio.timeout(120):
        await process.wait()
    await process.stop(grace=0)
    await asyncio.gather(*sandbox._serving)
    assert process.returncode == 0, process.stderr_tail()
    return process.stdout_tail().splitlines()


async def test_a_reachable_port_is_reached_as_often_as_wanted(tmp_path: Path, echo: int) -> None:
    sandbox = BubblewrapSandbox(reachable=(echo,))
    port = str(echo)
    expected = [f"{port} 150000 ABC", f"{port} 150000 DEF"]
    assert await said(sandbox, tmp_path, port, "abc", port, "def") == expected


async def test_other_ports_are_not_reached(tmp_path: Path, echo: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert await said(BubblewrapSandbox(reachable=(echo,)), tmp_path, port, "x") == [
            f"{port} ConnectionRefusedError"
        ]


async def test_a_port_where_nobody_listens_ends_the_connection(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    (line,) = await said(BubblewrapSandbox(reachable=(port,)), tmp_path, str(port), "x")
    assert line.split()[1] in {"0", "ConnectionResetError", "BrokenPipeError", "OSError"}


async def test_several_programs_have_the_same_port_each_in_its_own_network(tmp_path: Path, echo: int) -> None:
    sandbox = BubblewrapSandbox(reachable=(echo,))
    both = await asyncio.gather(*(said(sandbox, tmp_path, str(echo), word) for word in ("abc", "xyz")))
    assert both == [[f"{echo} 150000 ABC"], [f"{echo} 150000 XYZ"]]


async def test_the_gate_is_closed_and_its_folder_gone_afterwards(tmp_path: Path, echo: int) -> None:
    script = """
import glob, os, socket, sys, time
(path,) = glob.glob(os.path.join(sys.argv[1], "mesocosm-*", "gate"))
outcome = "connected"
last = time.monotonic() + 10
while outcome == "connected" and time.monotonic() < last:
    try:
        with socket.socket(socket.AF_UNIX) as again:
            again.connect(path)
    except OSError as error:
        outcome = type(error).__name__
print(path)
print(outcome)
"""
    sandbox = BubblewrapSandbox(reachable=(echo,))
    process = await sandbox.start([sys.executable, "-c", script, tempfile.gettempdir()], cwd=tmp_path)
    async with asyncio.timeout(120):
        await process.wait()
    await asyncio.gather(*sandbox._serving)
    path, outcome = process.stdout_tail().splitlines()
    assert outcome == "ConnectionRefusedError"
    assert not Path(path).parent.exists()


async def test_a_program_that_cannot_be_started_leaves_nothing(tmp_path: Path, echo: int) -> None:
    sandbox = BubblewrapSandbox(reachable=(echo,))
    with pytest.raises(EpisodeError):
        await sandbox.start([sys.executable, "-c", ""], cwd=tmp_path / "missing")
    assert not sandbox._serving
