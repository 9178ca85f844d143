"""Share ports of an isolated network with us, then run the program. Run confined; standard library only.

    python -I -S -c SOURCE SOCKET PORT… -- COMMAND [ARGUMENT…]

It listens on each loopback port of its network and sends the listening sockets over the Unix socket. The receiver of
such a socket can accept its connections from any network.
"""

import os
import socket
import sys


def main() -> None:
    """Send the sockets and execute the command."""
    end = sys.argv.index("--")
    path, *ports = sys.argv[1:end]
    listening = [socket.create_server(("127.0.0.1", int(port)), backlog=128) for port in ports]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"ports"], [one.fileno() for one in listening])
    command = sys.argv[end + 1 :]
    os.execvp(command[0], command)  # noqa: S606 -- running the given command is its purpose


if __name__ == "__main__":
    main()
