"""A real server on loopback: ports, many clients, clients that go away, a quick end."""

import asyncio
import gc
import logging
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.server.serving import listen, new_server, url_of
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import Running, Serve


@pytest.fixture(scope="module", autouse=True)
def nothing_frozen() -> None:
    """Forget what servers of earlier tests in this process froze."""
    gc.unfreeze()


def test_the_server_answers(served: "Running", run_id: str) -> None:
    answer = served.get("/api/runs")
    assert answer.status_code == 200
    assert run_id in answer.text
    assert "server" not in answer.headers


def test_a_taken_port_is_passed_over() -> None:
    with listen(port=0) as first:
        port = first.getsockname()[1]
        with listen(port=port) as second:
            assert port < second.getsockname()[1] <= port + 20


async def test_answers_are_sent_without_delay() -> None:
    delayed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def arrive(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        delayed.set_result(not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listen(port=0) as listening:
        async with await asyncio.start_server(arrive, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            assert not await delayed
            writer.close()


def test_a_taken_port_that_must_be_is_told() -> None:
    with listen(port=0) as first, pytest.raises(InfrastructureError, match="--port"):
        listen(port=first.getsockname()[1], exactly=True)


@pytest.mark.parametrize("host", ["no such host", "256.1.1.1", "192.0.2.1", "x" * 300])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(UsageError):
        listen(host, 0)


@pytest.mark.parametrize(
    ("host", "beginning"),
    [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:"), ("localhost", "http://localhost:")],
)
def test_the_address_is_one_that_a_browser_opens(host: str, beginning: str) -> None:
    with listen(host, 0) as listening:
        assert url_of(listening, host) == f"{beginning}{listening.getsockname()[1]}"


def test_many_clients_are_all_served(served: "Running", run_id: str, episode_id: str) -> None:
    paths = ["/api/runs", f"/api/runs/{run_id}", f"/api/runs/{run_id}/episodes", f"/api/episodes/{episode_id}/events"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: served.get(paths[number % len(paths)]).status_code, range(64)))
    assert answers == [200] * 64


def test_a_client_that_goes_away_makes_no_noise(
    served: "Running", episode_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = served.url.removeprefix("http://").split(":")
    request = f"GET /api/episodes/{episode_id}/events?limit=1000 HTTP/1.1\r\nHost: {place[0]}\r\n\r\n".encode()
    with caplog.at_level(logging.WARNING):
        for ending in (request, request[:20], b"\x00\xff nonsense\r\n\r\n"):
            gone = socket.create_connection((place[0], int(place[1])))
            gone.sendall(ending)
            gone.close()
        assert served.get("/api/health").status_code == 200
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_the_end_does_not_wait_for_open_streams(store: Store, serve: "Serve") -> None:
    with serve(store) as running:
        place = running.url.removeprefix("http://").split(":")
        stream = socket.create_connection((place[0], int(place[1])), timeout=60)
        stream.sendall(b"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert stream.recv(15) == b"HTTP/1.1 200 OK"
        ending = threading.Thread(target=running.end)
        ending.start()
        ending.join(60)
        assert not ending.is_alive()
        while stream.recv(65_536):
            pass
        stream.close()


async def test_garbage_is_not_looked_for_in_what_a_server_starts_with(store: Store) -> None:
    frozen: list[int] = []

    def ready() -> None:
        frozen.append(gc.get_freeze_count())
        server.should_exit = True

    with listen(port=0) as listening:
        server = new_server(store, ready=ready)
        await server.serve([listening])
    assert frozen[0] > 10_000
    assert gc.get_freeze_count() == 0


def test_a_server_in_a_thread_of_another_program_leaves_its_garbage_alone(served: "Running") -> None:
    assert served.get("/api/health").status_code == 200
    assert gc.get_freeze_count() == 0


def test_streams_are_never_packed(served: "Running") -> None:
    place = served.url.removeprefix("http://").split(":")
    with socket.create_connection((place[0], int(place[1])), timeout=60) as stream:
        stream.sendall(b"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head:
            head += stream.recv(4_096)
    assert b"text/event-stream" in head
    assert b"content-encoding" not in head.lower()
    assert b"nosniff" in head
