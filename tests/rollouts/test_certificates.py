"""Certificates that are loaded late: everything that programs see of them stays as it is."""

import asyncio
import http.client
import http.server
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import certifi
import httpx
import httpx2
import pytest
import requests

from mesocosm.rollouts import certificates
from mesocosm.rollouts.certificates import SMALLEST, late_certificates

OWN = Path(__file__).parents[1] / "http" / "loopback.pem"
"""A certificate for localhost with its key, signed by itself."""
PLAIN = ssl.SSLContext.load_verify_locations, ssl.SSLContext.set_default_verify_paths


@pytest.fixture(autouse=True)
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    late_certificates.begin()
    yield
    late_certificates.end()
    assert (ssl.SSLContext.load_verify_locations, ssl.SSLContext.set_default_verify_paths) == PLAIN


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the files that are really loaded."""
    seen: list[object] = []
    load = certificates._plain_load

    def counted(context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        seen.append(cafile)
        load(context, cafile, capath, cadata)

    monkeypatch.setattr(certificates, "_plain_load", counted)
    return seen


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a file of many authorities, among them our own."""
    file = tmp_path / "bundle.pem"
    own = OWN.read_text()
    file.write_text(Path(certifi.where()).read_text() + own[own.index("-----BEGIN CERTIFICATE") :])
    assert file.stat().st_size > SMALLEST
    return file


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Clients that do not trust the server go away."""


@pytest.fixture
def secure() -> Iterator[str]:
    """Return the address of a server with our own certificate."""
    server = Quiet(("127.0.0.1", 0), Hello)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(OWN)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"https://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


async def _aiohttp(url: str, verify: ssl.SSLContext) -> str:
    async with aiohttp.ClientSession() as session, session.get(url, ssl=verify) as response:
        return await response.text()


async def _stream(url: str, verify: ssl.SSLContext) -> str:
    host, _, port = url.removeprefix("https://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=verify)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    return text[-5:]


def _standard(url: str, verify: ssl.SSLContext) -> str:
    connection = http.client.HTTPSConnection(url.removeprefix("https://"), context=verify)
    connection.request("GET", "/")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


CLIENTS: dict[str, Callable[[str, ssl.SSLContext], str]] = {
    "httpx": lambda url, verify: httpx.get(url, verify=verify).text,
    "httpx2": lambda url, verify: httpx2.get(url, verify=verify).text,
    "aiohttp": lambda url, verify: asyncio.run(_aiohttp(url, verify)),
    "asyncio": lambda url, verify: asyncio.run(_stream(url, verify)),
    "http.client": _standard,
}
REFUSED = (httpx.ConnectError, httpx2.ConnectError, aiohttp.ClientConnectorCertificateError, ssl.SSLError)


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_trusts_what_its_context_was_given(client: str, secure: str, bundle: Path) -> None:
    for _ in range(3):
        assert CLIENTS[client](secure, ssl.create_default_context(cafile=bundle)) == "hello"


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_refuses_who_is_not_in_the_bundle(client: str, secure: str, bundle: Path) -> None:
    for _ in range(2):
        with pytest.raises(REFUSED, match=r"CERTIFICATE_VERIFY_FAILED|certificate verify failed"):
            CLIENTS[client](secure, ssl.create_default_context(cafile=certifi.where()))
    assert CLIENTS[client](secure, ssl.create_default_context(cafile=bundle)) == "hello"


def test_requests_trusts_its_bundle_and_no_other(secure: str, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        assert requests.get(secure, verify=str(bundle), timeout=60).text == "hello"
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(secure, timeout=10)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    assert requests.get(secure, timeout=60).text == "hello"


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_clients_that_verify_nothing_still_do_not(secure: str) -> None:
    assert httpx.get(secure, verify=False).text == "hello"
    assert requests.get(secure, verify=False, timeout=60).text == "hello"
    with pytest.raises(httpx.ConnectError):
        httpx.get(secure)


def test_a_client_for_each_row_parses_nothing(parsed: list[object], bundle: Path) -> None:
    def row() -> None:
        httpx.AsyncClient()
        httpx2.AsyncClient()
        ssl.create_default_context(cafile=bundle)

    row()
    parsed.clear()
    for _ in range(5):
        row()
    assert parsed == []


def test_what_one_context_is_told_changes_no_other(secure: str, bundle: Path) -> None:
    first, second = (ssl.create_default_context(cafile=certifi.where()) for _ in range(2))
    first.check_hostname = False
    first.verify_mode = ssl.CERT_NONE
    first.load_verify_locations(bundle)
    assert second.check_hostname
    assert second.verify_mode is ssl.CERT_REQUIRED
    assert httpx.get(secure, verify=first).text == "hello"
    with pytest.raises(httpx.ConnectError):
        httpx.get(secure, verify=second)
    assert len(first.get_ca_certs()) == len(second.get_ca_certs()) + 1


def test_a_context_shows_the_certificates_that_it_was_given(bundle: Path) -> None:
    shown = [ssl.create_default_context(cafile=bundle).cert_store_stats() for _ in range(3)]
    late_certificates.end()
    try:
        plain = ssl.create_default_context(cafile=bundle)
    finally:
        late_certificates.begin()
    assert shown == [plain.cert_store_stats()] * 3
    assert ssl.create_default_context(cafile=bundle).get_ca_certs() == plain.get_ca_certs()


def test_a_file_of_ones_own_is_added_to_those_of_the_system(secure: str) -> None:
    context = ssl.create_default_context()
    context.load_verify_locations(OWN)
    assert httpx.get(secure, verify=context).text == "hello"


def test_the_environment_counts_as_it_was_when_the_context_was_made(
    secure: str, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ssl.create_default_context(), httpx.Client()
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    during = ssl.create_default_context(), httpx.Client()
    monkeypatch.delenv("SSL_CERT_FILE")
    after = ssl.create_default_context(), httpx.Client()
    assert httpx.get(secure, verify=during[0]).text == "hello"
    assert during[1].get(secure).text == "hello"
    for context, client in (before, after):
        with pytest.raises(httpx.ConnectError):
            httpx.get(secure, verify=context)
        with pytest.raises(httpx.ConnectError):
            client.get(secure)
    for _, client in (before, during, after):
        client.close()


def test_a_bundle_that_changed_is_read_anew(secure: str, bundle: Path) -> None:
    ssl.create_default_context(cafile=bundle)
    bundle.write_text(Path(certifi.where()).read_text())
    with pytest.raises(httpx.ConnectError):
        httpx.get(secure, verify=ssl.create_default_context(cafile=bundle))


def test_a_file_that_is_missing_or_no_certificate_is_refused_at_once(tmp_path: Path, bundle: Path) -> None:
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate\n" * SMALLEST)
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            ssl.create_default_context(cafile=tmp_path / "missing.pem")
        with pytest.raises(ssl.SSLError):
            ssl.create_default_context(cafile=nonsense)
    ssl.create_default_context(cafile=bundle)
    bundle.write_bytes(nonsense.read_bytes())
    with pytest.raises(ssl.SSLError):
        ssl.create_default_context(cafile=bundle)
    bundle.unlink()
    with pytest.raises(FileNotFoundError):
        ssl.create_default_context(cafile=bundle)


def test_a_bundle_that_goes_before_the_first_connection_is_no_reason_to_trust(secure: str, bundle: Path) -> None:
    ssl.create_default_context(cafile=bundle)
    context = ssl.create_default_context(cafile=bundle)
    bundle.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            context.get_ca_certs()
        with pytest.raises((httpx.ConnectError, FileNotFoundError)):
            httpx.get(secure, verify=context)


def test_contexts_of_servers_have_their_certificates_at_once(bundle: Path) -> None:
    for _ in range(2):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=bundle)
        assert type(context) is ssl.SSLContext


def test_contexts_of_derived_classes_have_their_certificates_at_once(bundle: Path) -> None:
    class Mine(ssl.SSLContext):
        pass

    for _ in range(2):
        context = Mine(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(bundle)
        assert type(context) is Mine
        assert context.cert_store_stats()["x509"] > 1


def test_a_context_is_made_whole_once_however_many_threads_need_it(bundle: Path, parsed: list[object]) -> None:
    ssl.create_default_context(cafile=bundle)
    context = ssl.create_default_context(cafile=bundle)
    parsed.clear()
    together = threading.Barrier(8)
    found: list[int] = []

    def look() -> None:
        together.wait()
        found.append(len(context.get_ca_certs()))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(parsed) == 1


def test_a_context_from_before_the_end_gets_its_certificates_after_it(secure: str, bundle: Path) -> None:
    ssl.create_default_context(cafile=bundle)
    context = ssl.create_default_context(cafile=bundle)
    late_certificates.end()
    try:
        assert httpx.get(secure, verify=context).text == "hello"
    finally:
        late_certificates.begin()


def test_an_ssl_module_that_others_have_changed_is_left_alone() -> None:
    program = """
import ssl

class Theirs(ssl.SSLContext):
    pass

Theirs.__module__ = "theirs"
ssl.SSLContext = Theirs
from mesocosm.rollouts.certificates import late_certificates
late_certificates.begin()
assert "load_verify_locations" not in vars(Theirs)
late_certificates.end()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env={**os.environ})
