"""Choose a free port for a server that a child process will open."""

import socket
from collections import deque

_RECENT = 512
_recent: deque[int] = deque(maxlen=_RECENT)


def free_port(host: str = "127.0.0.1") -> int:
    """Return a TCP port that is free and was not recently given to another child.

    Another program can still take it first; the child's health check detects that.
    """
    while True:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.bind((host, 0))
            port: int = probe.getsockname()[1]
        if port not in _recent:
            _recent.append(port)
            return port
