"""Compressed responses, honest and hostile."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import BadResponse, ResponseTooLarge

if TYPE_CHECKING:
    from tests.http.conftest import RawServers

TEXT = b'{"text": "' + b"abc " * 1000 + b'"}'
# Compressed as at no time in particular: parameters of tests have to be the same in every process.
GZIP = gzip.compress(TEXT, mtime=0)
BARE = zlib.compressobj(wbits=-15)
FORMS = {
    "gzip": GZIP,
    "GZIP": gzip.compress(TEXT[:50], mtime=0) + gzip.compress(TEXT[50:], mtime=0),
    "deflate": zlib.compress(TEXT),
    "Deflate": BARE.compress(TEXT) + BARE.flush(),
    "identity": TEXT,
}


def response(encoding: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize("encoding", FORMS)
async def test_a_compressed_body_is_unfolded(client: HttpClient, servers: RawServers, encoding: str) -> None:
    server = await servers.answer(response(encoding, FORMS[encoding]))
    assert (await client.request("GET", server.url, timeout=60)).body == TEXT


async def test_only_encodings_that_can_be_undone_are_asked_for(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(response("gzip", FORMS["gzip"]))
    await client.request("GET", server.url, timeout=60)
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


async def test_an_empty_body_needs_no_decoding(client: HttpClient, servers: RawServers) -> None:
    server = await servers.answer(response("gzip", b""))
    assert (await client.request("GET", server.url, timeout=60)).body == b""


@pytest.mark.parametrize(
    ("encoding", "body", "told"),
    [
        ("gzip", b"not compressed", "content is broken .*gzip"),
        ("deflate", b"not compressed", "content is broken .*deflate"),
        ("br", b"\x0b\x02\x80hello\x03", "broken .*br"),
        (", ".join(["gzip"] * 9), FORMS["gzip"], "was not asked for"),
    ],
)
async def test_content_that_cannot_be_decoded_is_a_bad_response(
    client: HttpClient, servers: RawServers, encoding: str, body: bytes, told: str
) -> None:
    server = await servers.answer(response(encoding, body))
    with pytest.raises(BadResponse, match=told):
        await client.request("GET", server.url, timeout=60)


async def test_a_small_body_that_unfolds_beyond_the_limit_is_refused(servers: RawServers) -> None:
    server = await servers.answer(response("gzip", gzip.compress(b"\0" * 20_000_000)))
    async with HttpClient(max_response=1_000_000) as client:
        with pytest.raises(ResponseTooLarge):
            await client.request("GET", server.url, timeout=60)


async def test_a_body_of_many_members_that_unfold_into_nothing_is_refused(
    client: HttpClient, servers: RawServers
) -> None:
    server = await servers.answer(response("gzip", gzip.compress(b"", mtime=0) * 150_000))
    with pytest.raises(BadResponse, match="broken"):
        await client.request("GET", server.url, timeout=60)
