"""Receive connections that a program in another network opens and passes over a Unix socket."""

import array
import asyncio
import os
import socket
import stat

_FAILED = "the socket did not hand over a TCP connection"
_PAUSE = 0.01


async def handed_over(path: str) -> socket.socket:
    """Return the connection received over the Unix socket at `path` (SOCK_SEQPACKET); it may be in another network.

    The message is the text `0` with one connected TCP socket, or an error number. Raises OSError.
    """
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
        visitor.settimeout(0)
        while True:
            try:
                visitor.connect(path)
                break
            except BlockingIOError:
                # The socket's backlog is full, and it cannot signal when that changes.
                await asyncio.sleep(_PAUSE)
        ready = asyncio.Event()
        loop.add_reader(visitor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(visitor)
        return _received(visitor)


def _received(visitor: socket.socket) -> socket.socket:
    room = socket.CMSG_LEN(array.array("i").itemsize)
    words, ancillary, _, _ = visitor.recvmsg(16, room, socket.MSG_CMSG_CLOEXEC)
    numbers = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    if not numbers:
        number = int(words) if words.isdigit() else 0
        raise OSError(number, os.strerror(number)) if number else OSError(_FAILED)
    for number in numbers[1:]:
        os.close(number)
    return _checked(numbers[0])


def _checked(number: int) -> socket.socket:
    """Return the socket of a descriptor. The sender is not trusted and may have sent any descriptor."""
    if not stat.S_ISSOCK(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(_FAILED)
    connection = socket.socket(fileno=number)
    try:
        if connection.family in {socket.AF_INET, socket.AF_INET6} and connection.type == socket.SOCK_STREAM:
            connection.getpeername()
            connection.settimeout(0)
            return connection
    except OSError as error:
        connection.close()
        raise OSError(_FAILED) from error
    connection.close()
    raise OSError(_FAILED)
