"""Waiting for servers that come up, come late, come wrong, or never."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.http.client import HttpClient
from mesocosm.sandboxes.health import wait_healthy
from mesocosm.sandboxes.port import free_port

if TYPE_CHECKING:
    from tests.conftest import LoopClock
    from tests.sandboxes.conftest import Programs

    from mesocosm.http.response import Response
    from mesocosm.sandboxes.process import ForeignProcess

SERVER = """
import http.server, sys
answers = [int(word) for word in sys.argv[2:]]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status); self.send_header("Content-Length", "5"); self.end_headers()
        self.wfile.write(b"state")
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SILENT = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
time.sleep(600)
"""


PATIENCE = 4.0
"""Seconds until a wait ends: less than one look may take, so that no look ends with it."""


class Looking(HttpClient):
    """A client that tells when it is used for the second time: then the first look has seen something."""

    def __init__(self) -> None:
        super().__init__()
        self.again = asyncio.Event()
        self._looks = 0

    async def request(self, *given: Any, **named: Any) -> Response:
        self._looks += 1
        if self._looks == 2:
            self.again.set()
        return await super().request(*given, **named)


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}/health"


async def given_up(port: int, process: ForeignProcess, loop_clock: LoopClock) -> str:
    """Let the time be over when one look has seen something, and return what is told."""
    async with Looking() as client:
        waiting = asyncio.create_task(wait_healthy(url(port), process, timeout=PATIENCE, client=client))
        await client.again.wait()
        loop_clock.advance(PATIENCE)
        with pytest.raises(EpisodeError) as failed:
            await waiting
    return str(failed.value)


async def test_a_server_is_healthy_once_it_answers(programs: Programs) -> None:
    port = free_port()
    process = await programs.start(SERVER, str(port), "200")
    await wait_healthy(url(port), process, timeout=60)
    assert process.returncode is None


async def test_a_server_that_needs_some_looks_is_waited_for(programs: Programs) -> None:
    port = free_port()
    process = await programs.start(SERVER, str(port), "503", "404", "204")
    async with HttpClient() as client:
        await wait_healthy(url(port), process, timeout=60, client=client)


async def test_a_process_that_ends_at_once_is_not_waited_for(programs: Programs) -> None:
    process = await programs.start("import sys; sys.exit('cannot import name BaseEnv')")
    async with asyncio.timeout(120):
        with pytest.raises(EpisodeError, match=r"ended with exit code 1 before .*\n  \| cannot import name") as failed:
            await wait_healthy(url(free_port()), process, timeout=600)
    assert failed.value.cause is Cause.SANDBOX_FAILED
    assert failed.value.stderr == "cannot import name BaseEnv"


async def test_a_process_that_does_not_know_its_arguments_gets_a_hint(programs: Programs) -> None:
    process = await programs.start("import argparse; argparse.ArgumentParser().parse_args()", "--port", "1")
    with pytest.raises(EpisodeError, match=r"exit code 2 \(does it accept the argument --port\?\)(.|\n)*unrecognized"):
        await wait_healthy(url(free_port()), process, timeout=600)


async def test_the_last_words_on_stdout_are_shown_when_stderr_is_silent(programs: Programs) -> None:
    process = await programs.start("print('only here')")
    with pytest.raises(EpisodeError, match=r"exit code 0 (.|\n)*only here"):
        await wait_healthy(url(free_port()), process, timeout=600)


async def test_a_killed_process_is_told_with_its_signal(programs: Programs) -> None:
    process = await programs.start("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(EpisodeError, match=r"ended with signal 9 .*it said nothing"):
        await wait_healthy(url(free_port()), process, timeout=600)


async def test_a_server_on_another_port_is_told_with_a_hint(programs: Programs, loop_clock: LoopClock) -> None:
    port = free_port()
    process = await programs.start("import time; time.sleep(600)")
    told = await given_up(port, process, loop_clock)
    assert re.search(rf"127.0.0.1:{port}/health was not healthy within 4 s: .*from --port\?", told), told
    assert process.returncode is None


async def test_a_server_that_never_answers_is_told_with_its_words(programs: Programs) -> None:
    port = free_port()
    process = await programs.start(SILENT, str(port))
    await programs.says(process, "listening")
    with pytest.raises(EpisodeError, match=r"was not healthy within 0.2 s: (.|\n)*\| listening"):
        await wait_healthy(url(port), process, timeout=0.2)


async def test_the_last_bad_answer_is_told(programs: Programs, loop_clock: LoopClock) -> None:
    port = free_port()
    process = await programs.start(SERVER, str(port), "200", "500")
    await wait_healthy(url(port), process, timeout=60)
    assert "it answers with status 500: 'state'" in await given_up(port, process, loop_clock)


async def test_a_server_behind_a_unix_socket_is_reached(programs: Programs) -> None:
    script = """
import http.server, socket, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def address_string(self):
        return "unix"
socketserver.UnixStreamServer(sys.argv[1], Handler).serve_forever()
"""
    process = await programs.start(script, "s")
    path = programs.directory / "s"
    async with HttpClient(socket=path) as client:
        await wait_healthy("http://adapter/health", process, timeout=60, client=client)


def test_free_ports_are_not_handed_out_twice() -> None:
    ports = [free_port() for _ in range(300)]
    assert len(set(ports)) == 300


@pytest.mark.skipif(sys.platform != "linux", reason="whole 127/8 is loopback only on Linux")
def test_a_port_can_be_asked_for_on_another_address() -> None:
    assert 0 < free_port("127.0.0.3") < 65536


async def test_cancelling_the_wait_leaves_the_process_to_its_owner(programs: Programs) -> None:
    process = await programs.start("import time; print('up'); time.sleep(600)")
    waiting = asyncio.create_task(wait_healthy(url(free_port()), process, timeout=600))
    await programs.says(process, "up")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert process.returncode is None
