"""Unix sockets that carry HTTP, and those that hand connections over."""

import array
import asyncio
import errno
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import ConnectFailed

Answer = Callable[[socket.socket], None]


@pytest.fixture
def place() -> Iterator[Path]:
    """A path for a socket; those of pytest are too long for one."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder, "http")


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split()[1]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(path), path))
    writer.close()


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A server that says the path back."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


class Door:
    """Gives everybody who comes what `answer` gives, and counts them."""

    def __init__(self, place: Path, answer: Answer) -> None:
        self.visits = 0
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(place))
        self._listener.listen(128)
        self._listener.settimeout(0)
        asyncio.get_running_loop().add_reader(self._listener, self._come)

    def _come(self) -> None:
        visitor, _ = self._listener.accept()
        self.visits += 1
        with visitor:
            self._answer(visitor)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()


@pytest.fixture
async def door(place: Path) -> AsyncIterator[Callable[[Answer], Door]]:
    """A maker of doors."""
    doors: list[Door] = []

    def make(answer: Answer) -> Door:
        doors.append(Door(place, answer))
        return doors[-1]

    yield make
    for one in doors:
        one.close()


async def test_every_request_goes_through_the_socket_of_the_client(place: Path) -> None:
    server = await asyncio.start_unix_server(_serve, place)
    async with HttpClient(socket=place) as client:
        answers = [await client.request("GET", f"http://nowhere.example/{number}", timeout=60) for number in range(3)]
    server.close()
    assert [answer.body for answer in answers] == [b"/0", b"/1", b"/2"]


async def test_a_connection_that_is_handed_over_is_used_again(
    place: Path, port: int, door: Callable[[Answer], Door]
) -> None:
    def hand_over(visitor: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            socket.send_fds(visitor, [b"0"], [connection.fileno()])

    made = door(hand_over)
    async with HttpClient(socket=place) as client:
        answers = [await client.request("GET", f"http://nowhere.example/{number}", timeout=60) for number in range(5)]
    assert [answer.body for answer in answers] == [b"/0", b"/1", b"/2", b"/3", b"/4"]
    assert made.visits == 1


async def test_many_connections_are_handed_over_at_once(place: Path, port: int, door: Callable[[Answer], Door]) -> None:
    def hand_over(visitor: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            socket.send_fds(visitor, [b"0"], [connection.fileno()])

    door(hand_over)
    async with HttpClient(socket=place) as client:
        asked = [client.request("GET", f"http://nowhere.example/{number}", timeout=60) for number in range(100)]
        answers = await asyncio.gather(*asked)
    assert [answer.body for answer in answers] == [f"/{number}".encode() for number in range(100)]


def _refuse(visitor: socket.socket) -> None:
    visitor.send(str(errno.ECONNREFUSED).encode())


async def test_the_error_of_whoever_made_the_connection_is_told(place: Path, door: Callable[[Answer], Door]) -> None:
    door(_refuse)
    async with HttpClient(socket=place) as client:
        with pytest.raises(ConnectFailed, match="Connection refused"):
            await client.request("GET", "http://nowhere.example/", timeout=60)


def _a_file(visitor: socket.socket) -> None:
    with Path(os.devnull).open("rb") as file:
        socket.send_fds(visitor, [b"0"], [file.fileno()])


def _a_unix_socket(visitor: socket.socket) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(visitor, [b"0"], [theirs.fileno()])


def _a_socket_without_a_peer(visitor: socket.socket) -> None:
    with socket.socket() as lonely:
        socket.send_fds(visitor, [b"0"], [lonely.fileno()])


def _a_datagram_socket(visitor: socket.socket) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lonely:
        socket.send_fds(visitor, [b"0"], [lonely.fileno()])


def _nothing(visitor: socket.socket) -> None:
    visitor.send(b"0")


def _the_end(visitor: socket.socket) -> None:
    visitor.close()


def _nonsense(visitor: socket.socket) -> None:
    visitor.send(b"\xff" * 4000)


def _many(visitor: socket.socket) -> None:
    with Path(os.devnull).open("rb") as file:
        numbers = array.array("i", [file.fileno()] * 200)
        visitor.sendmsg([b"0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])


@pytest.mark.parametrize(
    "answer",
    [_a_file, _a_unix_socket, _a_socket_without_a_peer, _a_datagram_socket, _nothing, _the_end, _nonsense, _many],
)
async def test_what_is_no_connection_is_refused_and_closed(
    place: Path, answer: Answer, door: Callable[[Answer], Door]
) -> None:
    door(answer)
    async with HttpClient(socket=place) as client:
        with pytest.raises(ConnectFailed):
            await client.request("GET", "http://nowhere.example/", timeout=60)
        before = _open_files()
        for _ in range(3):
            with pytest.raises(ConnectFailed, match="did not hand over a TCP connection"):
                await client.request("GET", "http://nowhere.example/", timeout=60)
        assert _open_files() == before


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_socket_that_is_gone_is_named(place: Path) -> None:
    async with HttpClient(socket=place) as client:
        with pytest.raises(ConnectFailed, match=f"cannot connect to the Unix socket {place} \\(No such file"):
            await client.request("GET", "http://nowhere.example/", timeout=60)
