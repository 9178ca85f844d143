"""Adapters that start, and all the ways in which they do not."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import LoopClock

from mesocosm.core.failure import RunAborted
from mesocosm.environments import launch as launching
from mesocosm.environments.client import HttpEnvironment
from mesocosm.environments.launch import Launched, launch
from mesocosm.http.client import HttpClient
from mesocosm.http.response import Response
from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.sandboxes.process import ForeignProcess

Repository = Callable[..., Path]


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient() as client:
        yield client


class Watched(PlainSandbox):
    """Keeps the processes that it starts, so that a test can see their end."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[ForeignProcess] = []

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> ForeignProcess:
        process = await super().start(command, cwd=cwd, env=env, port=port)
        self.started.append(process)
        return process


async def first_observation(client: HttpClient, launched: Launched) -> Any:
    return (await HttpEnvironment(client, launched, "e", 1).reset()).data


class Looking(HttpClient):
    """A client that lets the time of a start be over once a first answer has come."""

    def __init__(self, clock: LoopClock, seconds: float) -> None:
        super().__init__()
        self._clock = clock
        self._seconds = seconds

    async def request(self, *given: Any, **named: Any) -> Response:
        answer = await super().request(*given, **named)
        # What waits for the answer sees it first.
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, self._clock.advance, self._seconds)
        return answer


async def refusal(client: HttpClient, directory: Path, seconds: float = 30.0) -> str:
    sandbox = Watched()
    with pytest.raises(RunAborted) as caught:
        await launch(directory / "adapter.py", sandbox, client, seconds=seconds)
    assert all(process.returncode is not None for process in sandbox.started)
    return str(caught.value)


async def test_an_adapter_runs_in_its_directory_with_nothing_but_a_port(
    repository: Repository, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_AUTHOR", "kept")
    directory = repository()
    launched = await launch(directory / "adapter.py", PlainSandbox(), client)
    try:
        seen = await first_observation(client, launched)
    finally:
        await launched.process.stop()
    assert seen["argv"] == ["--port", launched.url.rpartition(":")[2]]
    assert Path(seen["cwd"]) == directory
    assert seen["pid"] == launched.process.pid
    assert seen["environment"]["OF_THE_AUTHOR"] == "kept"


async def test_output_beyond_ascii_stops_no_adapter(
    repository: Repository, client: HttpClient, plain_source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONCOERCECLOCALE", "0")
    directory = repository(plain_source + "\nprint('🟩')\nmain()")
    launched = await launch(directory / "adapter.py", PlainSandbox(), client)
    words = launched.stderr()
    await launched.process.stop()
    assert "🟩" in words


async def test_an_adapter_that_ends_is_noticed_with_its_words(repository: Repository, client: HttpClient) -> None:
    source = "import sys\nprint('no licence file', file=sys.stderr)\nsys.exit(7)"
    message = await refusal(client, repository(source))
    assert "adapter.py: the process ended with exit code 7 before http://127.0.0.1:" in message
    assert "\n  | no licence file" in message


async def test_a_syntax_error_is_shown(repository: Repository, client: HttpClient) -> None:
    assert "SyntaxError" in await refusal(client, repository("def broken("))


async def test_a_script_that_serves_nothing_gets_a_hint(repository: Repository, client: HttpClient) -> None:
    message = await refusal(client, repository("app = object()"))
    assert "does it call serve(…)" in message
    assert "it said nothing" in message


async def test_an_adapter_that_ignores_its_port_is_named_with_the_port_it_took(
    repository: Repository, client: HttpClient, plain_source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "STRAY_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    source = f"{plain_source}\nThreadingHTTPServer(('127.0.0.1', {port}), Handler).serve_forever()"
    assert f"answers at port {port}, not at " in await refusal(client, repository(source))


async def test_a_second_port_beside_the_right_one_is_no_fault(
    repository: Repository, client: HttpClient, plain_source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "STRAY_S", 0.0)
    source = plain_source + "\nimport socket\nother = socket.create_server(('127.0.0.1', 0))\nmain()"
    launched = await launch(repository(source) / "adapter.py", PlainSandbox(), client)
    await launched.process.stop()


async def test_a_health_route_that_hangs_is_named(repository: Repository, client: HttpClient) -> None:
    source = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[2])))
time.sleep(1000)
"""
    message = await refusal(client, repository(source), seconds=0.6)
    assert "was not healthy within 0.6 s" in message


async def test_a_health_route_of_another_status_is_named(
    repository: Repository, plain_source: str, loop_clock: LoopClock
) -> None:
    source = plain_source.replace("send_response(200)", "send_response(503)") + "\nmain()"
    async with Looking(loop_clock, 60.0) as client:
        assert "answers with status 503" in await refusal(client, repository(source), seconds=60.0)


async def test_an_adapter_that_listens_nowhere_is_named(repository: Repository, client: HttpClient) -> None:
    message = await refusal(client, repository("import time\ntime.sleep(1000)"), seconds=0.3)
    assert "nothing listens there" in message


async def test_a_port_taken_by_somebody_else_is_replaced(
    repository: Repository, client: HttpClient, plain_source: str
) -> None:
    source = (
        "import pathlib, sys\nif not pathlib.Path('seen').exists():\n"
        "    pathlib.Path('seen').touch()\n    sys.exit('OSError: [Errno 98] Address already in use')\n" + plain_source
    )
    directory = repository(source + "\nmain()")
    launched = await launch(directory / "adapter.py", PlainSandbox(), client)
    await launched.process.stop()
    assert (directory / "seen").exists()


async def test_another_failure_is_not_tried_again(repository: Repository, client: HttpClient) -> None:
    directory = repository("import sys\nopen('starts', 'a').write('x')\nsys.exit(1)")
    await refusal(client, directory)
    assert (directory / "starts").read_text() == "x"


async def test_an_interpreter_that_does_not_exist_is_named(repository: Repository, client: HttpClient) -> None:
    with pytest.raises(RunAborted, match="no-such-python"):
        await launch(repository() / "adapter.py", PlainSandbox(), client, python="no-such-python")


async def test_giving_up_stops_the_process(repository: Repository, client: HttpClient) -> None:
    sandbox = Watched()
    directory = repository("import time\nopen('begun', 'w').close()\ntime.sleep(1000)")
    os.mkfifo(directory / "begun")
    task = asyncio.create_task(launch(directory / "adapter.py", sandbox, client))
    await asyncio.to_thread((directory / "begun").read_bytes)
    async with asyncio.timeout(120):
        while not sandbox.started:  # noqa: ASYNC110 -- the process may be further than who started it
            await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sandbox.started[0].returncode is not None


async def test_children_of_an_adapter_end_with_it(
    repository: Repository, client: HttpClient, plain_source: str
) -> None:
    source = (
        plain_source
        + "\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])"
        + "\nopen('child', 'w').write(str(child.pid))\nmain()"
    )
    directory = repository(source)
    launched = await launch(directory / "adapter.py", PlainSandbox(), client)
    child = int((directory / "child").read_text())
    os.kill(child, 0)
    await launched.process.stop()
    assert gone(child)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet counts."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in {"Z", "X"}
