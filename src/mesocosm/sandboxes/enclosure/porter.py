"""Hands connections to a port of a program's own network over to us. Run enclosed; standard library only.

    python -I -S -c SOURCE SOCKET PORT -- COMMAND [ARGUMENT…]

Over the unix socket it gets a listening one of type SOCK_SEQPACKET. Whoever connects there is sent, in one message, a
TCP connection to PORT of the loopback of this network, or the number of the error as text. The command takes the place
of the process that was started; the porter becomes nobody's child and ends when the unix socket is closed. Other
programs of the same account may kill it, but neither trace it nor take its files.
"""

import ctypes
import os
import select
import signal
import socket
import sys

_PR_SET_DUMPABLE = 4
_SECONDS = 5.0


def main() -> None:
    """Go to work, and run the command."""
    end = sys.argv.index("--")
    path, port = sys.argv[1:end]
    lifeline = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    lifeline.connect(path)
    _, numbers, _, _ = socket.recv_fds(lifeline, 16, 1)
    _sacrifice()
    if sys.platform == "linux":
        # Before the command exists: from then on its files are out of reach.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            work(lifeline, socket.socket(fileno=numbers[0]), int(port))
        os._exit(0)
    os.waitpid(child, 0)
    lifeline.close()
    os.close(numbers[0])
    command = sys.argv[end + 1 :]
    os.execvp(command[0], command)  # noqa: S606 -- running what it is told is its purpose


def work(lifeline: socket.socket, door: socket.socket, port: int) -> None:
    """Hand connections over until the lifeline ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    door.settimeout(0)
    while lifeline not in (ready := select.select([lifeline, door], [], [])[0]):
        if door in ready:
            hand_over(door, port)


def hand_over(door: socket.socket, port: int) -> None:
    """Give whoever came a connection to the port."""
    try:
        visitor, _ = door.accept()
    except OSError:
        return
    with visitor:
        visitor.settimeout(_SECONDS)
        try:
            connection = _connected(port)
        except OSError as error:
            _tell(visitor, str(error.errno or 110).encode())
        else:
            with connection:
                _tell(visitor, b"0", connection.fileno())


def _connected(port: int) -> socket.socket:
    try:
        return socket.create_connection(("127.0.0.1", port), _SECONDS)
    except ConnectionRefusedError:
        try:
            return socket.create_connection(("::1", port), _SECONDS)
        except OSError:
            pass
        raise


def _tell(visitor: socket.socket, words: bytes, *numbers: int) -> None:
    try:
        socket.send_fds(visitor, [words], list(numbers))
    except OSError:
        return


def _sacrifice() -> None:
    """When the machine runs out of memory, these processes go first."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 -- pathlib takes longer than all of this
            file.write("1000")
    except OSError:
        return


if __name__ == "__main__":
    main()
