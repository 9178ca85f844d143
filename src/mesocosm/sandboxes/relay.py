"""Forward connections from a program without a network to loopback ports of this machine."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.sandboxes.scratch import ScratchFolder

_SHARE_PORTS = Path(__file__).with_name("share_ports.py")
_CHUNK = 64 * 1024
_SECONDS = 10.0
MOST_CONNECTIONS = 256
"""Maximum number of connections of one program; further ones are closed immediately."""


Taker = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection until it ends. An OSError from it closes the connection."""


class Relay:
    """Forward connections to `ports` on a confined program's loopback to the same ports of this machine.

    A port with a taker needs no port of this machine: the taker serves its connections.
    """

    def __init__(self, ports: Sequence[int], *, takers: Mapping[int, Taker] | None = None) -> None:
        self._takers = dict(takers or {})
        self._ports = tuple(dict.fromkeys(ports))
        self._folder = ScratchFolder()
        self.socket = self._folder.path / "gate"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.socket))
        # The program's account must be able to connect; other accounts cannot enter the folder.
        self.socket.chmod(0o666)
        self._listener.listen(1)
        self._listener.settimeout(0)
        self._servers: list[asyncio.Server] = []
        self._carrying: set[asyncio.Task[None]] = set()

    def through_gate(self, command: Sequence[str], *, python: str | None = None) -> list[str]:
        """Return the command that opens the ports inside the sandbox and then executes `command`.

        `python` is the interpreter inside, by default ours.
        """
        found = python or str(Path(sys.executable).resolve())
        gate = [found, "-I", "-S", "-c", _SHARE_PORTS.read_text(encoding="utf-8")]
        return [*gate, str(self.socket), *map(str, self._ports), "--", *command]

    async def serve(self, process: ForeignProcess) -> None:
        """Forward connections until the program ends."""
        opening = asyncio.ensure_future(self._open())
        try:
            await process.wait()
        finally:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            self.close()

    def close(self) -> None:
        """Close every connection and all ports."""
        for server in self._servers:
            server.close()
        for task in self._carrying:
            task.cancel()
        self._listener.close()
        self._folder.remove()

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        connection, _ = await loop.sock_accept(self._listener)
        # Only the gate, which runs before the program, may connect here.
        self._listener.close()
        with connection:
            connection.settimeout(_SECONDS)
            _, numbers, _, _ = await asyncio.to_thread(socket.recv_fds, connection, 16, len(self._ports))
        for number, port in zip(numbers, self._ports, strict=False):
            server = await asyncio.start_server(partial(self._take, port), sock=socket.socket(fileno=number))
            self._servers.append(server)

    def _take(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._carrying) >= MOST_CONNECTIONS:
            writer.close()
            return
        taker = self._takers.get(port, partial(_carry, port))
        task = asyncio.ensure_future(_served(taker, reader, writer))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)


async def _served(taker: Taker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        await taker(reader, writer)
    writer.close()


async def _carry(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward one connection in both directions until both sides have closed it."""
    async with asyncio.timeout(_SECONDS):
        there, here = await asyncio.open_connection("127.0.0.1", port)
    try:
        await asyncio.gather(_pour(reader, here), _pour(there, writer))
    finally:
        here.close()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
