import asyncio

import pytest

from mesocosm.rollouts.sdk.delivery import DeliveryError, deliver, send
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

AT_ONCE = (0.0, 0.0, 0.0, 0.0)


class Scripted(LoopbackServer):
    """Answers with the given payloads one after the other, then with 200; None closes the connection."""

    def __init__(self, *payloads: bytes | None) -> None:
        super().__init__()
        self.payloads = list(payloads)
        self.requests: list[ReceivedRequest] = []

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        self.requests.append(request)
        payload = self.payloads.pop(0) if self.payloads else response(200, b'{"ok":true}')
        if payload is None:
            connection.finish()
        else:
            connection.send(payload)


async def test_a_post_carries_its_body_and_headers() -> None:
    async with Scripted() as server:
        reply = await send(f"{server.url}/path?q=1", b'{"a":1}', {"authorization": "Bearer k"})
    assert reply.json() == {"ok": True}
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/path", {"a": 1})
    assert request.header("authorization") == "Bearer k"
    assert request.header("content-type") == "application/json"


async def test_a_redirect_is_not_followed() -> None:
    async with Scripted() as other:
        moved = response(302, b"", f"location: {other.url}/elsewhere\r\n")
        async with Scripted(moved) as server:
            assert (await send(server.url, b"{}", {"authorization": "Bearer k"})).status == 302
    assert other.requests == []


async def test_a_proxy_of_the_machine_does_not_stand_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with Scripted() as server:
        assert (await send(server.url, b"{}")).status == 200


async def test_a_chunked_reply_is_put_together() -> None:
    chunked = b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n'
    async with Scripted(chunked) as server:
        assert (await send(server.url, b"{}")).json() == {"a": 1}


async def test_a_reply_without_length_ends_with_its_connection() -> None:
    class Closing(LoopbackServer):
        def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
            connection.finish(b"HTTP/1.1 200 OK\r\n\r\nwhole")

    async with Closing() as server:
        assert (await send(server.url, b"{}")).body == b"whole"


async def test_interim_replies_are_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" + response(200, b"{}")
    async with Scripted(interim) as server:
        assert (await send(server.url, b"{}")).status == 200


async def test_no_reply_in_time_is_a_delivery_error() -> None:
    class Silent(LoopbackServer):
        def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
            """Say nothing."""

    async with Silent() as server:
        with pytest.raises(DeliveryError, match="no reply") as caught:
            await send(server.url, b"{}", seconds=0.05)
    assert caught.value.status is None


async def test_what_is_no_http_is_a_delivery_error() -> None:
    async with Scripted(b"SSH-2.0-OpenSSH\r\n\r\n") as server:
        with pytest.raises(DeliveryError, match="no usable reply"):
            await send(server.url, b"{}")


@pytest.mark.parametrize("url", ["ftp://host/x", "no url", "http:///x"])
async def test_an_address_that_is_none_is_a_delivery_error(url: str) -> None:
    with pytest.raises(DeliveryError, match="not an http"):
        await send(url, b"{}")


async def test_a_header_with_a_line_break_is_refused() -> None:
    async with Scripted() as server:
        with pytest.raises(DeliveryError, match="line break"):
            await send(server.url, b"{}", {"authorization": "Bearer a\r\nx: y"})
    assert server.requests == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_body_refused_for_now_is_delivered_again(status: int) -> None:
    async with Scripted(response(status, b""), response(status, b"")) as server:
        reply = await deliver(server.url, b"{}", waits=AT_ONCE)
    assert reply.status == 200
    assert len(server.requests) == 3


async def test_a_broken_connection_is_tried_again() -> None:
    async with Scripted(None) as server:
        assert (await deliver(server.url, b"{}", waits=AT_ONCE)).status == 200


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422])
async def test_a_body_refused_for_good_is_not_delivered_again(status: int) -> None:
    async with Scripted(response(status, b"because")) as server:
        with pytest.raises(DeliveryError, match="because") as caught:
            await deliver(server.url, b"{}", waits=AT_ONCE)
    assert caught.value.status == status
    assert len(server.requests) == 1


async def test_delivery_gives_up_after_five_attempts() -> None:
    async with Scripted(*[response(503, b"")] * 9) as server:
        with pytest.raises(DeliveryError) as caught:
            await deliver(server.url, b"{}", waits=AT_ONCE)
    assert caught.value.status == 503
    assert len(server.requests) == 5


async def test_nobody_listening_is_a_delivery_error_after_the_last_attempt() -> None:
    async with Scripted() as server:
        url = server.url
    with pytest.raises(DeliveryError, match="Connection"):
        await deliver(url, b"{}", waits=(0.0,))


async def test_posts_go_on_side_by_side() -> None:
    async with Scripted() as server:
        replies = await asyncio.gather(*(send(server.url, b"{}") for _ in range(20)))
    assert {reply.status for reply in replies} == {200}


async def test_a_body_without_a_real_address_is_not_delivered_again() -> None:
    with pytest.raises(DeliveryError, match="not an http"):
        await deliver("nowhere", b"{}", waits=(3600.0,))
