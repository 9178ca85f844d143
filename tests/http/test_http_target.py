"""URLs and heads of requests: what is sent, what is refused, what may be shown."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import BadResponse, ConnectionLost, HttpError, InvalidRequest, ResponseTooLarge, Timeout
from mesocosm.http.target import target, visible

if TYPE_CHECKING:
    from tests.http.conftest import RawServers

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("http://model.test", "model.test", "/"),
        ("HTTP://Model.Test:80/a", "model.test", "/a"),
        ("https://model.test:443/a?b=c#d", "model.test", "/a?b=c"),
        ("http://model.test:443/", "model.test:443", "/"),
        ("http://[::1]:8080/x", "[::1]:8080", "/x"),
        ("http://h/a b/ü?q=ä&x=%20", "h", "/a%20b/%C3%BC?q=%C3%A4&x=%20"),
        ("http://bücher.test/", "xn--bcher-kva.test", "/"),
        ("http://h?a=b", "h", "/?a=b"),
    ],
)
def test_a_url_is_taken_apart(url: str, authority: str, path: str) -> None:
    assert (target(url).origin.authority, target(url).path) == (authority, path)


def test_what_is_shown_has_no_user_no_password_and_no_query_values() -> None:
    shown = visible("https://ann:pass@model.test/v1/x?key=secret&alt=json&flag#part")
    assert shown == "https://model.test/v1/x?key=…&alt=…&flag=…"


@pytest.mark.parametrize(
    "url",
    ["model.test/v1", "ftp://model.test", "http://", "http:///a", "http://h:99999/", "http://h:x/", "http://a b/", ""],
)
async def test_an_unusable_url_is_refused(client: HttpClient, url: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^GET "):
        await client.request("GET", url, timeout=60)


async def test_an_unusable_url_is_not_quoted_with_its_secrets(client: HttpClient) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await client.request("GET", "ann:secret@model.test/v1", timeout=60)
    assert "secret" not in str(refused.value)


async def test_the_user_of_a_url_authenticates(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    url = server.url.replace("//", "//ann:p%40ss@")
    await client.request("GET", url, timeout=60)
    await client.request("GET", url, headers={"authorization": "Bearer t"}, timeout=60)
    assert [each.headers["authorization"] for each in server.requests] == ["Basic YW5uOnBAc3M=", "Bearer t"]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "a\r\nX-Evil: 1"},
        {"X-A": "a\nb"},
        {"X-A": "a\0"},
        {"X A": "a"},
        {"X-A:": "a"},
        {"": "a"},
        {"X-A": "snow ☃"},
        {"Content-Length": "3"},
        {"transfer-encoding": "chunked"},
        {"Connection": "close"},
    ],
)
async def test_headers_that_would_break_the_message_are_refused_unsent(
    client: HttpClient, servers: RawServers, headers: dict[str, str]
) -> None:
    server = await servers.answer(OK)
    with pytest.raises(InvalidRequest, match="header"):
        await client.request("GET", server.url, headers=headers, timeout=60)
    assert server.connections == 0


@pytest.mark.parametrize("method", ["GET /x HTTP/1.1\r\nA: b\r\n\r\nGET", "", "CONNECT"])
async def test_methods_that_cannot_be_sent_are_refused(client: HttpClient, servers: RawServers, method: str) -> None:
    server = await servers.answer(OK)
    with pytest.raises(InvalidRequest, match="method"):
        await client.request(method, server.url, timeout=60)


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequest("GET", "http://h/", "why"),
        ConnectionLost("GET", "http://h/", "why"),
        Timeout("GET", "http://h/", "connect", 2.5),
        ResponseTooLarge("GET", "http://h/", 10),
        BadResponse("GET", "http://h/", "why"),
    ],
)
def test_errors_travel_between_processes(error: HttpError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
