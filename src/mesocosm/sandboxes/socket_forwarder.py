"""Access to a server without a network: a port forwarder inside the sandbox passes out connections to its port."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path

from mesocosm.sandboxes.scratch import ScratchFolder

_FORWARDER = Path(__file__).with_name("port_forwarder.py")
_WAITING = 1024


class SocketForwarder:
    """A private folder with two Unix sockets.

    Our clients connect to `socket` and receive a TCP connection to the program's port. At `meeting`, the only socket
    that the program can see, the port forwarder inside receives the listening end of `socket`; then `meeting` is
    closed.
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
        # The program's account must be able to connect; other accounts cannot enter the folder.
        self.meeting.chmod(0o666)
        self._meeting.listen(1)
        self._meeting.settimeout(0)
        self._lifeline: socket.socket | None = None

    def through(self, command: Sequence[str], port: int, *, python: str) -> list[str]:
        """Return the command that starts a port forwarder and then executes `command`, a server on `port`."""
        source = _FORWARDER.read_text(encoding="utf-8")
        return [python, "-I", "-S", "-c", source, str(self.meeting), str(port), "--", *command]

    async def serve(self) -> None:
        """Accept the port forwarder, and return when it is gone."""
        lifeline, _ = await self._loop.sock_accept(self._meeting)
        # Only the port forwarder, which runs before the program, may connect here.
        self._meeting.close()
        self._lifeline = lifeline
        lifeline.settimeout(0)
        with contextlib.suppress(OSError):
            socket.send_fds(lifeline, [b"socket"], [self._listening.fileno()])
            self._listening.close()
            await self._loop.sock_recv(lifeline, 1)

    def close(self) -> None:
        """Disconnect the port forwarder and remove the folder."""
        for end in (self._listening, self._meeting, self._lifeline):
            if end is not None and end.fileno() >= 0:
                # `serve` may still be waiting on it, and its number will soon belong to another file.
                self._loop.remove_reader(end.fileno())
                end.close()
        self._folder.remove()
