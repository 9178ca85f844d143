"""WebSocket connections: questions, answers, and their ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from mesocosm.http.errors import BadResponse, ConnectFailed, ConnectionLost, ResponseTooLarge, Timeout
from mesocosm.http.websocket import WebSocketClient
from mesocosm.sandboxes.port import free_port

Behaviour = Callable[[web.WebSocketResponse], Awaitable[None]]
Serving = Callable[[Behaviour], Awaitable[str]]


@pytest.fixture
async def serving() -> AsyncIterator[Serving]:
    """Return a function that serves a behaviour at /ws and returns the base URL."""
    runners: list[web.AppRunner] = []

    async def serve(behaviour: Behaviour) -> str:
        async def handle(request: web.Request) -> web.WebSocketResponse:
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            await behaviour(socket)
            return socket

        app = web.Application()
        app.add_routes([web.get("/ws", handle)])
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    yield serve
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def client() -> AsyncIterator[WebSocketClient]:
    client = WebSocketClient(connect_timeout=10.0, max_message=1000)
    yield client
    await client.close()


async def echo(socket: web.WebSocketResponse) -> None:
    async for message in socket:
        await socket.send_str(f"you said {message.data}")


async def test_each_question_gets_its_answer(serving: Serving, client: WebSocketClient) -> None:
    connection = await client.connect(f"{await serving(echo)}/ws")
    assert [await connection.ask(word, 10) for word in ("a", "b")] == ["you said a", "you said b"]
    assert connection.usable
    await connection.close()
    assert not connection.usable


async def test_what_was_sent_before_the_server_closed_is_the_answer(serving: Serving, client: WebSocketClient) -> None:
    async def refuse(socket: web.WebSocketResponse) -> None:
        await socket.send_str("no room")
        await socket.close(code=1013, message=b"try later")

    connection = await client.connect(f"{await serving(refuse)}/ws")
    await connection._reader
    assert await connection.ask("hello", 10) == "no room"
    with pytest.raises(ConnectionLost, match=r"WS http.*the server closed the connection \(code 1013: try later\)"):
        await connection.ask("hello again", 10)


async def test_a_farewell_is_waited_for_until_the_server_has_closed(serving: Serving, client: WebSocketClient) -> None:
    done = asyncio.Event()

    async def tidy(socket: web.WebSocketResponse) -> None:
        assert (await socket.receive()).data == "bye"
        await asyncio.sleep(0)
        done.set()
        await socket.close()

    connection = await client.connect(f"{await serving(tidy)}/ws")
    await connection.close("bye", 30)
    assert done.is_set()


async def test_after_a_timeout_a_late_answer_is_not_taken_for_the_next_one(
    serving: Serving, client: WebSocketClient
) -> None:
    async def late(socket: web.WebSocketResponse) -> None:
        async for _ in socket:
            pass

    connection = await client.connect(f"{await serving(late)}/ws")
    with pytest.raises(Timeout, match=r"within 0\.01 s"):
        await connection.ask("a", 0.01)
    with pytest.raises(Timeout):
        await connection.ask("b", 10)
    await connection.close()


async def test_a_message_beyond_the_limit_is_too_large(serving: Serving, client: WebSocketClient) -> None:
    async def flood(socket: web.WebSocketResponse) -> None:
        await socket.send_str("x" * 2000)
        await socket.receive()

    connection = await client.connect(f"{await serving(flood)}/ws")
    with pytest.raises(ResponseTooLarge, match="1,000 bytes"):
        await connection.ask("a", 10)


async def test_bytes_are_no_answer(serving: Serving, client: WebSocketClient) -> None:
    async def bytes_(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"x")
        await socket.receive()

    connection = await client.connect(f"{await serving(bytes_)}/ws")
    with pytest.raises(BadResponse, match="bytes where a text is expected"):
        await connection.ask("a", 10)
    await connection.close()


async def test_a_path_without_a_websocket_says_its_status(serving: Serving, client: WebSocketClient) -> None:
    with pytest.raises(BadResponse, match="status 404 instead of a WebSocket"):
        await client.connect(f"{await serving(echo)}/other")


async def test_where_nothing_listens_no_connection_is_made(client: WebSocketClient) -> None:
    with pytest.raises(ConnectFailed, match="Connection refused"):
        await client.connect(f"http://127.0.0.1:{free_port()}/ws")
