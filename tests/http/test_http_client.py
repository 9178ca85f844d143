"""What a well-behaved server and the client say to each other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import HttpClient

if TYPE_CHECKING:
    from tests.http.conftest import RawServers, Talk

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nDigest: none\r\n\r\n"
)


async def test_a_request_carries_method_path_headers_and_body(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    await client.request("POST", f"{server.url}/step?id=1", headers={"X-Episode": "e1"}, body=b'{"a":1}', timeout=60)
    (request,) = server.requests
    assert request.line == "POST /step?id=1 HTTP/1.1"
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.headers["x-episode"] == "e1"
    assert request.headers["content-length"] == "7"
    assert request.body == b'{"a":1}'


async def test_a_post_without_a_body_says_that_its_length_is_zero(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    await client.request("POST", server.url, timeout=60)
    assert server.requests[0].headers["content-length"] == "0"


async def test_a_get_without_a_body_says_nothing_about_a_length(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    await client.request("GET", server.url, timeout=60)
    assert "content-length" not in server.requests[0].headers


async def test_headers_of_the_caller_replace_the_clients_own(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    given = {"host": "elsewhere", "user-agent": "mine", "accept-encoding": "identity"}
    await client.request("GET", server.url, headers=given, timeout=60)
    assert given.items() <= server.requests[0].headers.items()


async def test_a_request_body_of_five_megabytes_arrives_whole(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    body = bytes(range(256)) * 20_000
    await client.request("POST", server.url, body=body, timeout=60)
    assert server.requests[0].body == body


async def test_a_body_with_a_length_is_returned(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(b'HTTP/1.1 201 Created\r\nContent-Length: 7\r\n\r\n{"a":1}')
    response = await client.request("POST", server.url, timeout=60)
    assert (response.status, response.body, response.json()) == (201, b'{"a":1}', {"a": 1})


async def test_a_chunked_body_is_put_together(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(CHUNKED)
    response = await client.request("GET", server.url, timeout=60)
    assert response.body == b"hello world"
    assert "digest" not in response.headers


async def test_a_connection_serves_again_after_a_chunked_body(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(CHUNKED)
    for _ in range(3):
        assert (await client.request("GET", server.url, timeout=60)).body == b"hello world"
    assert server.connections == 1


@pytest.mark.parametrize("whole", [OK, CHUNKED])
async def test_a_response_may_come_byte_by_byte(client: HttpClient, servers: RawServers, whole: bytes) -> None:
    server = await servers.answer(*(bytes([byte]) for byte in whole))
    response = await client.request("GET", server.url, timeout=60)
    assert response.body in {b"ok", b"hello world"}


async def test_bare_line_feeds_are_understood(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok")
    assert (await client.request("GET", server.url, timeout=60)).body == b"ok"


async def test_a_body_without_a_length_ends_with_the_connection(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer_and_close(b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\n", b"all ", b"of it")
    assert (await client.request("GET", server.url, timeout=60)).body == b"all of it"


async def test_a_closing_server_gets_a_new_connection_for_the_next_request(
    client: HttpClient, servers: RawServers
) -> None:
    server = await servers.answer_and_close(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
    for _ in range(2):
        assert (await client.request("GET", server.url, timeout=60)).body == b"ok"
    assert server.connections == 2


async def test_a_connection_that_the_server_wants_closed_is_dropped_by_the_client(
    client: HttpClient, servers: RawServers
) -> None:
    server = await servers.answer(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
    await client.request("GET", server.url, timeout=60)
    await asyncio.wait_for(server.dropped.wait(), 120)


async def test_interim_responses_are_skipped(client: HttpClient, servers: RawServers) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    server = await servers.answer(interim + OK)
    response = await client.request("POST", server.url, body=b"x", timeout=60)
    assert (response.status, response.body, "link" in response.headers) == (200, b"ok", False)


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
@pytest.mark.parametrize("length", [b"", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"])
async def test_a_status_that_has_no_body_is_complete_with_its_headers(
    client: HttpClient, servers: RawServers, status: bytes, length: bytes
) -> None:
    server = await servers.answer(b"HTTP/1.1 " + status + b"\r\n" + length + b"\r\n")
    for _ in range(2):
        response = await client.request("GET", server.url, timeout=60)
        assert (response.status, response.body) == (int(status[:3]), b"")


async def test_the_answer_to_head_has_no_body_whatever_its_length_says(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(2):
        response = await client.request("HEAD", server.url, timeout=60)
        assert (response.body, response.headers["content-length"]) == (b"", "1000")


async def test_redirects_are_returned_and_not_followed(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(b"HTTP/1.1 307 Moved\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
    response = await client.request("POST", server.url, timeout=60)
    assert (response.status, response.headers["location"], len(server.requests)) == (307, "/other", 1)


async def test_an_offer_to_upgrade_does_not_disturb(client: HttpClient, servers: RawServers) -> None:
    head = b"HTTP/1.1 200 OK\r\nUpgrade: h2\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nok"
    server = await servers.answer(head)
    assert (await client.request("GET", server.url, timeout=60)).body == b"ok"


async def test_header_names_are_lower_case_and_repeated_fields_are_joined(
    client: HttpClient, servers: RawServers
) -> None:
    fields = b"X-Note: one\r\nX-NOTE: two\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
    server = await servers.answer(b"HTTP/1.1 200 OK\r\n" + fields + b"Content-Length: 0\r\n\r\n")
    headers = (await client.request("GET", server.url, timeout=60)).headers
    assert headers["x-note"] == "one, two"
    assert list(headers) == ["x-note", "set-cookie", "content-length"]
    assert len(headers) == 3
    assert headers.get("absent") is None


async def test_requests_one_after_the_other_share_a_connection(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    for _ in range(20):
        await client.request("POST", server.url, body=b"x", timeout=60)
    assert (server.connections, len(server.requests)) == (1, 20)


async def test_a_thousand_requests_at_once_are_all_answered_with_their_own(
    client: HttpClient, servers: RawServers
) -> None:
    everybody = asyncio.Event()
    server = None

    async def handle(talk: Talk) -> None:
        while True:
            request = await talk.read()
            if len(talk.server.requests) == 1000:
                everybody.set()
            await everybody.wait()
            await talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(request.body) + request.body)

    server = await servers.start(handle)
    bodies = [str(number).encode() for number in range(1000)]
    calls = (client.request("POST", server.url, body=body, timeout=30) for body in bodies)
    assert [response.body for response in await asyncio.gather(*calls)] == bodies
    assert server.connections == 1000


async def test_an_idle_connection_is_dropped_after_a_while(servers: RawServers) -> None:
    server = await servers.answer(OK)
    async with HttpClient(idle_timeout=0.05) as client:
        await client.request("GET", server.url, timeout=60)
        await asyncio.wait_for(server.dropped.wait(), 120)
        assert (await client.request("GET", server.url, timeout=60)).body == b"ok"


async def test_a_response_says_of_which_request_it_is(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(OK)
    response = await client.request("GET", f"{server.url}/a?key=secret", timeout=60)
    assert repr(response) == f"<Response 200 of GET {server.url}/a?key=…, 2 bytes>"
