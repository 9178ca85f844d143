"""The proxy's own HTTP server: what clients send, sensible or not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mesocosm.proxy import server as module
from mesocosm.proxy.server import ClientDisconnected, Handler, ProxyReply, ProxyRequest, ProxyServer


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Yield a connection to a server."""
    server = ProxyServer(handler)
    url = await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    try:
        yield reader, writer
    finally:
        writer.close()
        await server.stop()


async def echo(request: ProxyRequest, reply: ProxyReply) -> None:
    await reply.send(200, request.method.encode() + b" " + request.path.encode() + b" " + request.body)


async def pieces(request: ProxyRequest, reply: ProxyReply) -> None:
    await reply.start(200, {})
    for piece in (b"one", b"", b"two"):
        await reply.write(piece)
    await reply.end()


async def until(reader: asyncio.StreamReader, end: bytes) -> bytes:
    async with asyncio.timeout(120):
        return await reader.readuntil(end)


async def rest(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(120):
        return await reader.read()


async def test_requests_on_one_connection_are_answered_in_order() -> None:
    async with serving(echo) as (reader, writer):
        writer.write(
            b"GET /a?x=1 HTTP/1.1\r\nhost: x\r\n\r\nPOST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody"
        )
        writer.write(
            b"POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nin\r\n3\r\n.it\r\n0\r\n\r\n"
        )
        answers = await until(reader, b"POST /c in.it")
    assert answers.index(b"GET /a ") < answers.index(b"POST /b body") < answers.index(b"POST /c in.it")


async def test_pieces_are_framed_and_the_connection_is_kept() -> None:
    async with serving(pieces) as (reader, writer):
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert (await until(reader, b"0\r\n\r\n")).endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


async def test_an_old_client_gets_pieces_without_frames() -> None:
    async with serving(pieces) as (reader, writer):
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert (await rest(reader)).endswith(b"\r\n\r\nonetwo")


async def test_a_connection_that_cannot_go_on_is_closed() -> None:
    async with serving(echo) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert b"connection: close" in (await rest(reader)).lower()


async def test_the_answer_to_head_has_no_body_and_the_connection_goes_on() -> None:
    async with serving(echo) as (reader, writer):
        writer.write(b"HEAD /a HTTP/1.1\r\nhost: x\r\n\r\nGET /b HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b"HEAD /a" not in await until(reader, b"GET /b ")


async def test_a_client_that_waits_to_be_asked_for_its_body_is() -> None:
    async with serving(echo) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n")
        assert await until(reader, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")
        assert (await until(reader, b"body")).endswith(b"POST / body")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2000\r\n\r\n" + b"y" * 2000, b"413"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nlies", b"400"),
    ],
)
async def test_what_cannot_be_taken_is_refused(sent: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BODY", 1000)
    async with serving(echo) as (reader, writer):
        writer.write(sent)
        assert (await rest(reader)).split(b" ", 2)[1] == status


class Hanging:
    """A handler that never answers."""

    def __init__(self) -> None:
        self.going = asyncio.Event()
        self.ended = asyncio.Event()

    async def __call__(self, request: ProxyRequest, reply: ProxyReply) -> None:
        self.going.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_a_client_that_goes_away_ends_its_request() -> None:
    handler = Hanging()
    async with serving(handler) as (_, writer):
        writer.write(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n")
        await asyncio.wait_for(handler.going.wait(), 120)
        writer.close()
        await asyncio.wait_for(handler.ended.wait(), 120)


async def test_stopping_ends_every_request_and_waits_for_it() -> None:
    handler = Hanging()
    async with serving(handler) as (_, writer):
        writer.write(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n")
        await asyncio.wait_for(handler.going.wait(), 120)
    assert handler.ended.is_set()


async def test_writing_to_nobody_is_told() -> None:
    told = asyncio.Event()
    going = asyncio.Event()

    async def handler(request: ProxyRequest, reply: ProxyReply) -> None:
        await reply.start(200, {})
        going.set()
        try:
            while True:
                await reply.write(b"x" * 100_000)
        except (ClientDisconnected, asyncio.CancelledError):
            told.set()

    async with serving(handler) as (_, writer):
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        await asyncio.wait_for(going.wait(), 120)
        writer.transport.abort()
        await asyncio.wait_for(told.wait(), 120)
