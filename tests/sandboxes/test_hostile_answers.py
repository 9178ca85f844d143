"""Servers of strangers answer too much, too slowly, or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import BadResponse, ResponseTooLarge, Timeout
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.health import wait_healthy
from mesocosm.sandboxes.program_limits import MIB

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Strangers

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)

SERVE = """
import threading
listener = socket.create_server(("127.0.0.1", 8000), backlog=64)
def serve(connection):
    try:
        while connection.recv(65536):
            answer(connection)
    except OSError:
        pass
def healthy(connection):
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
def work():
    print("up", flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


async def test_an_answer_of_a_gigabyte_is_refused_without_being_kept(strangers: Strangers) -> None:
    sandboxed = await strangers.serve(
        SERVE
        + """
def answer(connection):
    connection.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
    for _ in range(1024):
        connection.sendall(bytes(2**20))
work()
"""
    )
    await strangers.says(sandboxed, "up")
    before = _peak_kib(reset=True)
    async with HttpClient(socket=sandboxed.socket, max_response=4 * MIB) as client:
        for _ in range(3):
            with pytest.raises(ResponseTooLarge):
                await client.request("POST", "http://environment/step", body=b"{}", timeout=60)
    assert _peak_kib() - before < 64 * 1024


def _peak_kib(*, reset: bool = False) -> int:
    """Return the peak of this process's memory since the last reset; earlier tests may have used more."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])


async def test_a_head_without_end_is_refused(strangers: Strangers) -> None:
    sandboxed = await strangers.serve(
        SERVE
        + """
def answer(connection):
    connection.sendall(b"HTTP/1.1 200 OK\\r\\n")
    while True:
        connection.sendall(b"X-More: and more\\r\\n" * 1000)
work()
"""
    )
    await strangers.says(sandboxed, "up")
    async with HttpClient(socket=sandboxed.socket) as client:
        with pytest.raises(BadResponse, match="Too many headers"):
            await client.request("POST", "http://environment/step", body=b"{}", timeout=60)


async def test_interim_answers_without_end_are_refused(strangers: Strangers) -> None:
    sandboxed = await strangers.serve(
        SERVE
        + """
def answer(connection):
    while True:
        connection.sendall(b"HTTP/1.1 102 Processing\\r\\nX-More: and more\\r\\n\\r\\n" * 1000)
work()
"""
    )
    await strangers.says(sandboxed, "up")
    async with HttpClient(socket=sandboxed.socket) as client:
        with pytest.raises((BadResponse, ResponseTooLarge)):
            await client.request("POST", "http://environment/step", body=b"{}", timeout=60)


async def test_an_answer_of_single_bytes_takes_the_time_that_it_was_given_and_no_more(strangers: Strangers) -> None:
    sandboxed = await strangers.serve(
        SERVE
        + """
def answer(connection):
    for byte in b"HTTP/1.1 200 OK\\r\\nContent-Length: 1000\\r\\n\\r\\n" + bytes(1000):
        connection.sendall(bytes([byte]))
        time.sleep(0.02)
work()
"""
    )
    await strangers.says(sandboxed, "up")
    async with HttpClient(socket=sandboxed.socket) as client:
        with pytest.raises(Timeout):
            await client.request("POST", "http://environment/step", body=b"{}", timeout=0.5)


async def test_one_request_that_hangs_does_not_hold_the_others(strangers: Strangers) -> None:
    sandboxed = await strangers.serve(
        SERVE
        + """
first = threading.Lock()
def answer(connection):
    if first.acquire(blocking=False):
        print("hanging", flush=True)
        time.sleep(60)
    healthy(connection)
work()
"""
    )
    await strangers.says(sandboxed, "up")
    async with HttpClient(socket=sandboxed.socket) as client:
        hanging = asyncio.create_task(client.request("POST", "http://environment/step", body=b"{}", timeout=30))
        await strangers.says(sandboxed, "hanging")
        await wait_healthy("http://environment/health", sandboxed.process, client=client)
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)


async def test_a_server_that_accepts_nothing_takes_nobody_elses_time(strangers: Strangers) -> None:
    sandboxed = await strangers.serve("""
listener = socket.create_server(("127.0.0.1", 8000), backlog=0)
print("up", flush=True)
time.sleep(60)
""")
    await strangers.says(sandboxed, "up")
    async with HttpClient(socket=sandboxed.socket, connect_timeout=0.4) as client:
        asked = [client.request("GET", "http://environment/", timeout=0.8) for _ in range(20)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(answer) for answer in answers} == {Timeout}
    assert {answer.phase for answer in answers if isinstance(answer, Timeout)} == {"connect", "response"}
