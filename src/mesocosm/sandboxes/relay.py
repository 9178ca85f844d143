"""Forward connections from a program without a network to loopback ports of this machine."""

import asyncio
import contextlib
import json
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

INHERITED_AS = 64
"""Number of the first descriptor that a program inherits from its relay."""

Taker = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection until it ends. An OSError from it closes the connection."""


class Relay:
    """Forward connections to `ports` on a confined program's loopback to the same ports of this machine.

    A port with a taker needs no port of this machine: the taker serves its connections. The program receives
    `variables`, which the programs that confine it do not see: some (PATH, LD_PRELOAD) would give it our rights there.
    It inherits `sockets` as descriptors INHERITED_AS and following; the relay closes our copies.
    """

    def __init__(
        self,
        ports: Sequence[int],
        *,
        takers: Mapping[int, Taker] | None = None,
        variables: Mapping[str, str] | None = None,
        sockets: Sequence[socket.socket] = (),
        most: int = MOST_CONNECTIONS,
    ) -> None:
        self._takers = dict(takers or {})
        self._variables = dict(variables or {})
        self._sockets = list(sockets)
        self._most = most
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
        self._close_sockets()
        self._folder.remove()

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        connection, _ = await loop.sock_accept(self._listener)
        # Only the gate, which runs before the program, may connect here.
        self._listener.close()
        with connection:
            connection.settimeout(_SECONDS)
            _, numbers, _, _ = await asyncio.to_thread(socket.recv_fds, connection, 16, len(self._ports))
            await asyncio.to_thread(_hand_in, connection, self._sockets, self._variables)
            self._close_sockets()
        for number, port in zip(numbers, self._ports, strict=False):
            server = await asyncio.start_server(partial(self._take, port), sock=socket.socket(fileno=number))
            self._servers.append(server)

    def _close_sockets(self) -> None:
        for one in self._sockets:
            one.close()

    def _take(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._carrying) >= self._most:
            writer.close()
            return
        taker = self._takers.get(port, partial(carry, port))
        task = asyncio.ensure_future(_served(taker, reader, writer))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)


async def _served(taker: Taker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with contextlib.suppress(OSError):
            await taker(reader, writer)
    finally:
        writer.close()


def _hand_in(connection: socket.socket, sockets: Sequence[socket.socket], variables: Mapping[str, str]) -> None:
    socket.send_fds(connection, [b"+"], [one.fileno() for one in sockets])
    connection.sendall(json.dumps(variables).encode())


async def carry(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward one connection to a port of this machine until both sides have closed it. Raises OSError."""
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
