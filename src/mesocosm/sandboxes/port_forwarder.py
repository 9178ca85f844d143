"""Pass connections to a port of an isolated network to the outside. Run sandboxed; standard library only.

    python -I -S -c SOURCE SOCKET PORT -- COMMAND [ARGUMENT…]

Over the Unix socket it receives a listening socket of type SOCK_SEQPACKET. To each client that connects there it sends,
in one message, a TCP connection to PORT on the loopback of this network, or the error number as text. The command
replaces the process that was started; the forwarder is detached from it and ends when the Unix socket is closed. Other
programs of the same account may kill it, but can neither trace it nor take its files.
"""

import ctypes
import errno
import os
import select
import signal
import socket
import sys

_PR_SET_DUMPABLE = 4


def main() -> None:
    """Start the forwarder, then execute the command."""
    end = sys.argv.index("--")
    path, port = sys.argv[1:end]
    lifeline = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    lifeline.connect(path)
    _, numbers, _, _ = socket.recv_fds(lifeline, 16, 1)
    if sys.platform == "linux":
        # Before the command exists: from then on it cannot take this process's files.
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
    try:
        os.execvp(command[0], command)  # noqa: S606 -- running the given command is its purpose
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}; is it among the readable folders?")


def work(lifeline: socket.socket, listening: socket.socket, port: int) -> None:
    """Serve connections until the lifeline ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    listening.settimeout(0)
    PortForwarder(listening, port).work(lifeline)


class PortForwarder:
    """Opens a connection for each client, any number at once: if the server is full, only its clients wait."""

    def __init__(self, listening: socket.socket, port: int) -> None:
        self._listening = listening
        self._port = port
        self._look = select.epoll()
        self._waiting: dict[int, tuple[socket.socket, socket.socket]] = {}

    def work(self, lifeline: socket.socket) -> None:
        """Serve until the lifeline ends."""
        self._look.register(lifeline, select.EPOLLIN)
        self._look.register(self._listening, select.EPOLLIN)
        while True:
            for number, _ in self._look.poll():
                if number == lifeline.fileno():
                    return
                if number == self._listening.fileno():
                    self._let_in()
                elif number in self._waiting:
                    self._go_on(number)

    def _let_in(self) -> None:
        try:
            visitor, _ = self._listening.accept()
        except OSError:
            return
        visitor.settimeout(0)
        self._connect(visitor, socket.AF_INET, "127.0.0.1")

    def _connect(self, visitor: socket.socket, family: int, address: str) -> None:
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            # No socket can be created in this address family, so nothing can listen there.
            _tell(visitor, errno.ECONNREFUSED)
            return
        connection.settimeout(0)
        problem = connection.connect_ex((address, self._port))
        if problem != errno.EINPROGRESS:
            self._arrive(visitor, connection, problem)
            return
        self._look.register(connection, select.EPOLLOUT)
        # A waiting visitor becomes readable when it disconnects.
        self._look.register(visitor, select.EPOLLIN)
        self._waiting[connection.fileno()] = self._waiting[visitor.fileno()] = (visitor, connection)

    def _go_on(self, number: int) -> None:
        visitor, connection = self._waiting[number]
        gone = number == visitor.fileno()
        for end in (visitor, connection):
            del self._waiting[end.fileno()]
            self._look.unregister(end)
        if gone:
            visitor.close()
            connection.close()
        else:
            self._arrive(visitor, connection, connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))

    def _arrive(self, visitor: socket.socket, connection: socket.socket, problem: int) -> None:
        with connection:
            if problem == errno.ECONNREFUSED and connection.family == socket.AF_INET:
                self._connect(visitor, socket.AF_INET6, "::1")
            else:
                _tell(visitor, problem, connection)


def _tell(visitor: socket.socket, problem: int, *connections: socket.socket) -> None:
    with visitor:
        try:
            socket.send_fds(visitor, [str(problem).encode()], [] if problem else [one.fileno() for one in connections])
        except OSError:
            return


if __name__ == "__main__":
    main()
