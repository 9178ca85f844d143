"""Doors of a container: loopback ports in its network whose connections are served by us."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.containers.command import run_command
from mesocosm.sandboxes.relay import MOST_CONNECTIONS, Taker

LOOPBACK = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
"""Variables that lead programs past a proxy to the doors themselves."""
_LISTEN = str(Path(__file__).with_name("listen.py"))
_SECONDS = 20.0


class Doors:
    """Serves connections to ports in the network of a process, each port by its taker, until `close`."""

    def __init__(self, takers: Mapping[int, Taker]) -> None:
        self._takers = dict(takers)
        self._servers: list[asyncio.Server] = []
        self._serving: set[asyncio.Task[None]] = set()

    async def open(self, pid: int) -> None:
        """Listen in the network of process `pid`. Raises EpisodeError (sandbox_failed) if it cannot be entered."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            words = [sys.executable, "-I", "-S", _LISTEN, str(pid), str(theirs.fileno()), *map(str, self._takers)]
            ended = await run_command(words, seconds=_SECONDS, pass_fds=(theirs.fileno(),))
            if ended.code or ended.late:
                said = ended.err.decode(errors="replace").strip()
                raise EpisodeError(Cause.SANDBOX_FAILED, f"the container gets no door to its model: {said}")
            _, numbers, _, _ = socket.recv_fds(ours, 16, len(self._takers))
        for number, port in zip(numbers, self._takers, strict=True):
            server = await asyncio.start_server(partial(self._take, port), sock=socket.socket(fileno=number))
            self._servers.append(server)

    def _take(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= MOST_CONNECTIONS:
            writer.close()
            return
        task = asyncio.ensure_future(_served(self._takers[port], reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def close(self) -> None:
        """End every connection, and listen no more."""
        for server in self._servers:
            server.close()
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


async def _served(taker: Taker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with contextlib.suppress(OSError):
            await taker(reader, writer)
    finally:
        writer.close()
