"""The way out knows a few hosts, and no others."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import pytest

from mesocosm.sandboxes import egress_proxy as module
from mesocosm.sandboxes.egress_proxy import AuthenticatedRoute, EgressProxy
from mesocosm.sandboxes.relay import Taker


@pytest.fixture
async def server() -> AsyncIterator[int]:
    """Says everything back, with what came before it in front; returns its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            writer.write(b"heard: " + await reader.read())
            writer.write_eof()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield listening.sockets[0].getsockname()[1]
    listening.close()


@pytest.fixture
async def index() -> AsyncIterator[int]:
    """Says the head of a request back; returns its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            writer.write(b"heard: " + await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield listening.sockets[0].getsockname()[1]
    listening.close()


async def asks(egress: EgressProxy, *pieces: bytes) -> bytes:
    """Connect to the proxy, say these things and return all that comes back."""
    listening = await asyncio.start_server(_forgiving(egress), "127.0.0.1", 0)
    try:
        async with asyncio.timeout(120):
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            writer.write_eof()
            said = await reader.read()
            writer.close()
            return said
    finally:
        listening.close()


def _forgiving(egress: EgressProxy) -> Taker:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await egress.serve(reader, writer)
        writer.close()

    return serve


async def test_a_tunnel_carries_both_ways(server: int) -> None:
    egress = EgressProxy([], loopback=[f"127.0.0.1:{server}"])
    said = await asks(egress, f"CONNECT 127.0.0.1:{server} HTTP/1.1\r\n\r\n".encode(), b"hello" * 100_000)
    assert said == b"HTTP/1.1 200 Connection established\r\n\r\nheard: " + b"hello" * 100_000
    assert egress.carried == 2 * 500_000 + len("heard: ")


async def test_a_plain_request_arrives_as_the_server_wants_it(server: int) -> None:
    egress = EgressProxy([], loopback=[f"127.0.0.1:{server}"])
    head = f"GET http://127.0.0.1:{server}/a?b=c HTTP/1.1\r\nHost: other\r\nProxy-Authorization: x\r\nAccept: y\r\n\r\n"
    said = await asks(egress, head.encode(), b"body")
    expected = f"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:{server}\r\nConnection: close\r\nAccept: y\r\n\r\nbody"
    assert said == b"heard: " + expected.encode()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("elsewhere.example:443", "not allowed"),
        ("sub.pypi.example:443", "not allowed"),
        ("localhost:22", "only the ports 80 and 443"),
        ("localhost:443", "not an address of the public internet"),
        ("LOCALHOST.:80", "not an address of the public internet"),
        ("127.0.0.1:443", "not allowed"),
        ("nobody.invalid:443", "cannot be resolved"),
    ],
)
async def test_other_places_are_refused_with_the_reason(place: str, words: str) -> None:
    egress = EgressProxy(["pypi.example", "localhost", "nobody.invalid"])
    said = await asks(egress, f"CONNECT {place} HTTP/1.1\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 403 ")
    assert words in said.decode()
    assert words in egress.refused[0]


@pytest.mark.parametrize(
    "head",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET https://pypi.example/ HTTP/1.1\r\n\r\n",
        b"CONNECT pypi.example HTTP/1.1\r\n\r\n",
        b"CONNECT pypi.example:x HTTP/1.1\r\n\r\n",
        b"CONNECT pypi.example:443 HTTP/2\r\n\r\n",
        b"\xff\xfe \r\n\r\n",
        b"x" * 100_000,
        b"",
    ],
)
async def test_what_is_no_request_is_refused(head: bytes) -> None:
    assert (await asks(EgressProxy(["pypi.example"]), head)).startswith(b"HTTP/1.1 400 ")


async def test_the_checked_address_is_the_one_that_is_connected_to(
    server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(*_: object, **__: object) -> Sequence[tuple[object, ...]]:
        asked.append(1)
        return [(0, 0, 0, "", ("127.0.0.1", server))]

    def check(address: str) -> bool:
        checked.append(address)
        return True

    asked: list[int] = []
    checked: list[str] = []
    monkeypatch.setattr(module, "public", check)
    egress = EgressProxy(["rebinding.example"], ports={server})
    monkeypatch.setattr(module, "_resolved", resolve)
    said = await asks(egress, f"CONNECT rebinding.example:{server} HTTP/1.1\r\n\r\n".encode(), b"x")
    assert said.endswith(b"heard: x")
    assert (len(asked), checked) == (1, ["127.0.0.1"])


async def test_too_many_bytes_end_the_connection_and_the_next(server: int) -> None:
    egress = EgressProxy([], loopback=[f"127.0.0.1:{server}"], most_bytes=100_000)
    head = f"CONNECT 127.0.0.1:{server} HTTP/1.1\r\n\r\n".encode()
    with suppress(ConnectionError):
        assert b"heard" not in await asks(egress, head, b"x" * 500_000)
    assert egress.refused == ["more than 100,000 bytes were to be carried"]
    assert "were carried already" in (await asks(egress, head)).decode()


async def test_connections_that_carry_too_much_at_once_are_noted_once(server: int) -> None:
    egress = EgressProxy([], loopback=[f"127.0.0.1:{server}"], most_bytes=100_000)
    head = f"CONNECT 127.0.0.1:{server} HTTP/1.1\r\n\r\n".encode()
    async with asyncio.TaskGroup() as group:
        for _ in range(30):
            group.create_task(_aborted(egress, head, b"x" * 50_000))
    assert "more than 100,000 bytes were to be carried" in egress.refused
    assert len(egress.refused) == len(set(egress.refused)) <= 20


async def _aborted(egress: EgressProxy, *pieces: bytes) -> None:
    with suppress(ConnectionError):
        await asks(egress, *pieces)


def test_programs_are_told_by_the_usual_variables() -> None:
    told = EgressProxy([]).variables(3128)
    assert told["https_proxy"] == told["HTTPS_PROXY"] == told["http_proxy"] == "http://127.0.0.1:3128"
    assert told["no_proxy"] == ""


def entered(index: int) -> EgressProxy:
    """Return a way out that enters an index with a password."""
    paths = ("/index/", "/packages/")
    doors = [
        AuthenticatedRoute(index, False, "Basic planted-canary", paths),
        AuthenticatedRoute(index, False, "Basic other", ("/two",)),
    ]
    return EgressProxy([], loopback=[f"127.0.0.1:{index}"], entrances={f"127.0.0.1:{index}": doors})


@pytest.mark.parametrize(
    ("asked", "password"),
    [
        ("GET /index/x/", "planted-canary"),
        ("HEAD /packages/x-1.0.whl?a=../b", "planted-canary"),
        ("GET /two", "other"),
    ],
)
async def test_a_package_is_fetched_with_the_password_of_its_index(index: int, asked: str, password: str) -> None:
    method, path = asked.split()
    head = f"{method} http://127.0.0.1:{index}{path} HTTP/1.1\r\nAuthorization: own\r\nAccept: y\r\n\r\n"
    said = await asks(entered(index), head.encode())
    lines = [asked + " HTTP/1.1", f"Host: 127.0.0.1:{index}", "Connection: close", f"Authorization: Basic {password}"]
    assert said == b"heard: " + "\r\n".join([*lines, "Accept: y", "", ""]).encode()


@pytest.mark.parametrize(
    "asked",
    [
        *(
            "POST /index/x/",
            "PUT /index/x",
            "DELETE /packages/x",
            "PATCH /index/",
            "get /index/",
            "OPTIONS /index/",
        ),
        *("GET /", "GET /api/users", "GET /indexx", "GET /index/../api", "GET /index/%2e%2e/api", "GET /twofold"),
        *("GET /index/%252e%252e/api", "GET /index/..;a=b/api", "GET /index/..%5capi", "GET /index/..%2fapi"),
        "GET //index/",
    ],
)
async def test_nothing_else_borrows_the_password_of_an_index(index: int, asked: str) -> None:
    egress = entered(index)
    method, path = asked.split()
    said = await asks(egress, f"{method} http://127.0.0.1:{index}{path} HTTP/1.1\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 403 ")
    assert b"canary" not in said
    assert "only GET below /index/ or /packages/ or /two is allowed" in egress.refused[0]


@pytest.mark.parametrize(
    "field",
    [
        *("X-HTTP-Method-Override: DELETE", "X-Original-URL: /api/users", "Content-Length: 30", "Upgrade: h2c"),
        *("Transfer-Encoding: chunked", "Accept: y\nX-Original-URL: /api", " folded", "Authorization: own"),
    ],
)
async def test_a_field_that_could_turn_the_request_into_another_does_not_go_along(index: int, field: str) -> None:
    head = f"GET http://127.0.0.1:{index}/index/ HTTP/1.1\r\nHost: x\r\n{field}\r\n\r\n"
    egress = entered(index)
    said = await asks(egress, head.encode() + b"DELETE /api/users HTTP/1.1\r\n\r\n")
    lines = ["GET /index/ HTTP/1.1", f"Host: 127.0.0.1:{index}", "Connection: close"]
    assert said == b"heard: " + "\r\n".join([*lines, "Authorization: Basic planted-canary", "", ""]).encode()
    assert egress.carried == len(said), "what follows a request was carried as well"
