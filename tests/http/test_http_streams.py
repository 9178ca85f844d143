"""Responses that are read while they come."""

import asyncio
import gzip
import zlib
from collections.abc import Callable

import pytest
from tests.conftest import LoopClock

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import BadResponse, ConnectFailed, ConnectionLost, InvalidRequest, ResponseTooLarge, Timeout
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n%b\r\n"
Answering = Callable[[LoopbackConnection, ReceivedRequest], None]


class Server(LoopbackServer):
    """Answers by a function; the last connection can be written to."""

    def __init__(self, answer: Answering) -> None:
        super().__init__()
        self._answer = answer
        self.last: LoopbackConnection | None = None
        self.seen = 0

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        self.last = connection
        self.seen += 1
        self._answer(connection, request)

    def send(self, data: bytes) -> None:
        assert self.last is not None
        self.last.send(data)


def chunks(*pieces: bytes, headers: bytes = b"", end: bool = True) -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return HEAD % headers + body + (b"0\r\n\r\n" if end else b"")


async def test_pieces_come_before_the_rest_is_sent() -> None:
    async with (
        Server(lambda to, _: to.send(chunks(b"one", end=False))) as server,
        HttpClient() as client,
        client.stream("GET", server.url, timeout=60) as answer,
    ):
        pieces = answer.pieces()
        assert (answer.status, await anext(pieces)) == (200, b"one")
        server.send(b"3\r\ntwo\r\n0\r\n\r\n")
        assert [piece async for piece in pieces] == [b"two"]


async def test_a_connection_read_to_its_end_is_used_again() -> None:
    async with Server(lambda to, _: to.send(chunks(b"one", b"two"))) as server, HttpClient() as client:
        for _ in range(3):
            async with client.stream("POST", server.url, body=b"x", timeout=60) as answer:
                assert (await answer.read()).body == b"onetwo"
        assert (await client.request("GET", server.url, timeout=60)).body == b"onetwo"
        assert server.connections == 1


async def test_leaving_before_the_end_drops_the_connection() -> None:
    async with Server(lambda to, _: to.send(chunks(b"one", end=False))) as server, HttpClient() as client:
        async with client.stream("GET", server.url, timeout=60) as answer:
            assert answer.status == 200
        async with asyncio.timeout(120):
            while server._open:  # noqa: ASYNC110  (the server cannot tell)
                await asyncio.sleep(0.001)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "bare"])
async def test_compressed_pieces_are_unfolded_as_they_come(encoding: str) -> None:
    packer = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "bare": -15}[encoding])
    first = packer.compress(b"one") + packer.flush(zlib.Z_SYNC_FLUSH)
    rest = packer.compress(b"two") + packer.flush()
    name = b"content-encoding: %b\r\n" % encoding.replace("bare", "deflate").encode()
    async with (
        Server(lambda to, _: to.send(chunks(first, headers=name, end=False))) as server,
        HttpClient() as client,
        client.stream("GET", server.url, timeout=60) as answer,
    ):
        pieces = answer.pieces()
        assert await anext(pieces) == b"one"
        server.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(rest), rest))
        assert b"".join([piece async for piece in pieces]) == b"two"


@pytest.mark.parametrize(
    ("body", "name", "words"),
    [(b"no gzip", "gzip", "broken"), (zlib.compress(b"x" * 99)[:-9], "deflate", "broken"), (b"x", "br", "broken")],
    ids=["broken", "short", "unknown"],
)
async def test_content_that_cannot_be_unfolded_is_an_error(body: bytes, name: str, words: str) -> None:
    answer = chunks(body, headers=f"content-encoding: {name}\r\n".encode())
    async with Server(lambda to, _: to.send(answer)) as server, HttpClient() as client:
        with pytest.raises(BadResponse, match=words):
            async with client.stream("GET", server.url, timeout=60) as got:
                await got.read()


async def test_a_small_body_cannot_unfold_into_all_memory() -> None:
    packed = gzip.compress(b"\0" * 10_000_000)
    answer = chunks(packed, headers=b"content-encoding: gzip\r\n")
    async with Server(lambda to, _: to.send(answer)) as server, HttpClient(max_response=100_000) as client:
        with pytest.raises(ResponseTooLarge):
            async with client.stream("GET", server.url, timeout=60) as got:
                await got.read()


async def test_silence_before_the_head_and_between_pieces_ends_it() -> None:
    async with Server(lambda to, _: None) as server, HttpClient() as client:
        with pytest.raises(Timeout, match=r"within 0\.1 s"):
            async with client.stream("GET", server.url, timeout=0.1):
                pass
    async with Server(lambda to, _: to.send(chunks(b"one", end=False))) as server, HttpClient() as client:
        with pytest.raises(Timeout):
            async with client.stream("GET", server.url, timeout=0.1) as answer:
                await answer.read()


async def test_every_piece_gives_the_server_its_time_again(loop_clock: LoopClock) -> None:
    async with (
        Server(lambda to, _: to.send(chunks(b"0", end=False))) as server,
        HttpClient() as client,
        client.stream("GET", server.url, timeout=90) as answer,
    ):
        pieces = answer.pieces()
        assert await anext(pieces) == b"0"
        for piece in (b"1", b"2", b"3"):
            loop_clock.advance(45)
            # A turn of the loop in which what is due by now would end it.
            await asyncio.sleep(0)
            server.send(b"1\r\n%b\r\n" % piece)
            assert await anext(pieces) == piece
        server.send(b"0\r\n\r\n")
        assert [piece async for piece in pieces] == []


async def test_a_connection_that_breaks_in_the_middle_is_an_error() -> None:
    async with (
        Server(lambda to, _: to.finish(chunks(b"one", end=False))) as server,
        HttpClient() as client,
        client.stream("GET", server.url, timeout=60) as answer,
    ):
        pieces = answer.pieces()
        assert await anext(pieces) == b"one"
        with pytest.raises(ConnectionLost, match="in the middle"):
            await anext(pieces)


async def test_a_kept_connection_that_died_is_replaced_once() -> None:
    def answer(to: LoopbackConnection, _: ReceivedRequest) -> None:
        if server.seen == 2:
            to.abort()
        else:
            to.send(response(200, b"fine"))

    async with Server(answer) as server, HttpClient() as client:
        for _ in range(2):
            async with client.stream("GET", server.url, timeout=60) as got:
                assert (await got.read()).body == b"fine"
        assert (server.seen, server.connections) == (3, 2)


async def test_a_fresh_connection_that_dies_is_not_tried_again() -> None:
    async with Server(lambda to, _: to.abort()) as server, HttpClient() as client:
        with pytest.raises(ConnectionLost):
            async with client.stream("POST", server.url, timeout=60):
                pass
        assert server.seen == 1


async def test_errors_inside_the_block_are_the_callers_own_and_free_the_connection() -> None:
    async with (
        Server(lambda to, _: to.send(chunks(b"one", end=False))) as server,
        HttpClient() as client,
    ):
        for _ in range(2):
            with pytest.raises(KeyError):
                async with client.stream("GET", server.url, timeout=1):
                    raise KeyError


async def test_what_cannot_be_sent_is_refused() -> None:
    async with HttpClient() as client:
        with pytest.raises(InvalidRequest):
            async with client.stream("GET", "http://127.0.0.1:1", timeout=0):
                pass
        with pytest.raises(ConnectFailed):
            async with client.stream("GET", "http://127.0.0.1:1", timeout=60):
                pass


async def test_an_answer_without_a_body_ends_at_once() -> None:
    async with (
        Server(lambda to, _: to.send(b"HTTP/1.1 204 No Content\r\n\r\n")) as server,
        HttpClient() as client,
        client.stream("GET", server.url, timeout=60) as answer,
    ):
        assert (answer.status, (await answer.read()).body) == (204, b"")
