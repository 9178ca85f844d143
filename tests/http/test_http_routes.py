"""The ways to a server: TLS, IPv6, Unix sockets, proxies."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import ConnectFailed, HttpError, ProxyFailed
from mesocosm.http.proxy import Proxies
from mesocosm.http.target import Origin

if TYPE_CHECKING:
    from tests.http.conftest import Handler, RawServer, RawServers, Talk

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def test_https_is_spoken_with_a_trusted_server(
    servers: RawServers, server_tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    server = await servers.answer(OK, tls=server_tls)
    async with HttpClient(tls=trusting) as client:
        for _ in range(2):
            assert (await client.request("GET", server.url, timeout=60)).body == b"ok"
    assert server.connections == 1


async def test_a_large_answer_comes_whole_through_tls(
    servers: RawServers, server_tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    body = bytes(range(256)) * 20_000
    server = await servers.answer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body, tls=server_tls)
    async with HttpClient(tls=trusting) as client:
        assert (await client.request("GET", server.url, timeout=60)).body == body


async def test_an_untrusted_certificate_is_refused_with_a_hint(
    client: HttpClient, servers: RawServers, server_tls: ssl.SSLContext
) -> None:
    server = await servers.answer(OK, tls=server_tls)
    with pytest.raises(ConnectFailed, match=r"certificate of 127.0.0.1:\d+ is not trusted .*SSL_CERT_FILE"):
        await client.request("GET", server.url, timeout=60)


async def test_a_certificate_of_another_host_is_refused(
    servers: RawServers, server_tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    server = await servers.start(_answer, host="127.0.0.2", tls=server_tls)
    async with HttpClient(tls=trusting) as client:
        with pytest.raises(ConnectFailed, match="certificate"):
            await client.request("GET", server.url, timeout=60)


async def test_https_asked_of_a_plain_server_is_explained(client: HttpClient, servers: RawServers) -> None:
    async def handle(talk: Talk) -> None:
        await talk.reader.read(1)
        await talk.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await talk.gone()

    server = await servers.start(handle)
    with pytest.raises(ConnectFailed, match=r"no TLS with .*is it https\?"):
        await client.request("GET", server.url.replace("http:", "https:"), timeout=60)


async def test_plain_http_asked_of_a_tls_server_is_an_error(
    client: HttpClient, servers: RawServers, server_tls: ssl.SSLContext
) -> None:
    server = await servers.answer(OK, tls=server_tls)
    with pytest.raises(HttpError):
        await client.request("GET", server.url.replace("https:", "http:"), timeout=60)


async def test_an_ipv6_address_stands_in_brackets(client: HttpClient, servers: RawServers) -> None:
    server = await servers.start(_answer, host="::1")
    assert (await client.request("GET", server.url, timeout=60)).body == b"ok"
    assert server.requests[0].headers["host"] == f"[::1]:{server.port}"


async def test_a_unix_socket_is_reached_under_any_name(servers: RawServers, tmp_path: Path) -> None:
    path = tmp_path / "s"
    server = await servers.start(_answer, path=path)
    async with HttpClient(socket=path) as client:
        for _ in range(2):
            response = await client.request("GET", "http://adapter/health", timeout=60)
            assert response.body == b"ok"
    assert server.requests[0].line == "GET /health HTTP/1.1"
    assert server.requests[0].headers["host"] == "adapter"
    assert server.connections == 1


async def test_plain_requests_go_to_the_proxy_with_the_whole_url(
    servers: RawServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = await servers.answer(OK)
    monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//ann:p%40ss@"))
    async with HttpClient() as client:
        assert (await client.request("GET", "http://model.test:81/v1?a=b", timeout=60)).body == b"ok"
    (request,) = proxy.requests
    assert request.line == "GET http://model.test:81/v1?a=b HTTP/1.1"
    assert request.headers["host"] == "model.test:81"
    assert request.headers["proxy-authorization"] == "Basic YW5uOnBAc3M="


async def test_https_goes_through_a_tunnel(
    servers: RawServers, server_tls: ssl.SSLContext, trusting: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await servers.answer(OK, tls=server_tls)
    proxy = await servers.start(_tunnel_to(server))
    monkeypatch.setenv("https_proxy", proxy.url.replace("//", "//ann:secret@"))
    async with HttpClient(tls=trusting) as client:
        for _ in range(2):
            assert (await client.request("POST", "https://model.test/v1", body=b"x", timeout=60)).body == b"ok"
    (asked,) = proxy.requests
    assert asked.line == "CONNECT model.test:443 HTTP/1.1"
    assert asked.headers["proxy-authorization"] == "Basic YW5uOnNlY3JldA=="
    assert [request.line for request in server.requests] == ["POST /v1 HTTP/1.1"] * 2
    assert "proxy-authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "answered 407 when asked for model.test"),
        (b"SSH-2.0\r\n\r\n", "did not answer with HTTP"),
        (b"x" * 100_000, "did not answer with HTTP"),
        (b"", "closed the connection without an answer"),
    ],
)
async def test_a_proxy_that_makes_no_tunnel_is_named(
    servers: RawServers, monkeypatch: pytest.MonkeyPatch, answer: bytes, told: str
) -> None:
    async def handle(talk: Talk) -> None:
        await talk.read()
        await talk.send(answer)
        if answer:
            await talk.gone()

    proxy = await servers.start(handle)
    monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//ann:secret@"))
    async with HttpClient() as client:
        with pytest.raises(ProxyFailed, match=told) as failed:
            await client.request("GET", "https://model.test/", timeout=60)
    assert "secret" not in str(failed.value)
    await asyncio.wait_for(proxy.dropped.wait(), 120)


async def test_loopback_is_reached_directly_whatever_the_environment_says(
    servers: RawServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await servers.answer(OK)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with HttpClient() as client:
        assert (await client.request("GET", server.url, timeout=60)).body == b"ok"


async def test_a_proxy_that_cannot_be_used_is_an_error_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks5://user:secret@proxy.test:1080")
    async with HttpClient() as client:
        with pytest.raises(ConnectFailed, match="HTTP_PROXY") as failed:
            await client.request("GET", "http://model.test/", timeout=60)
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    ("rule", "host", "direct"),
    [
        ("*", "model.test", True),
        ("model.test", "model.test", True),
        ("model.test", "a.model.test", True),
        ("model.test", "mymodel.test", False),
        (".model.test", "a.model.test", True),
        ("*.model.test", "a.model.test", True),
        ("other.test, MODEL.test", "model.test", True),
        ("model.test:443", "model.test", True),
        ("model.test:8443", "model.test", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("[fd00::1]:443", "fd00::1", True),
        ("fd00::/8", "fd00::1", True),
        ("", "model.test", False),
        ("", "localhost", True),
        ("", "api.localhost", True),
        ("", "127.8.8.8", True),
        ("", "::1", True),
    ],
)
def test_no_proxy_rules(rule: str, host: str, direct: bool) -> None:
    proxies = Proxies({"HTTPS_PROXY": "proxy.test:3128", "NO_PROXY": rule})
    assert (proxies.proxy(Origin("https", host, 443)) is None) is direct


def test_the_proxy_of_a_scheme_is_used_before_the_one_for_all() -> None:
    proxies = Proxies({"all_proxy": "http://all.test", "HTTP_PROXY": "http://one.test"})
    chosen = [proxies.proxy(Origin(scheme, "model.test", 1)) for scheme in ("http", "https")]
    assert chosen == ["http://one.test", "http://all.test"]


def test_a_cgi_program_does_not_take_its_proxy_from_a_request_header() -> None:
    proxies = Proxies({"REQUEST_METHOD": "GET", "HTTP_PROXY": "http://evil.test"})
    assert proxies.proxy(Origin("http", "model.test", 80)) is None


async def _answer(talk: Talk) -> None:
    while True:
        await talk.read()
        await talk.send(OK)


def _tunnel_to(server: RawServer) -> Handler:
    async def handle(talk: Talk) -> None:
        await talk.read()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await talk.send(b"HTTP/1.1 200 Connection established\r\nX-Via: test\r\n\r\n")

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(copy(talk.reader, writer), copy(reader, talk.writer))

    return handle
