"""Listen on loopback ports in the network of another process, and hand the sockets over. Standard library only.

    python -I -S listen.py PID FD PORT…

FD is a Unix socket that receives the listening sockets. They stay in that network, whoever accepts from them.
"""

import ctypes
import os
import socket
import sys


def main() -> None:
    """Enter the network, listen, and send the sockets."""
    pid, number, *ports = map(int, sys.argv[1:])
    libc = ctypes.CDLL(None, use_errno=True)
    names = ["net"] if os.getuid() == 0 else ["user", "net"]
    foreign = [name for name in names if _namespace(pid, name) != _namespace("self", name)]
    for descriptor in [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in foreign]:
        if libc.setns(descriptor, 0):
            sys.exit(f"the network of the container cannot be entered: {os.strerror(ctypes.get_errno())}")
    listening = [socket.create_server(("127.0.0.1", port), backlog=128) for port in ports]
    with socket.socket(fileno=number) as connection:
        socket.send_fds(connection, [b"ports"], [one.fileno() for one in listening])


def _namespace(pid: object, name: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/{name}")  # noqa: PTH115 -- pathlib takes as long to import as all the rest


if __name__ == "__main__":
    main()
