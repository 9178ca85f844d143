"""Servers that stay silent; callers that give up."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpError,
    InvalidRequest,
    Timeout,
)

if TYPE_CHECKING:
    from tests.conftest import LoopClock
    from tests.http.conftest import RawServers, Talk

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def silent(talk: Talk) -> None:
    await talk.read()
    await talk.gone()


async def test_a_server_that_never_answers_is_left_after_the_timeout(
    client: HttpClient, servers: RawServers, loop_clock: LoopClock
) -> None:
    asked = asyncio.Event()

    async def handle(talk: Talk) -> None:
        await talk.read()
        asked.set()
        await talk.gone()

    server = await servers.start(handle)
    waiting = asyncio.create_task(client.request("POST", server.url, timeout=60))
    await asked.wait()
    loop_clock.advance(60)
    with pytest.raises(Timeout, match=r"no complete response within 60 s") as late:
        await waiting
    assert (late.value.phase, late.value.seconds) == ("response", 60)
    await asyncio.wait_for(server.dropped.wait(), 120)


async def test_a_server_that_drips_is_left_after_the_timeout_too(client: HttpClient, servers: RawServers) -> None:
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
    client: HttpClient, servers: RawServers
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        await talk.gone()

    server = await servers.start(handle)
    await client.request("GET", server.url, timeout=600)
    async with asyncio.timeout(120):
        with pytest.raises(Timeout):
            await client.request("GET", server.url, timeout=0.05)
    assert server.connections == 1


async def test_a_long_timeout_holds_after_a_short_one_on_the_same_connection(
    client: HttpClient, servers: RawServers, loop_clock: LoopClock
) -> None:
    asked, later = asyncio.Event(), asyncio.Event()

    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(OK)
        await talk.read()
        asked.set()
        await later.wait()
        await talk.send(OK)

    server = await servers.start(handle)
    await client.request("GET", server.url, timeout=60)
    second = asyncio.create_task(client.request("GET", server.url, timeout=600))
    await asked.wait()
    loop_clock.advance(90)
    # A turn of the loop in which what is due by now would end it.
    await asyncio.sleep(0)
    later.set()
    assert (await second).body == b"ok"
    assert server.connections == 1


async def test_a_timeout_while_connecting_says_so(servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.gone()

    server = await servers.start(handle)
    async with HttpClient(connect_timeout=0.05) as client:
        with pytest.raises(Timeout, match=r"no connection within 0.05 s") as late:
            await client.request("GET", server.url.replace("http:", "https:"), timeout=60)
    assert late.value.phase == "connect"


async def test_a_cancelled_request_drops_its_connection(client: HttpClient, servers: RawServers) -> None:
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
    await asyncio.wait_for(server.dropped.wait(), 120)


async def test_cancelled_requests_leave_room_for_others(servers: RawServers) -> None:
    server = await servers.start(silent)
    good = await servers.answer(OK)
    async with HttpClient() as client:
        for url in (server.url, good.url):
            for _ in range(5):
                tasks = [asyncio.create_task(client.request("GET", url, timeout=60)) for _ in range(6)]
                await asyncio.sleep(0)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        responses = await asyncio.gather(*(client.request("GET", good.url, timeout=60) for _ in range(6)))
    assert {response.status for response in responses} == {200}


async def test_failed_requests_leave_room_for_others(servers: RawServers) -> None:
    server = await servers.answer_and_close(b"")
    async with HttpClient() as client:
        calls = (client.request("POST", server.url, timeout=60) for _ in range(20))
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
    client = HttpClient()
    task = asyncio.create_task(client.request("GET", server.url, timeout=60))
    await heard.wait()
    await client.close()
    with pytest.raises(ConnectionLost, match="the client was closed"):
        await task
    with pytest.raises(ConnectFailed, match="the client was closed"):
        await client.request("GET", server.url, timeout=60)
    await asyncio.wait_for(server.dropped.wait(), 120)


async def test_a_timeout_that_leaves_no_time_is_refused(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    for timeout in (0.0, -1.0, float("nan")):
        with pytest.raises(InvalidRequest, match="leaves no time"):
            await client.request("GET", server.url, timeout=timeout)
    assert (await client.request("GET", server.url, timeout=float("inf"))).status == 200


def test_a_client_refuses_a_second_event_loop() -> None:
    client = HttpClient()

    async def use() -> None:
        with contextlib.suppress(HttpError):
            await client.request("GET", f"http://127.0.0.1:{free_port()}", timeout=60)

    asyncio.run(use())
    with pytest.raises(RuntimeError, match="one event loop"):
        asyncio.run(use())
