"""Where requests come from."""

import pytest
from starlette.requests import HTTPConnection

from mesocosm.server.web.client_address import client_address, counted, secure


def _connection(peer: str | None, *forwarded: str, scheme: str = "http", proto: str = "") -> HTTPConnection:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    headers += [(b"x-forwarded-proto", proto.encode())] if proto else []
    client = None if peer is None else (peer, 1)
    scope = {"type": "http", "headers": headers, "client": client, "scheme": scheme, "path": "/", "query_string": b""}
    return HTTPConnection({**scope, "server": ("127.0.0.1", 80)})


PROXIES = ("10.0.0.0/8", "::1")


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["6.6.6.6"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["6.6.6.6", "192.0.2.1, 10.0.0.2"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.1:4000"], "192.0.2.1"),
        ("10.0.0.1", ["[2001:db8::1]:4000"], "2001:db8::1"),
        ("10.0.0.1", ["192.0.2.1, unknown"], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["192.0.2.1"], "192.0.2.1"),
        ("::1", ["192.0.2.1"], "192.0.2.1"),
        (None, ["192.0.2.1"], ""),
    ],
)
def test_only_trusted_proxies_tell_of_others(peer: str | None, forwarded: list[str], expected: str) -> None:
    assert client_address(_connection(peer, *forwarded), PROXIES) == expected


def test_a_setting_that_is_no_network_trusts_nobody() -> None:
    assert client_address(_connection("10.0.0.1", "6.6.6.6"), ("proxy.example", "*")) == "10.0.0.1"


@pytest.mark.parametrize(
    ("peer", "proto", "scheme", "public_url", "expected"),
    [
        ("192.0.2.1", "", "https", "", True),
        ("192.0.2.1", "https", "http", "", False),
        ("10.0.0.1", "https", "http", "", True),
        ("10.0.0.1", "http", "http", "", False),
        ("192.0.2.1", "", "http", "https://mc.example", True),
        ("192.0.2.1", "", "https", "http://mc.example", False),
    ],
)
def test_https_is_known_by_the_public_address_else_by_the_connection(
    peer: str, proto: str, scheme: str, public_url: str, *, expected: bool
) -> None:
    assert secure(_connection(peer, proto=proto, scheme=scheme), public_url, PROXIES) is expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [("192.0.2.1", "192.0.2.1"), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"), ("", ""), ("testclient", "testclient")],
)
def test_tries_are_counted_by_address_and_by_network_where_one_is_cheap(address: str, expected: str) -> None:
    assert counted(address) == expected
