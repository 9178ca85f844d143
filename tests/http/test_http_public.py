"""Addresses that are public, and clients that go nowhere else."""

import asyncio
import socket
from collections.abc import Sequence

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.http import transport
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import ConnectFailed, HttpError
from mesocosm.http.public import check_public, public

PRIVATE = (
    *("127.0.0.1", "127.255.255.254", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("100.127.255.255", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
    *("192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "168.63.129.16"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
    *("64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::1", "fd00:ec2::254", "", "localhost", "1.2.3"),
)
PUBLIC = ("1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1")


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_of_the_internet_is_not_public(address: str) -> None:
    assert not public(address)


@pytest.mark.parametrize("address", [*PUBLIC, "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert public(address)


@pytest.mark.parametrize(
    "host", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0"]
)
def test_a_url_of_this_machine_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises(UsageError, match="not an address of the public internet"):
        check_public(f"http://{host}:8000/")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://1.1.1.1/", "must begin with http"),
        ("http://", "must begin with http"),
        ("http://1.1.1.1:99999/", "cannot be used"),
        ("http://somebody:word@1.1.1.1/", "user or password"),
        ("http://nobody.invalid/", "cannot be resolved"),
        ("http://a..b/", "cannot be"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check_public(url)


def test_a_public_url_is_accepted() -> None:
    check_public("https://1.1.1.1/path")


async def test_a_client_of_public_addresses_connects_to_no_other() -> None:
    arrived: list[object] = []
    server = await asyncio.start_server(lambda reader, writer: arrived.append((reader, writer)), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with HttpClient(public_only=True) as client:
        for host in ("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"):
            with pytest.raises(HttpError, match=r"not an address of the public internet|not a canonical IPv4 address"):
                await client.request("GET", f"http://{host}:{port}/", timeout=60)
    server.close()
    assert not arrived


async def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_: object, **__: object) -> Sequence[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("1.1.1.1", "10.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    async with HttpClient(public_only=True) as client:
        with pytest.raises(ConnectFailed, match=r"two\.example is at 10\.0\.0\.1"):
            await client.request("GET", "http://two.example/", timeout=60)


async def test_the_connection_goes_to_the_checked_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def resolve(*_: object, **__: object) -> Sequence[tuple[object, ...]]:
        asked.append(1)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    heard: list[bytes] = []
    asked: list[int] = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    # An address of the internet cannot be had in a test; what matters is that it is asked for once.
    monkeypatch.setattr(transport, "public", lambda _: True)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    async with HttpClient(public_only=True) as client:
        await client.request("GET", f"http://rebinding.example:{port}/", timeout=60)
    server.close()
    assert len(asked) == 1
    assert f"Host: rebinding.example:{port}".encode() in heard[0]


async def test_a_client_of_public_addresses_uses_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        async with HttpClient(public_only=True) as client:
            with pytest.raises(ConnectFailed, match="not an address of the public internet"):
                await client.request("GET", "http://10.0.0.1/", timeout=60)
