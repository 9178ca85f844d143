"""Share ports of an isolated network with us, then run the program. Run confined; standard library only.

    python -I -S -c SOURCE SOCKET PORT… -- COMMAND [ARGUMENT…]

It listens on each loopback port of its network and sends the listening sockets over the Unix socket. The receiver of
such a socket can accept its connections from any network. In return it receives variables for the program, as a JSON
object, and descriptors, which the program inherits as 64, 65 and so on.
"""

import json
import os
import socket
import sys

_FIRST, _MOST = 64, 16


def main() -> None:
    """Exchange sockets and variables, and execute the command."""
    end = sys.argv.index("--")
    path, *ports = sys.argv[1:end]
    listening = [socket.create_server(("127.0.0.1", int(port)), backlog=128) for port in ports]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"ports"], [one.fileno() for one in listening])
        first, numbers, _, _ = socket.recv_fds(connection, 1, _MOST)
        if not first:
            sys.exit("the owner of this sandbox is gone")
        with connection.makefile("rb") as file:
            variables = json.load(file)
    for place, number in enumerate(numbers, _FIRST):
        os.dup2(number, place)
        os.close(number)
    command = sys.argv[end + 1 :]
    try:
        os.execvpe(command[0], command, {**os.environ, **variables})  # noqa: S606 -- running it is its purpose
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}; is it among the readable folders?")


if __name__ == "__main__":
    main()
