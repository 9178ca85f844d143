"""Answers that would keep a reader busy: how they end, and how much of one the event loop works on without a break.

Work is counted here. `python -m perf stalls` measures the time that it takes.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.http.conftest import RawServers

from mesocosm.core.foreign import MOST_WORK, read_json, too_much_work
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import BadResponse, ConnectionLost, HttpError, ResponseTooLarge
from mesocosm.http.response import Response

LIMIT = 10 * 1024 * 1024
SECONDS = 60.0
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def whole(body: bytes, encoding: str = "") -> bytes:
    field = f"Content-Encoding: {encoding}\r\n" if encoding else ""
    return f"HTTP/1.1 200 OK\r\n{field}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def received(servers: RawServers, answer: bytes) -> Response:
    server = await servers.answer_and_close(answer)
    async with HttpClient(max_response=LIMIT) as client:
        return await client.request("POST", server.url, body=b"", timeout=SECONDS)


# How many parts are read at once. Up to 24 KiB, as of the first kind, everything is. Reading blocks the event loop:
# whoever changes these numbers measures the new ones.
LISTS = {
    "numbers of large exponents": (b"1e300", 4_096),
    "numbers at the end of the range": (b"1.7976931348623157e308", 2_640),
    "numbers that are hard to round": (b"473368032197145.4544599413e31", 26_700),
    "short numbers": (b"1", 400_000),
    "words": (b"true", 160_000),
    "texts": (b'"abc"', 108_000),
    "escaped texts": (rb'"\u4e2d"', 88_900),
    "empty objects": (b"{}", 80_000),
    "objects": (b'{"a":1}', 43_800),
    "lists in lists": (b"[[1]]", 40_000),
    "deep lists": (b"[" * 100 + b"]" * 100, 887),
}
TEXTS = {
    "plain": (b"a", 11_200_000),
    "wide": ("中".encode(), 2_133_000),
    "escapes": (rb"\n", 1_600_000),
    "surrogates": (rb"\ud83d\ude00", 266_700),
    "quotes": (rb"\"", 266_700),
}


@pytest.mark.parametrize(("part", "most"), LISTS.values(), ids=LISTS.keys())
def test_a_list_is_read_up_to_a_number_of_its_parts(part: bytes, most: int) -> None:
    def listed(number: int) -> bytes:
        return b"[" + b",".join([part] * number) + b"]"

    assert len(read_json(listed(most * 19 // 20))) == most * 19 // 20
    with pytest.raises(msgspec.DecodeError, match="too large"):
        read_json(listed(most * 21 // 20))


@pytest.mark.parametrize(("part", "most"), TEXTS.values(), ids=TEXTS.keys())
def test_a_text_is_read_up_to_a_number_of_its_parts(part: bytes, most: int) -> None:
    assert len(read_json(b'"' + part * (most * 19 // 20) + b'"')) == most * 19 // 20
    with pytest.raises(msgspec.DecodeError, match="too large"):
        read_json(b'"' + part * (most * 21 // 20) + b'"')


REFUSED = {
    "more numbers": b"[" + b"1," * (LIMIT // 2 - 2) + b"1]",
    "brackets": b"[" * LIMIT,
    "quotes": b'"' * LIMIT,
    "backslashes": b'"' + b"\\" * (LIMIT - 1),
    "spaces": b"[" + b" " * (LIMIT - 2) + b"]",
}


@pytest.mark.parametrize("document", REFUSED.values(), ids=REFUSED.keys())
def test_a_document_that_is_too_much_work_is_refused(document: bytes) -> None:
    with pytest.raises(msgspec.DecodeError, match="too large"):
        read_json(document)


async def test_the_refusal_says_why(servers: RawServers) -> None:
    response = await received(servers, whole(REFUSED["more numbers"]))
    with pytest.raises(BadResponse, match="too many values"):
        response.json()


FLOODS: dict[str, tuple[bytes, type[HttpError], str]] = {
    "a bomb": (whole(gzip.compress(b"\0" * LIMIT * 2, mtime=0), "gzip"), ResponseTooLarge, "larger than the limit"),
    "bombs of many members": (
        whole(gzip.compress(b"\0" * 300_000, mtime=0) * 64, "gzip"),
        ResponseTooLarge,
        "larger than the limit",
    ),
    "trailers": (CHUNKED + b"0\r\n" + b"a: b\r\n" * 900_000, BadResponse, "Too many headers"),
    "chunk extensions": (CHUNKED + b"1;" + b"a" * 5_000_000, ConnectionLost, "in the middle of the response"),
}


@pytest.mark.parametrize(("answer", "error", "told"), FLOODS.values(), ids=FLOODS.keys())
async def test_a_flood_ends_with_its_error(
    servers: RawServers, answer: bytes, error: type[HttpError], told: str
) -> None:
    with pytest.raises(error, match=told):
        await received(servers, answer)


BODIES = {
    "a bomb just below the limit": (
        whole(gzip.compress(b'"' + b"a" * (LIMIT - 20) + b'"', mtime=0), "gzip"),
        LIMIT - 18,
    ),
    "chunks of one byte": (CHUNKED + b"1\r\na\r\n" * 500_000 + b"0\r\n\r\n", 500_000),
    "interim answers": (b"HTTP/1.1 100 Continue\r\n\r\n" * 200_000 + whole(b"{}"), 2),
    "interim answers with fields": (b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n" * 150_000 + whole(b"{}"), 2),
    "answers that nobody asked for": (whole(b"{}") * 100_000, 2),
}


@pytest.mark.parametrize(("answer", "size"), BODIES.values(), ids=BODIES.keys())
async def test_a_flood_within_the_limits_is_a_body(servers: RawServers, answer: bytes, size: int) -> None:
    assert len((await received(servers, answer)).body) == size


pieces = st.sampled_from(
    [b"[", b"]", b"{", b"}", b",", b'"', b"\\", b"1e300,", b"1.5,", b'"a":', b" ", b"\xff", b"null,"]
)
documents = st.tuples(st.lists(pieces, min_size=1, max_size=6).map(b"".join), st.integers(0, 200_000)).map(
    lambda made: made[0] * (made[1] // len(made[0]) + 1)
)
heads = st.sampled_from(
    [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", b"HTTP/1.1 200 OK\r\n"]
)


@given(head=heads, document=documents, squeezed=st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_stream_of_bytes_ends_with_a_document_or_an_error(head: bytes, document: bytes, squeezed: bool) -> None:
    async def read() -> Any:
        servers = RawServers()
        try:
            return (await received(servers, head + body)).json()
        except HttpError as error:
            return error
        finally:
            await servers.close()

    body = zlib.compress(document, wbits=31) if squeezed else document
    ended = asyncio.run(read())
    assert isinstance(ended, HttpError) or msgspec.json.encode(ended)


def test_what_agents_are_shown_is_read() -> None:
    """A picture, a long table as a text, a screen as nested lists, a conversation with escapes."""
    picture = b'{"data": "' + b"iVBORw0KGgo" * 800_000 + b'"}'
    table = msgspec.json.encode({"file": "0.53,1.22,3,4\n" * 150_000})
    screen = msgspec.json.encode([[[7, 8, 9]] * 160] * 210)
    talk = msgspec.json.encode([{"role": "user", "content": 'She said: "no"\n' * 40}] * 2_000)
    for document in (picture, table, screen, talk):
        assert not too_much_work(document)
        assert read_json(document)
    assert MOST_WORK == 800_000
