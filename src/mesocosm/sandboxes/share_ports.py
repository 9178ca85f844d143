"""Share ports of an isolated network with us, then run the program. Run confined; standard library only.

    python -I -S -c SOURCE SOCKET PORT… -- COMMAND [ARGUMENT…]

It listens on each loopback port of its network and sends the listening sockets over the unix socket: the process that
receives such a socket accepts its connections from any network.
"""

import os
import socket
import sys


def main() -> None:
    """Hand the sockets over and run the command."""
    end = sys.argv.index("--")
    path, *ports = sys.argv[1:end]
    listening = [socket.create_server(("127.0.0.1", int(port)), backlog=128) for port in ports]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"ports"], [one.fileno() for one in listening])
    command = sys.argv[end + 1 :]
    os.execvp(command[0], command)  # noqa: S606 -- running what it is told is its purpose


if __name__ == "__main__":
    main()
