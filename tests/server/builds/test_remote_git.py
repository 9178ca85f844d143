"""Repositories behind https on loopback, reached by git through the way out of its sandbox."""

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.server.builds.conftest import Repositories

from mesocosm.server.builds.checkout import fetch
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.repository_address import RepositorySource, read_source
from mesocosm.server.settings import Settings, read_settings

PEM = Path(__file__).parents[2] / "http" / "loopback.pem"


class _Git(BaseHTTPRequestHandler):
    """Answers like a git host: public repositories by git http-backend, others with a demand for a password."""

    root = Path()
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if "private" in path:
            self.answer(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"who are you?")
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        asked = {
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env={**os.environ, **asked}, capture_output=True, check=False
        )
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.answer(int(fields.pop("Status", "200").split()[0]), fields, answer)

    def do_POST(self) -> None:
        self.do_GET()

    def answer(self, status: int, fields: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        return


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A git host with TLS; its name as an operator writes it."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(PEM)
    handler = type("Git", (_Git,), {"root": tmp_path})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("GIT_SSL_CAINFO", str(PEM))
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(host: str) -> Settings:
    return read_settings(git_hosts=(host,), source_mb=2)


async def fault(settings: Settings, source: RepositorySource, directory: BuildDirectory, log: BuildLog) -> str:
    with pytest.raises(BuildError) as caught:
        await fetch(settings, source, directory, log)
    return str(caught.value)


async def test_a_repository_is_fetched_at_a_branch_and_again_at_its_commit(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "old"})
    known.git("branch", "stable")
    source = RepositorySource(f"https://{host}/{known.path.name}/.git", "stable")
    first = await fetch(settings, source, directory, log)
    assert first == known.git("rev-parse", "stable")
    known.commit({"a.txt": "new"})
    again = BuildDirectory(directory.folder.with_name("again"))
    again.folder.mkdir()
    assert await fetch(settings, source, again, log, commit=first) == first
    assert (again.source / "a.txt").read_text() == "old"


async def test_a_missing_branch_is_told_with_those_that_there_are(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    source = RepositorySource(f"https://{host}/{known.path.name}/.git", "mian")
    assert "no branch or tag 'mian'; it has main" in await fault(settings, source, directory, log)


@pytest.mark.parametrize("name", ["nowhere", "private"])
async def test_a_repository_that_is_missing_or_private_is_told(
    name: str, host: str, settings: Settings, directory: BuildDirectory, log: BuildLog
) -> None:
    words = await fault(settings, RepositorySource(f"https://{host}/you/{name}"), directory, log)
    assert "there is no public repository at" in words
    assert "does not exist, or is private" in words


async def test_a_host_that_is_not_the_operators_is_not_reached(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    elsewhere = read_settings(git_hosts=("github.com",))
    words = await fault(elsewhere, RepositorySource(f"https://{host}/{known.path.name}/.git"), directory, log)
    assert "could not be reached" in words
    assert not directory.source.exists()


def test_an_operator_names_a_host_inside_with_its_port() -> None:
    found = read_source("https://git.inside/you/repo", read_settings(git_hosts=("git.inside:443",)))
    assert found == RepositorySource("https://git.inside/you/repo")
