"""`mesocosm serve` as a program: its addresses, its workers, and its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME

pytestmark = pytest.mark.usefixtures("forked")

SECONDS = 60.0

Invoke = Callable[..., Any]


class Served:
    """A platform as a process; `told` is the document that it printed when it was ready."""

    def __init__(self, folder: Path, *words: str, **variables: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MESOCOSM_")}
        command = [sys.executable, "-m", "mesocosm", "serve", "--json", "--port", "0", "--login-port", "0"]
        self.folder = folder
        self.process = subprocess.Popen(
            [*command, "--data-dir", str(folder), *words],
            env={**kept, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line == "}\n":
                break
        self.told: dict[str, Any] = json.loads("".join(lines)) if lines else {}

    @property
    def url(self) -> str:
        """Where it answers."""
        return str(self.told["url"])

    def workers(self) -> list[Any]:
        """Return the workers that have not ended."""
        store = open_store(self.folder / DATABASE_NAME)
        try:
            return list(store.workers.list())
        finally:
            store.close()

    def end(self) -> str:
        """End it in order; return what it wrote to stderr."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=SECONDS)[1]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Return what starts a platform."""
    started: list[Served] = []

    def start(*words: str, **variables: str) -> Served:
        started.append(Served(tmp_path / "data", *words, **variables))
        return started[-1]

    yield start
    for served in started:
        served.process.kill()
        served.process.communicate()


def eventually(true: Callable[[], bool]) -> None:
    """Return once `true` says so; another process decides when that is."""
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def test_both_addresses_answer_and_the_first_administrator_is_told_once(serve: Callable[..., Served]) -> None:
    first = serve("--workers", "0")
    made = first.told["first_admin"]
    assert httpx.get(f"{first.url}/health").json()["status"] == "ok"
    assert httpx.get(f"{first.told['login_url']}/health").json()["status"] == "ok"
    assert made["username"]
    assert len(made["password"]) >= 16
    said = first.end()
    assert first.process.returncode == 0
    assert made["password"] not in said
    assert serve("--workers", "0").told["first_admin"] is None


def test_workers_end_with_a_server_that_is_told_to_end(serve: Callable[..., Served]) -> None:
    served = serve("--workers", "2")
    eventually(lambda: len(served.workers()) == 2)
    served.end()
    assert served.process.returncode == 0
    assert served.workers() == []


def test_workers_end_with_a_server_that_is_killed(serve: Callable[..., Served]) -> None:
    served = serve("--workers", "1")
    eventually(lambda: len(served.workers()) == 1)
    served.process.kill()
    eventually(lambda: served.workers() == [])


def test_a_worker_that_dies_is_started_again(serve: Callable[..., Served]) -> None:
    served = serve("--workers", "1")
    eventually(lambda: len(served.workers()) == 1)
    died = served.workers()[0]
    os.kill(died.holder.pid, signal.SIGKILL)
    eventually(lambda: [worker.id for worker in served.workers()] not in ([died.id], []))


def test_streams_end_with_a_server_that_is_told_to_end(serve: Callable[..., Served]) -> None:
    served = serve("--workers", "0")
    with httpx.stream("GET", f"{served.url}/api/live", timeout=SECONDS) as stream:
        assert stream.status_code == 200
        served.process.send_signal(signal.SIGTERM)
        stream.read()
    served.process.communicate(timeout=SECONDS)
    assert served.process.returncode == 0


def test_the_log_has_a_line_for_each_request_a_warning_about_tls_and_no_secret(serve: Callable[..., Served]) -> None:
    # It warns as well, because others can reach it without TLS.
    served = serve("--workers", "0", "--log-format", "json", "--host", "0.0.0.0")
    secret = "tell-nobody-4711"
    headers = {"Authorization": f"Bearer {secret}", "Cookie": f"bench_guest={secret}", "X-Request-Id": "mine-1"}
    answer = httpx.get(f"{served.url}/health", params={"token": secret}, headers=headers)
    assert answer.headers["x-request-id"] == "mine-1"
    said = served.end()
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line.get("request") == "mine-1"]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/health", 200)
    assert secret not in said
    assert "listening on 0.0.0.0 without TLS" in said


def test_a_port_that_is_taken_is_said_and_nothing_is_made(mesocosm: Invoke, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = mesocosm("serve", "--port", port, "--data-dir", tmp_path / "data")
    assert done.code == 4
    assert f"port {port} is taken" in done.err
    assert not (tmp_path / "data").exists()


def test_with_a_prefix_and_one_address_it_answers_there_alone(serve: Callable[..., Served]) -> None:
    served = serve("--workers", "0", "--prefix", "/bench", "--login-port", "none")
    assert served.url.endswith("/bench")
    assert served.told["login_url"] == ""
    assert httpx.get(f"{served.url}/health").json()["status"] == "ok"
    assert httpx.get(f"{served.url.removesuffix('/bench')}/health").json()["status"] == "ok"
    assert httpx.get(f"{served.url}/").json()["docs"] == "/bench/docs"


def test_a_login_port_that_is_none_is_refused(mesocosm: Invoke, tmp_path: Path) -> None:
    done = mesocosm("serve", "--login-port", "70000", "--data-dir", tmp_path / "data")
    assert done.code == 2
    assert "'70000' is not a port from 0 to 65535, nor none" in done.err


def test_a_data_directory_that_cannot_be_made_is_named_with_the_flag(mesocosm: Invoke, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "data"
    done = mesocosm("serve", "--port", "0", "--login-port", "0", "--data-dir", place)
    assert done.code == 4
    assert f"the data directory {place} cannot be made (Not a directory)" in done.err
    assert "--data-dir" in done.err


def test_settings_come_from_flags_then_variables_then_the_file(tmp_path: Path) -> None:
    file = tmp_path / "platform.toml"
    file.write_text('workers = 3\nport = 1111\nlog_format = "json"\n')
    settings = read_settings(file, port=3333)
    assert (settings.port, settings.workers, settings.log_format) == (3333, 3, "json")
