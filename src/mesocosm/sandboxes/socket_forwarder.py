"""The way in to a program without a network: a port forwarder inside hands over connections to its port."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path

from mesocosm.sandboxes.scratch import ScratchFolder

_FORWARDER = Path(__file__).with_name("port_forwarder.py")
_WAITING = 1024


class SocketForwarder:
    """A private folder with two unix sockets.

    Our clients connect to `socket` and get a TCP connection to the program's port. At `meeting`, the only one that the
    program can see, the port forwarder inside fetches the listening end of the other; after that it is closed.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._folder = ScratchFolder()
        self.socket = self._folder.path / "http"
        self.meeting = self._folder.path / "meeting"
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(str(self.socket))
        self._listening.listen(_WAITING)
        self._meeting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._meeting.bind(str(self.meeting))
        # The program's account must be able to connect; no other account can pass the folder.
        self.meeting.chmod(0o666)
        self._meeting.listen(1)
        self._meeting.settimeout(0)
        self._lifeline: socket.socket | None = None

    def through(self, command: Sequence[str], port: int, *, python: str) -> list[str]:
        """Return the command that starts a port forwarder and then becomes `command`, a server at `port`."""
        source = _FORWARDER.read_text(encoding="utf-8")
        return [python, "-I", "-S", "-c", source, str(self.meeting), str(port), "--", *command]

    async def serve(self) -> None:
        """Let the port forwarder in, and return when it is gone."""
        lifeline, _ = await self._loop.sock_accept(self._meeting)
        # Only the port forwarder may speak here, which is the first that runs; the program comes after it.
        self._meeting.close()
        self._lifeline = lifeline
        lifeline.settimeout(0)
        with contextlib.suppress(OSError):
            socket.send_fds(lifeline, [b"socket"], [self._listening.fileno()])
            self._listening.close()
            await self._loop.sock_recv(lifeline, 1)

    def close(self) -> None:
        """Send the port forwarder home and remove the folder."""
        for end in (self._listening, self._meeting, self._lifeline):
            if end is not None and end.fileno() >= 0:
                # `serve` may be looking at it; the number soon is another file's.
                self._loop.remove_reader(end.fileno())
                end.close()
        self._folder.remove()
