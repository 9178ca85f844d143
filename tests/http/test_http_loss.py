"""No connection, or one that ends too early."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import (
    ConnectFailed,
    ConnectionLost,
)

if TYPE_CHECKING:
    from tests.http.conftest import RawServers, Talk

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_refused_connection_names_the_address(client: HttpClient) -> None:
    port = free_port()
    with pytest.raises(ConnectFailed, match=rf"^GET http://127.0.0.1:{port}/: cannot connect to .*refused"):
        await client.request("GET", f"http://127.0.0.1:{port}", timeout=60)


async def test_a_name_that_cannot_be_looked_up_is_named(client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(ConnectFailed, match=r"host name 'nowhere.test' cannot be resolved \(Name or service"):
        await client.request("GET", "http://nowhere.test/", timeout=60)


async def test_a_name_that_no_resolver_takes_is_named(client: HttpClient) -> None:
    with pytest.raises(ConnectFailed, match="cannot be resolved"):
        await client.request("GET", f"http://{'a' * 64}.test/", timeout=60)


async def test_the_next_address_of_a_name_is_tried_and_each_connection_asks_anew(
    client: HttpClient, servers: RawServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await servers.answer_and_close(OK)
    look_ups = 0

    def look_up(*_: object, **__: object) -> list[object]:
        nonlocal look_ups
        look_ups += 1
        return [(socket.AF_INET, 1, 6, "", (address, server.port)) for address in ("127.0.0.9", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for _ in range(3):
        response = await client.request("GET", f"http://model.test:{server.port}/", timeout=60)
        assert response.status == 200
    assert look_ups == 3


@pytest.mark.parametrize(
    ("half", "told"),
    [
        (b"", "closed the connection before answering"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "closed the connection before answering"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", r"middle of the response \(status 200, 3 bytes"),
        (b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", r"status 500, 5 bytes"),
    ],
)
async def test_a_response_that_breaks_off_is_not_a_response(
    client: HttpClient, servers: RawServers, half: bytes, told: str
) -> None:
    server = await servers.answer_and_close(half)
    with pytest.raises(ConnectionLost, match=told):
        await client.request("POST", server.url, timeout=60)
    assert len(server.requests) == 1


async def test_a_body_without_a_length_that_is_reset_is_not_complete(client: HttpClient, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(b"HTTP/1.1 200 OK\r\n\r\nabc")
        raw = talk.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        talk.reset()

    server = await servers.start(handle)
    with pytest.raises(ConnectionLost, match="the connection broke"):
        await client.request("GET", server.url, timeout=60)


async def test_a_kept_open_connection_that_turns_out_dead_is_replaced_once(
    client: HttpClient, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()

    server = await servers.start(handle)
    for _ in range(3):
        assert (await client.request("POST", server.url, timeout=60)).body == b"ok"
    # The first request, then two that each died on the old connection and were sent again on a new one.
    assert (server.connections, len(server.requests)) == (3, 5)


async def test_a_request_is_not_sent_a_third_time(client: HttpClient, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        if talk.server.connections == 1:
            await talk.send(OK)
            await talk.read()

    server = await servers.start(handle)
    await client.request("POST", server.url, timeout=60)
    with pytest.raises(ConnectionLost, match="before answering"):
        await client.request("POST", server.url, timeout=60)
    assert (server.connections, len(server.requests)) == (2, 3)


async def test_a_request_that_must_not_be_processed_twice_is_not_sent_again(
    client: HttpClient, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()

    server = await servers.start(handle)
    await client.request("POST", server.url, timeout=60, resend=False)
    with pytest.raises(ConnectionLost):
        await client.request("POST", server.url, timeout=5, resend=False)
    assert (server.connections, len(server.requests)) == (1, 2)


async def test_a_server_that_dies_while_answering_is_lost_and_not_just_refusing(
    client: HttpClient, servers: RawServers
) -> None:
    port = free_port()

    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        await servers.stop_listening()

    server = await servers.start(handle, port=port)
    await client.request("POST", server.url, timeout=60)
    with pytest.raises(ConnectionLost, match=r"before answering, and then: cannot connect .*refused"):
        await client.request("POST", server.url, timeout=60)


async def test_a_server_that_hangs_up_at_once_is_lost(client: HttpClient, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        talk.reset()

    server = await servers.start(handle)
    with pytest.raises(ConnectionLost):
        await client.request("POST", server.url, timeout=60)
