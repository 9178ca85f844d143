"""Servers that break off, flood, lie and stay silent; callers that give up."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import Client
from mesocosm.http.errors import (
    BadResponse,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    InvalidRequest,
    ResponseTooLarge,
    Timeout,
)

if TYPE_CHECKING:
    from tests.http.conftest import RawServers, Talk

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MEGABYTE = b"x" * 2**20


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def silent(talk: Talk) -> None:
    await talk.read()
    await talk.gone()


# No connection


async def test_a_refused_connection_names_the_address(client: Client) -> None:
    port = free_port()
    with pytest.raises(ConnectFailed, match=rf"^GET http://127.0.0.1:{port}/: cannot connect to .*refused"):
        await client.request("GET", f"http://127.0.0.1:{port}", timeout=5)


async def test_a_name_that_cannot_be_looked_up_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(ConnectFailed, match=r"host name 'nowhere.test' cannot be resolved \(Name or service"):
        await client.request("GET", "http://nowhere.test/", timeout=5)


async def test_a_name_that_no_resolver_takes_is_named(client: Client) -> None:
    with pytest.raises(ConnectFailed, match="cannot be resolved"):
        await client.request("GET", f"http://{'a' * 64}.test/", timeout=5)


async def test_the_next_address_of_a_name_is_tried_and_remembered(
    client: Client, servers: RawServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await servers.answer_and_close(OK)
    look_ups = 0

    def look_up(*_: object, **__: object) -> list[object]:
        nonlocal look_ups
        look_ups += 1
        return [(socket.AF_INET, 1, 6, "", (address, server.port)) for address in ("127.0.0.9", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for _ in range(3):
        response = await client.request("GET", f"http://model.test:{server.port}/", timeout=5)
        assert response.status == 200
    assert look_ups == 1


# The connection ends too early


@pytest.mark.parametrize(
    ("half", "told"),
    [
        (b"", "closed the connection before answering"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "in the middle of the headers"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", r"middle of the response \(status 200, 3 bytes"),
        (b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", r"status 500, 5 bytes"),
    ],
)
async def test_a_response_that_breaks_off_is_not_a_response(
    client: Client, servers: RawServers, half: bytes, told: str
) -> None:
    server = await servers.answer_and_close(half)
    with pytest.raises(ConnectionLost, match=told) as lost:
        await client.request("POST", server.url, timeout=5)
    assert lost.value.processed
    assert lost.value.received == len(half)
    assert len(server.requests) == 1


async def test_a_body_without_a_length_that_is_reset_is_not_complete(client: Client, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(b"HTTP/1.1 200 OK\r\n\r\nabc")
        raw = talk.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        talk.reset()

    server = await servers.start(handle)
    with pytest.raises(ConnectionLost, match="the connection broke"):
        await client.request("GET", server.url, timeout=5)


async def test_a_kept_open_connection_that_turns_out_dead_is_replaced_once(client: Client, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()

    server = await servers.start(handle)
    for _ in range(3):
        assert (await client.request("POST", server.url, timeout=5)).body == b"ok"
    # The first request, then two that each died on the old connection and were sent again on a new one.
    assert (server.connections, len(server.requests)) == (3, 5)


async def test_a_request_is_not_sent_a_third_time(client: Client, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        if talk.server.connections == 1:
            await talk.send(OK)
            await talk.read()

    server = await servers.start(handle)
    await client.request("POST", server.url, timeout=5)
    with pytest.raises(ConnectionLost, match="before answering"):
        await client.request("POST", server.url, timeout=5)
    assert (server.connections, len(server.requests)) == (2, 3)


async def test_a_request_that_must_not_be_processed_twice_is_not_sent_again(
    client: Client, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()

    server = await servers.start(handle)
    await client.request("POST", server.url, timeout=5)
    with pytest.raises(ConnectionLost) as lost:
        await client.request("POST", server.url, timeout=5, resend=False)
    assert lost.value.processed
    assert (server.connections, len(server.requests)) == (1, 2)


async def test_a_request_that_was_half_answered_is_not_sent_again(client: Client, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        await talk.send(b"HTTP/1.1 2")

    server = await servers.start(handle)
    await client.request("POST", server.url, timeout=5)
    with pytest.raises(ConnectionLost, match="middle of the headers"):
        await client.request("POST", server.url, timeout=5)
    assert len(server.requests) == 2


async def test_a_server_that_dies_while_answering_is_lost_and_not_just_refusing(
    client: Client, servers: RawServers
) -> None:
    port = free_port()

    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        await servers.stop_listening()

    server = await servers.start(handle, port=port)
    await client.request("POST", server.url, timeout=5)
    with pytest.raises(ConnectionLost, match=r"before answering, and then: cannot connect .*refused") as lost:
        await client.request("POST", server.url, timeout=5)
    assert lost.value.processed


async def test_a_server_that_hangs_up_at_once_has_processed_nothing_or_is_lost(
    client: Client, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        talk.reset()

    server = await servers.start(handle)
    with pytest.raises(ConnectionLost):
        await client.request("POST", server.url, timeout=5)


# What comes is wrong


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
async def test_what_is_not_http_is_quoted(client: Client, servers: RawServers, garbage: bytes) -> None:
    server = await servers.answer(garbage)
    with pytest.raises(BadResponse, match="not an HTTP response") as bad:
        await client.request("GET", server.url, timeout=5)
    assert repr(garbage[:8])[2:-1] in str(bad.value)
    await asyncio.wait_for(server.dropped.wait(), 5)


async def test_another_protocol_is_refused(client: Client, servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x00")
    with pytest.raises(BadResponse, match="switched to another protocol"):
        await client.request("GET", server.url, timeout=5)


@pytest.mark.parametrize(
    "piece",
    [b"X-Flood: 0123456789\r\n" * 1000, b"x" * 20_000, b"a: b\r\n\r\nHTTP/1.1 100 Continue\r\n" * 1000],
    ids=["lines", "one line", "interim responses"],
)
async def test_headers_without_end_are_cut_off(client: Client, servers: RawServers, piece: bytes) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(b"HTTP/1.1 100 Continue\r\nA: b")
        while True:
            await talk.send(piece)

    server = await servers.start(handle)
    with pytest.raises(BadResponse, match="headers of the response are longer than"):
        await client.request("GET", server.url, timeout=20)
    await asyncio.wait_for(server.dropped.wait(), 5)


async def test_an_announced_body_over_the_limit_is_refused_before_it_comes(servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n")
        await talk.gone()

    server = await servers.start(handle)
    async with Client(max_response=1000) as client:
        with pytest.raises(ResponseTooLarge, match="limit of 1,000 bytes"):
            await client.request("GET", server.url, timeout=5)
        await asyncio.wait_for(server.dropped.wait(), 5)


async def test_a_body_of_exactly_the_limit_is_taken(servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000)
    async with Client(max_response=1000) as client:
        assert len((await client.request("GET", server.url, timeout=5)).body) == 1000


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
    async with Client(max_response=3 * 2**20) as client:
        with pytest.raises(ResponseTooLarge):
            await client.request("GET", server.url, timeout=20)
        await asyncio.wait_for(server.dropped.wait(), 5)
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
    async with Client(max_response=10_000) as client:
        with pytest.raises(ResponseTooLarge):
            await client.request("GET", server.url, timeout=20)
    # A thousand times 50 kB would carry the 10,000 bytes.
    assert sent < 500


@pytest.mark.parametrize("rest", [OK, b"HTTP/1.1 500 Evil\r\nConte", b"junk"])
async def test_more_than_was_asked_for_never_answers_the_next_request(
    client: Client, servers: RawServers, rest: bytes
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        mine = str(talk.server.connections).encode()
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + mine + rest)
        await talk.gone()

    server = await servers.start(handle)
    for number in (b"1", b"2", b"3"):
        response = await client.request("GET", server.url, timeout=5)
        assert (response.status, response.body) == (200, number)


async def test_words_that_nobody_asked_for_end_an_idle_connection(client: Client, servers: RawServers) -> None:
    speak = asyncio.Event()

    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await speak.wait()
        await talk.send(b"HTTP/1.1 408 Too Slow\r\nContent-Length: 0\r\n\r\n")
        await talk.gone()

    server = await servers.start(handle)
    await client.request("GET", server.url, timeout=5)
    speak.set()
    await asyncio.wait_for(server.dropped.wait(), 5)
    assert (await client.request("GET", server.url, timeout=5)).status == 200


async def test_an_early_refusal_of_a_large_request_is_returned(client: Client, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.reader.readuntil(b"\r\n\r\n")
        await talk.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await talk.gone()

    server = await servers.start(handle)
    for _ in range(2):
        response = await client.request("POST", server.url, body=MEGABYTE * 20, timeout=20)
        assert response.status == 413
    assert server.connections == 2


async def test_a_body_that_is_not_json_is_quoted_with_its_status(client: Client, servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 502 Bad\r\nContent-Length: 13\r\n\r\n<h1>Oops</h1>")
    response = await client.request("GET", server.url, timeout=5)
    with pytest.raises(BadResponse, match=r"GET http://.*status 502 with a body that is not JSON.*<h1>Oops</h1>"):
        response.json()


# Time and giving up


async def test_a_server_that_never_answers_is_left_after_the_timeout(client: Client, servers: RawServers) -> None:
    server = await servers.start(silent)
    with pytest.raises(Timeout, match=r"no complete response within 0.05 s") as late:
        await client.request("POST", server.url, timeout=0.05)
    assert (late.value.phase, late.value.seconds) == ("response", 0.05)
    await asyncio.wait_for(server.dropped.wait(), 5)


async def test_a_server_that_drips_is_left_after_the_timeout_too(client: Client, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            await talk.send(b"x")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(talk.reader.read(1), 0.005)

    server = await servers.start(handle)
    with pytest.raises(Timeout):
        await client.request("GET", server.url, timeout=0.1)


async def test_a_short_timeout_holds_after_a_long_one_on_the_same_connection(
    client: Client, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        await talk.gone()

    server = await servers.start(handle)
    await client.request("GET", server.url, timeout=600)
    async with asyncio.timeout(20):
        with pytest.raises(Timeout):
            await client.request("GET", server.url, timeout=0.05)
    assert server.connections == 1


async def test_a_long_timeout_holds_after_a_short_one_on_the_same_connection(
    client: Client, servers: RawServers
) -> None:
    loop = asyncio.get_running_loop()
    later = asyncio.Event()

    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        await later.wait()
        await talk.send(OK)

    server = await servers.start(handle)
    await client.request("GET", server.url, timeout=0.2)
    loop.call_later(0.4, later.set)
    assert (await client.request("GET", server.url, timeout=20)).body == b"ok"
    assert server.connections == 1


async def test_a_timeout_while_connecting_says_so(servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.gone()

    server = await servers.start(handle)
    async with Client(connect_timeout=0.05) as client:
        with pytest.raises(Timeout, match=r"no connection within 0.05 s") as late:
            await client.request("GET", server.url.replace("http:", "https:"), timeout=5)
    assert late.value.phase == "connect"


async def test_a_timeout_while_waiting_for_a_free_connection_says_so(servers: RawServers) -> None:
    server = await servers.start(silent)
    async with Client(limit_per_host=1) as client:
        first = asyncio.create_task(client.request("GET", server.url, timeout=60))
        await asyncio.sleep(0)
        with pytest.raises(Timeout, match="no free connection") as late:
            await client.request("GET", server.url, timeout=0.05)
        assert late.value.phase == "pool"
        first.cancel()


async def test_a_cancelled_request_drops_its_connection(client: Client, servers: RawServers) -> None:
    heard = asyncio.Event()

    async def handle(talk: Talk) -> None:
        await talk.read()
        heard.set()
        await talk.gone()

    server = await servers.start(handle)
    task = asyncio.create_task(client.request("GET", server.url, timeout=60))
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(server.dropped.wait(), 5)


async def test_cancelled_requests_leave_room_for_others(servers: RawServers) -> None:
    server = await servers.start(silent)
    good = await servers.answer(OK)
    async with Client(limit_per_host=2) as client:
        for url in (server.url, good.url):
            for _ in range(5):
                tasks = [asyncio.create_task(client.request("GET", url, timeout=60)) for _ in range(6)]
                await asyncio.sleep(0)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        responses = await asyncio.gather(*(client.request("GET", good.url, timeout=5) for _ in range(6)))
    assert {response.status for response in responses} == {200}


async def test_failed_requests_leave_room_for_others(servers: RawServers) -> None:
    server = await servers.answer_and_close(b"")
    async with Client(limit_per_host=2) as client:
        calls = (client.request("GET", server.url, timeout=5) for _ in range(20))
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, ConnectionLost) for result in results)
    assert len(server.requests) == 20


async def test_closing_the_client_ends_requests_in_progress(servers: RawServers) -> None:
    heard = asyncio.Event()

    async def handle(talk: Talk) -> None:
        await talk.read()
        heard.set()
        await talk.gone()

    server = await servers.start(handle)
    client = Client()
    task = asyncio.create_task(client.request("GET", server.url, timeout=60))
    await heard.wait()
    await client.close()
    with pytest.raises(ConnectionLost, match="the client was closed"):
        await task
    with pytest.raises(ConnectFailed, match="the client was closed"):
        await client.request("GET", server.url, timeout=5)
    await asyncio.wait_for(server.dropped.wait(), 5)


async def test_a_timeout_that_leaves_no_time_is_refused(client: Client, servers: RawServers) -> None:
    server = await servers.answer(OK)
    for timeout in (0.0, -1.0, float("nan")):
        with pytest.raises(InvalidRequest, match="leaves no time"):
            await client.request("GET", server.url, timeout=timeout)
    assert (await client.request("GET", server.url, timeout=float("inf"))).status == 200


def test_a_client_refuses_a_second_event_loop() -> None:
    client = Client()

    async def use() -> None:
        with contextlib.suppress(HttpError):
            await client.request("GET", f"http://127.0.0.1:{free_port()}", timeout=5)

    asyncio.run(use())
    with pytest.raises(RuntimeError, match="one event loop"):
        asyncio.run(use())
