"""Whatever a server sends, the event loop never works on it for long without a break.

Measured is the processor time of the loop's own thread in each of its callbacks, not the time of a clock.
"""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.http.conftest import RawServers

from mesocosm.core.foreign import MOST_WORK, read_json, too_much_work
from mesocosm.http.client import Client
from mesocosm.http.errors import BadResponse, HttpError, ResponseTooLarge

STALL_S = 0.05
LIMIT = 10 * 1024 * 1024
SECONDS = 5.0


class Longest:
    """The most processor time, in seconds, that one callback of the event loop took."""

    def __init__(self) -> None:
        self.seconds = 0.0


@contextmanager
def measured() -> Iterator[Longest]:
    """Measure every callback of the loops of this thread."""
    longest, run = Longest(), asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        started = time.thread_time()
        run(handle)
        longest.seconds = max(longest.seconds, time.thread_time() - started)

    with mock.patch.object(asyncio.Handle, "_run", timed):
        yield longest


def pace() -> float:
    """Return how many times longer a known piece of work takes here than on the machine that STALL_S was set on."""
    document = b"[" + b"[1.25,2]," * 25_000 + b"1]"
    times = []
    for _ in range(5):
        started = time.thread_time()
        msgspec.json.decode(document)
        times.append(time.thread_time() - started)
    return max(min(times) / 0.005, 1.0)


async def longest_stall(answer: bytes, *, tries: int = 3) -> float:
    """Return the longest stall while an answer is received, unfolded and read, the best of some tries."""
    found = []
    for _ in range(tries):
        servers = RawServers()
        server = await servers.answer_and_close(answer)
        try:
            with measured() as longest:
                async with Client(max_response=LIMIT) as client:
                    task = asyncio.create_task(_read(client, server.url))
                    await asyncio.wait_for(task, 4 * SECONDS)
            found.append(longest.seconds)
        finally:
            await servers.close()
        if found[-1] < STALL_S:
            break
    return min(found)


async def _read(client: Client, url: str) -> None:
    try:
        response = await client.request("POST", url, body=b"", timeout=SECONDS)
        await asyncio.sleep(0)
        response.json()
    except HttpError:
        pass


def whole(body: bytes, encoding: str = "") -> bytes:
    field = f"Content-Encoding: {encoding}\r\n" if encoding else ""
    return f"HTTP/1.1 200 OK\r\n{field}Content-Length: {len(body)}\r\n\r\n".encode() + body


def most(unit: bytes, head: bytes = b"[", tail: bytes = b"]", joint: bytes = b",") -> bytes:
    """Return about the longest document of equal parts that is read."""
    parts = LIMIT // 8 // len(unit + joint)
    while not too_much_work(longer := head + joint.join([unit] * (parts + parts // 4)) + tail):
        parts += parts // 4
    while too_much_work(longer):
        parts -= parts // 8
        longer = head + joint.join([unit] * parts) + tail
    return longer


PARTS = {
    "numbers of large exponents": b"1e300",
    "numbers at the end of the range": b"1.7976931348623157e308",
    "numbers that are hard to round": b"473368032197145.4544599413e31",
    "short numbers": b"1",
    "words": b"true",
    "texts": b'"abc"',
    "escaped texts": rb'"\u4e2d"',
    "empty objects": b"{}",
    "objects": b'{"a":1}',
    "lists in lists": b"[[1]]",
    "deep lists": b"[" * 100 + b"]" * 100,
}
TEXTS = {"plain": b"a", "wide": "中".encode(), "escapes": rb"\n", "surrogates": rb"\ud83d\ude00", "quotes": rb"\""}
REFUSED = {
    "more numbers": b"[" + b"1," * (LIMIT // 2 - 2) + b"1]",
    "more numbers of large exponents": b"[" + b"1e300," * 130_000 + b"1]",
    "brackets": b"[" * LIMIT,
    "quotes": b'"' * LIMIT,
    "backslashes": b'"' + b"\\" * (LIMIT - 1),
    "spaces": b"[" + b" " * (LIMIT - 2) + b"]",
}


@pytest.mark.parametrize("unit", PARTS.values(), ids=PARTS.keys())
async def test_the_largest_document_of_equal_parts_is_read_without_a_stall(unit: bytes) -> None:
    assert await longest_stall(whole(most(unit))) < STALL_S * pace()


@pytest.mark.parametrize("unit", TEXTS.values(), ids=TEXTS.keys())
async def test_the_longest_text_is_read_without_a_stall(unit: bytes) -> None:
    assert await longest_stall(whole(most(unit, b'"', b'"', b""))) < STALL_S * pace()


@pytest.mark.parametrize("document", REFUSED.values(), ids=REFUSED.keys())
async def test_a_document_that_is_too_much_work_is_refused_without_a_stall(document: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_json(document)
    assert await longest_stall(whole(document)) < STALL_S * pace()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FLOODS = {
    "a bomb": whole(gzip.compress(b"\0" * LIMIT * 7, mtime=0), "gzip"),
    "a bomb just below the limit": whole(gzip.compress(b'"' + b"a" * (LIMIT - 20) + b'"', mtime=0), "gzip"),
    "a bomb in a bomb": whole(gzip.compress(gzip.compress(b"\0" * LIMIT * 99, mtime=0), mtime=0), "gzip, gzip"),
    "bombs of many members": whole(gzip.compress(b"\0" * 300_000, mtime=0) * 64, "gzip"),
    "blocks that hold nothing": whole(b"\0\0\0\xff\xff" * (LIMIT // 5), "deflate"),
    "chunks of one byte": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"1\r\na\r\n" * 700_000
    + b"0\r\n\r\n",
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 200_000 + whole(b"{}"),
    "interim answers with fields": b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n" * 150_000 + whole(b"{}"),
    "trailers": CHUNKED + b"0\r\n" + b"a: b\r\n" * 900_000,
    "chunk extensions": CHUNKED + b"1;" + b"a" * 5_000_000,
    "answers that nobody asked for": whole(b"{}") * 100_000,
}


@pytest.mark.parametrize("answer", FLOODS.values(), ids=FLOODS.keys())
async def test_a_flood_is_taken_in_without_a_stall(answer: bytes) -> None:
    assert await longest_stall(answer) < STALL_S * pace()


pieces = st.sampled_from(
    [b"[", b"]", b"{", b"}", b",", b'"', b"\\", b"1e300,", b"1.5,", b'"a":', b" ", b"\xff", b"null,"]
)
documents = st.tuples(st.lists(pieces, min_size=1, max_size=6).map(b"".join), st.integers(0, 4_000_000)).map(
    lambda made: (made[0] * (made[1] // len(made[0]) + 1))[:LIMIT]
)
heads = st.sampled_from(
    [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", b"HTTP/1.1 200 OK\r\n"]
)


@given(head=heads, document=documents, squeezed=st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_stream_of_bytes_ends_without_a_stall(head: bytes, document: bytes, squeezed: bool) -> None:
    body = zlib.compress(document, wbits=31) if squeezed else document
    assert asyncio.run(longest_stall(head + body)) < STALL_S * pace()


async def test_what_is_unfolded_has_a_limit(servers: RawServers) -> None:
    server = await servers.answer(FLOODS["a bomb"])
    async with Client(max_response=LIMIT) as client:
        with pytest.raises(ResponseTooLarge):
            await client.request("GET", server.url, timeout=SECONDS)


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


async def test_the_refusal_says_why(servers: RawServers) -> None:
    server = await servers.answer(whole(REFUSED["more numbers"]))
    async with Client() as own:
        response = await own.request("GET", server.url, timeout=SECONDS)
        with pytest.raises(BadResponse, match="too many values"):
            response.json()
