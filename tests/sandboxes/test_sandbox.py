"""Programs in sandboxes: they serve, they run, they end."""

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest

from mesocosm.core.failure import EpisodeError, UsageError
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import ConnectFailed
from mesocosm.sandboxes import sandbox as sandbox_module
from mesocosm.sandboxes.bubblewrap import Available, available
from mesocosm.sandboxes.egress_proxy import EgressProxy
from mesocosm.sandboxes.health import wait_healthy
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.rotating_log import RotatingLog
from mesocosm.sandboxes.sandbox import ProgramSandbox, choose
from mesocosm.sandboxes.sandboxed_process import SandboxedProcess

KINDS = ("plain", pytest.param("bubblewrap", marks=pytest.mark.skipif(not available(), reason=available().reason)))

SERVER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.answer(os.environ.get("FLAVOUR", "").encode())
    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).upper())
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        print(*words)
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that confined programs can read, below one that they cannot."""
    folder = tmp_path / "source"
    folder.mkdir(mode=0o755)
    return folder


@pytest.fixture(params=KINDS)
def sandbox(request: pytest.FixtureRequest) -> ProgramSandbox:
    """A sandbox of each kind that this machine has."""
    kind: Literal["plain", "bubblewrap"] = request.param
    return ProgramSandbox(
        kind=kind, most_memory=512 * MIB, allowance=ProgramLimits(processes=64), readable=(Path(sys.prefix),)
    )


@pytest.fixture
async def served(sandbox: ProgramSandbox, place: Path, tmp_path: Path) -> AsyncIterator[SandboxedProcess]:
    """A server in a sandbox, healthy."""
    (place / "server.py").write_text(SERVER)
    command = [sys.executable, "server.py", str(port := _port(sandbox))]
    sandboxed = await sandbox.serve(command, cwd=place, port=port, env={"FLAVOUR": "salt"}, logs=tmp_path / "logs")
    async with HttpClient(socket=sandboxed.socket) as client:
        await wait_healthy("http://environment/health", sandboxed.process, client=client)
    yield sandboxed
    await sandboxed.stop(grace=0)


def _port(sandbox: ProgramSandbox) -> int:
    from mesocosm.sandboxes.port import free_port

    # A network of its own has every port free.
    return free_port() if sandbox.kind == "plain" else 8000


async def test_a_server_is_reached_through_its_socket(served: SandboxedProcess) -> None:
    async with HttpClient(socket=served.socket) as client:
        got = await client.request("GET", "http://environment/", timeout=60)
        posted = await client.request("POST", "http://environment/", body=b"x" * 3_000_000, timeout=60)
    assert (got.status, got.body, posted.body) == (200, b"salt", b"X" * 3_000_000)


async def test_many_clients_are_served_at_once(served: SandboxedProcess) -> None:
    async with HttpClient(socket=served.socket) as client:
        bodies = [f"words {number}".encode() for number in range(60)]
        asked = [client.request("POST", "http://environment/", body=body, timeout=60) for body in bodies]
        answers = await asyncio.gather(*asked)
    assert [answer.body for answer in answers] == [body.upper() for body in bodies]


async def test_after_the_end_nothing_is_left(served: SandboxedProcess) -> None:
    async with HttpClient(socket=served.socket) as client:
        await served.stop()
        with pytest.raises(ConnectFailed):
            await client.request("GET", "http://environment/", timeout=60)
    assert (served.socket.parent.exists(), served.reason) == (False, "")
    assert served.returncode is not None


async def test_a_closed_door_is_not_looked_at(served: SandboxedProcess) -> None:
    loop = asyncio.get_running_loop()
    looked_at = getattr(loop, "_selector").get_map()  # noqa: B009 -- typing does not know it
    served._forwarder.close()
    closed = [number for number in looked_at if not Path(f"/proc/self/fd/{number}").exists()]  # noqa: ASYNC240
    assert not closed


async def test_the_end_of_a_server_is_seen_with_its_last_words(sandbox: ProgramSandbox, place: Path) -> None:
    script = "import sys; print('nothing to do'); print('sorry', file=sys.stderr); sys.exit(7)"
    sandboxed = await sandbox.serve([sys.executable, "-c", script], cwd=place, port=_port(sandbox))
    async with asyncio.timeout(120):
        assert await sandboxed.wait() == 7
    assert (sandboxed.stdout_tail(), sandboxed.stderr_tail(), sandboxed.reason) == ("nothing to do", "sorry", "")
    await sandboxed.stop()
    assert not sandboxed.socket.parent.exists()


async def test_a_server_that_does_not_listen_yet_refuses(sandbox: ProgramSandbox, place: Path) -> None:
    sandboxed = await sandbox.serve(
        [sys.executable, "-c", "import time; time.sleep(60)"], cwd=place, port=_port(sandbox)
    )
    async with HttpClient(socket=sandboxed.socket) as client:
        with pytest.raises(ConnectFailed, match="Connection refused"):
            await client.request("GET", "http://environment/", timeout=60)
    await sandboxed.stop(grace=0)


async def test_what_a_server_writes_is_kept(served: SandboxedProcess, tmp_path: Path) -> None:
    await served.stop()
    assert "GET /health" in (tmp_path / "logs/stdout.log").read_text()


async def test_a_program_runs_to_its_end(sandbox: ProgramSandbox, place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    said: list[str] = []
    script = f"print('möwe'); open({str(out / 'made')!r}, 'w').write('x'); raise SystemExit(3)"
    finished = await sandbox.run(
        [sys.executable, "-c", script], cwd=place, writable=(out,), seconds=20, heard=said.append
    )
    assert (finished.code, finished.output_tail, finished.how, finished.reason) == (3, "möwe", "failed", "")
    assert "".join(said) == "möwe\n"
    assert (out / "made").read_text() == "x"


async def test_a_program_that_takes_too_long_is_ended(sandbox: ProgramSandbox, place: Path) -> None:
    finished = await sandbox.run(["sleep", "60"], cwd=place, seconds=0.2)
    assert (finished.how, finished.reason) == ("timeout", "did not end within 0.2 s")


async def test_a_program_that_fills_the_disk_is_ended(sandbox: ProgramSandbox, place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    script = f"""
import time
for number in range(40):
    open(f"{out}/{{number}}", "wb").write(bytes(2**20))
time.sleep(60)
"""
    finished = await sandbox.run(
        [sys.executable, "-c", script], cwd=place, writable=(out,), seconds=30, most_bytes=20 * MIB
    )
    assert (finished.how, finished.reason) == ("limit", "wrote more than 20 MB to disk")


async def test_a_cancelled_run_leaves_nothing(sandbox: ProgramSandbox, place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    script = f"open({str(out / 'up')!r}, 'w'); import time; time.sleep(60)"
    running = asyncio.create_task(sandbox.run([sys.executable, "-c", script], cwd=place, writable=(out,), seconds=50))
    async with asyncio.timeout(120):
        while not (out / "up").exists():  # noqa: ASYNC110 -- another process's file has no event
            await asyncio.sleep(0.005)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    # The kernel ends what is inside an instant after what holds it.
    async with asyncio.timeout(30):
        while any(str(out / "up") in words for words in _commands()):  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def _commands() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield (process / "cmdline").read_text()


async def test_a_program_reaches_the_allowed_hosts_and_no_others(sandbox: ProgramSandbox, place: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    script = f"""
import urllib.request
for url in ("http://127.0.0.1:{port}/packages", "http://other.example/"):
    try:
        print(urllib.request.urlopen(url, timeout=10).read().decode())
    except OSError as error:
        print(error, error.read().decode())
"""
    egress = EgressProxy(["pypi.example"], loopback=[f"127.0.0.1:{port}"])
    finished = await sandbox.run([sys.executable, "-c", script], cwd=place, seconds=30, egress=egress)
    server.close()
    refused = "this host is not allowed; there are: pypi.example"
    assert finished.output_tail.splitlines() == ["hello", f"HTTP Error 403: Refused other.example:80: {refused}"]
    assert egress.refused == [f"other.example:80: {refused}"]


@pytest.mark.skipif(os.getuid() != 0, reason="only as root the account of confined programs is another")
@pytest.mark.skipif(not available(), reason=available().reason)
async def test_a_folder_that_confined_programs_cannot_read_is_named(place: Path) -> None:
    place.chmod(0o700)  # noqa: ASYNC240 -- the test's own preparation
    with pytest.raises(EpisodeError, match=f"{place} cannot be read by confined programs"):
        await ProgramSandbox(kind="bubblewrap", most_memory=MIB).serve(["true"], cwd=place, port=8000)


def left(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for temporary files; not below the folder of the test, as paths of sockets are short."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield Path(folder)


async def test_a_program_that_cannot_be_started_leaves_nothing(place: Path, private: Path) -> None:
    sandbox = ProgramSandbox(kind="plain", most_memory=MIB)
    with pytest.raises(EpisodeError, match="no such directory"):
        await sandbox.serve(["true"], cwd=place / "missing", port=8000)
    with pytest.raises(EpisodeError, match="no such directory"):
        await sandbox.run(["true"], cwd=place / "missing", seconds=1, egress=EgressProxy([]))
    assert not left(private)


def test_a_ring_keeps_the_last_of_what_was_written(tmp_path: Path) -> None:
    ring = RotatingLog(tmp_path / "out.log", limit=100)
    for number in range(50):
        ring.write(f"line {number:04}\n".encode())
    ring.close()
    assert (tmp_path / "out.log").read_text().splitlines()[-1] == "line 0049"
    assert (tmp_path / "out.log.1").stat().st_size <= 50
    again = RotatingLog(tmp_path / "out.log", limit=100)
    again.write(b"x" * 1000)
    again.close()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 100


@pytest.mark.parametrize(
    ("sandbox", "unsafe", "kind"),
    [("auto", False, "bubblewrap"), ("bubblewrap", True, "bubblewrap"), ("plain", True, "plain")],
)
def test_the_setting_chooses_the_kind(sandbox: str, unsafe: bool, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "available", Available)
    assert choose(sandbox, unsafe) == kind


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [("auto", "bwrap not found"), ("plain", "all rights of the worker"), ("docker", "install"), ("jail", "no sandbox")],
)
def test_what_cannot_be_chosen_is_explained(sandbox: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "available", lambda: Available("bwrap not found"))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UsageError, match=words):
        choose(sandbox, unsafe=False)
