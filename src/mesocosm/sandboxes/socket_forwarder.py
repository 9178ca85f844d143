"""The way in to a program without a network: connections to its port, handed over by a porter inside."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path

from mesocosm.sandboxes.scratch import ScratchFolder

_PORTER = Path(__file__).with_name("port_forwarder.py")
_WAITING = 1024


class SocketForwarder:
    """A private folder with two unix sockets.

    `socket` is where clients of ours connect and get a TCP connection to the program's port. At `meeting`, the only one
    that is shown to the program, the porter inside fetches the listening end of the other; after that nobody can.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._folder = ScratchFolder()
        self.socket = self._folder.path / "http"
        self.meeting = self._folder.path / "meeting"
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._door.bind(str(self.socket))
        self._door.listen(_WAITING)
        self._meeting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._meeting.bind(str(self.meeting))
        # The program's account must be able to connect; nobody else can pass the folder.
        self.meeting.chmod(0o666)
        self._meeting.listen(1)
        self._meeting.settimeout(0)
        self._lifeline: socket.socket | None = None

    def through(self, command: Sequence[str], port: int, *, python: str) -> list[str]:
        """Return the command that leaves a porter behind and then becomes `command`, which will listen at `port`."""
        source = _PORTER.read_text(encoding="utf-8")
        return [python, "-I", "-S", "-c", source, str(self.meeting), str(port), "--", *command]

    async def attend(self) -> None:
        """Let the porter in, and return when it is gone."""
        lifeline, _ = await self._loop.sock_accept(self._meeting)
        # Only the porter may speak here, which is the first that runs; the program comes after it.
        self._meeting.close()
        self._lifeline = lifeline
        lifeline.settimeout(0)
        with contextlib.suppress(OSError):
            socket.send_fds(lifeline, [b"door"], [self._door.fileno()])
            self._door.close()
            await self._loop.sock_recv(lifeline, 1)

    def close(self) -> None:
        """Send the porter home and remove the folder."""
        for end in (self._door, self._meeting, self._lifeline):
            if end is not None and end.fileno() >= 0:
                # `attend` may be looking at it; the number soon is another file's.
                self._loop.remove_reader(end.fileno())
                end.close()
        self._folder.remove()
