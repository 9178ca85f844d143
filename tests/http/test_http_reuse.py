"""Which connections carry another request."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING

import pytest

from mesocosm.http import client as http_client
from mesocosm.http.client import HttpClient, OwnConnection
from mesocosm.http.errors import ConnectionLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http.conftest import RawServers, Talk

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def status(code: int) -> bytes:
    return OK.replace(b"200 OK", b"%d Whatever" % code)


def closed(peer: socket.socket) -> None:
    peer.close()


def reset(peer: socket.socket) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def half_closed(peer: socket.socket) -> None:
    peer.shutdown(socket.SHUT_WR)


def late_refusal(peer: socket.socket) -> None:
    peer.sendall(LATE)


def more_than_asked(peer: socket.socket) -> None:
    peer.sendall(OK)


class OneByOne:
    """A listening socket whose connections the test answers by hand: the client's loop sees nothing in between."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.peers: list[socket.socket] = []

    async def answered(self, client: HttpClient, own: OwnConnection | None = None) -> bytes:
        """Send a request that must not be repeated over a new connection, and answer it."""
        loop = asyncio.get_running_loop()
        self.listening.setblocking(False)
        asked = asyncio.ensure_future(client.request("POST", self.url, timeout=60, resend=False, own=own))
        peer, _ = await loop.sock_accept(self.listening)
        self.peers.append(peer)
        await loop.sock_recv(peer, 65536)
        await loop.sock_sendall(peer, OK)
        return (await asked).body

    def close(self) -> None:
        for peer in (self.listening, *self.peers):
            peer.close()


@pytest.mark.parametrize("code", [400, 404, 408, 429, 500, 503])
async def test_after_an_error_nothing_more_is_asked_over_its_connection(
    client: HttpClient, servers: RawServers, code: int
) -> None:
    server = await servers.answer(status(code))
    for _ in range(2):
        assert (await client.request("POST", server.url, timeout=60)).status == code
    assert server.connections == 2


@pytest.mark.parametrize("code", [200, 204, 304])
async def test_after_a_success_it_is(client: HttpClient, servers: RawServers, code: int) -> None:
    server = await servers.answer(b"HTTP/1.1 %d Fine\r\n%b\r\n" % (code, b"Content-Length: 0\r\n" * (code == 200)))
    for _ in range(2):
        assert (await client.request("POST", server.url, timeout=60)).status == code
    assert server.connections == 1


@pytest.mark.parametrize("happens", [closed, reset, half_closed, late_refusal, more_than_asked])
async def test_what_happened_on_an_idle_connection_is_seen_before_it_is_used(
    client: HttpClient, happens: Callable[[socket.socket], None]
) -> None:
    server = OneByOne()
    try:
        await server.answered(client)
        happens(server.peers[0])
        assert await server.answered(client) == b"ok"
    finally:
        server.close()


async def test_what_must_not_be_repeated_takes_no_connection_that_was_idle_for_long(
    client: HttpClient, servers: RawServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await servers.answer(OK)
    monkeypatch.setattr(http_client, "FRESH_S", 0.0)
    for number in (1, 2):
        await client.request("POST", server.url, timeout=60, resend=False)
        assert server.connections == number
    for _ in range(2):
        await client.request("POST", server.url, timeout=60)
    assert server.connections == 3


async def test_a_server_that_once_closed_under_a_request_gets_each_unrepeatable_one_on_a_new_connection(
    client: HttpClient, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()

    server = await servers.start(handle)
    await client.request("POST", server.url, timeout=60, resend=False)
    with pytest.raises(ConnectionLost):
        await client.request("POST", server.url, timeout=60, resend=False)
    for _ in range(3):
        assert (await client.request("POST", server.url, timeout=60, resend=False)).body == b"ok"


async def test_a_refusal_that_crosses_the_next_request_is_not_its_answer(
    client: HttpClient, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        await talk.send(LATE)

    server = await servers.start(handle)
    for _ in range(2):
        assert (await client.request("POST", server.url, timeout=60)).status == 200
    assert server.connections == 2


async def test_a_refusal_that_crosses_the_next_streamed_request_is_not_its_answer(
    client: HttpClient, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        await talk.send(LATE)

    server = await servers.start(handle)
    for _ in range(2):
        async with client.stream("POST", server.url, timeout=60) as response:
            assert (await response.read()).status == 200
    assert server.connections == 2


async def test_a_connection_of_its_own_is_used_by_its_owner_alone(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    own = OwnConnection()
    for _ in range(3):
        await client.request("POST", server.url, timeout=60, own=own)
    assert server.connections == 1
    await client.request("POST", server.url, timeout=60)
    await client.request("POST", server.url, timeout=60, own=OwnConnection())
    assert server.connections == 3


async def test_a_dropped_connection_of_its_own_is_closed(client: HttpClient, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.gone()

    server = await servers.start(handle)
    own = OwnConnection()
    await client.request("POST", server.url, timeout=60, own=own)
    await own.drop()
    await server.dropped.wait()
    assert server.open == 0
