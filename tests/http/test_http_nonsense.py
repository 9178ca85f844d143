"""Servers that flood, lie and talk out of turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import (
    BadResponse,
    ResponseTooLarge,
)

if TYPE_CHECKING:
    from tests.http.conftest import RawServers, Talk

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MEGABYTE = b"x" * 2**20


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"<html>hello</html>",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n",
    ],
)
async def test_what_is_not_http_is_refused(client: HttpClient, servers: RawServers, garbage: bytes) -> None:
    server = await servers.answer(garbage)
    with pytest.raises(BadResponse, match="not an HTTP response"):
        await client.request("GET", server.url, timeout=60)
    await asyncio.wait_for(server.dropped.wait(), 120)


async def test_another_protocol_is_refused(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x00")
    with pytest.raises(BadResponse, match="switched to another protocol"):
        await client.request("GET", server.url, timeout=60)


@pytest.mark.parametrize(
    "piece",
    [b"X-Flood: 0123456789\r\n" * 1000, b"x" * 20_000, b"a: b\r\n\r\nHTTP/1.1 100 Continue\r\n" * 1000],
    ids=["lines", "one line", "interim responses"],
)
async def test_headers_without_end_are_cut_off(client: HttpClient, servers: RawServers, piece: bytes) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(b"HTTP/1.1 100 Continue\r\nA: b")
        while True:
            await talk.send(piece)

    server = await servers.start(handle)
    with pytest.raises(BadResponse, match=r"not an HTTP response|more before its body"):
        await client.request("GET", server.url, timeout=60)
    await asyncio.wait_for(server.dropped.wait(), 120)


async def test_an_announced_body_over_the_limit_is_refused_before_it_comes(servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n")
        await talk.gone()

    server = await servers.start(handle)
    async with HttpClient(max_response=1000) as client:
        with pytest.raises(ResponseTooLarge, match="limit of 1,000 bytes"):
            await client.request("GET", server.url, timeout=60)
        await asyncio.wait_for(server.dropped.wait(), 120)


async def test_a_body_of_exactly_the_limit_is_taken(servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000)
    async with HttpClient(max_response=1000) as client:
        assert len((await client.request("GET", server.url, timeout=60)).body) == 1000


@pytest.mark.parametrize("head", [b"Transfer-Encoding: chunked\r\n", b""], ids=["chunked", "until close"])
async def test_a_hundred_megabytes_are_broken_off_at_the_limit(servers: RawServers, head: bytes) -> None:
    sent = 0

    async def handle(talk: Talk) -> None:
        nonlocal sent
        await talk.read()
        await talk.send(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n")
        for _ in range(100):
            await talk.send(b"100000\r\n" + MEGABYTE + b"\r\n" if head else MEGABYTE)
            sent += 1

    server = await servers.start(handle)
    async with HttpClient(max_response=3 * 2**20) as client:
        with pytest.raises(ResponseTooLarge):
            await client.request("GET", server.url, timeout=60)
        await asyncio.wait_for(server.dropped.wait(), 120)
    assert sent < 60


async def test_chunks_that_carry_almost_nothing_are_broken_off_too(servers: RawServers) -> None:
    sent = 0

    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        nonlocal sent
        while True:
            await talk.send((b"1;" + b"x" * 5000 + b"\r\na\r\n") * 10)
            sent += 1

    server = await servers.start(handle)
    async with HttpClient(max_response=10_000) as client:
        with pytest.raises(ResponseTooLarge):
            await client.request("GET", server.url, timeout=60)
    # A thousand times 50 kB would carry the 10,000 bytes.
    assert sent < 500


async def test_more_than_was_asked_for_never_answers_the_next_request(client: HttpClient, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        mine = str(talk.server.connections).encode()
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + mine + OK)
        await talk.gone()

    server = await servers.start(handle)
    for number in (b"1", b"2", b"3"):
        response = await client.request("GET", server.url, timeout=60)
        assert (response.status, response.body) == (200, number)


async def test_words_that_nobody_asked_for_end_an_idle_connection(servers: RawServers) -> None:
    speak = asyncio.Event()

    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await speak.wait()
        await talk.send(b"HTTP/1.1 408 Too Slow\r\nContent-Length: 0\r\n\r\n")
        await talk.gone()

    server = await servers.start(handle)
    async with HttpClient(idle_timeout=0.5) as client:
        await client.request("GET", server.url, timeout=60)
        speak.set()
        await asyncio.wait_for(server.dropped.wait(), 120)
        assert (await client.request("GET", server.url, timeout=60)).status == 200


async def test_an_early_refusal_of_a_large_request_is_returned(client: HttpClient, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.reader.readuntil(b"\r\n\r\n")
        await talk.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await talk.gone()

    server = await servers.start(handle)
    for _ in range(2):
        response = await client.request("POST", server.url, body=MEGABYTE * 20, timeout=60)
        assert response.status == 413
    assert server.connections == 2


async def test_a_body_that_is_not_json_is_quoted_with_its_status(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 502 Bad\r\nContent-Length: 13\r\n\r\n<h1>Oops</h1>")
    response = await client.request("GET", server.url, timeout=60)
    with pytest.raises(BadResponse, match=r"GET http://.*status 502 with a body that is not JSON.*<h1>Oops</h1>"):
        response.json()
