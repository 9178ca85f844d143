"""However a body is made, each turn of the event loop has a bounded part of the work. Work is counted, not timed."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.http.conftest import RawServers

from mesocosm.http.client import Client
from mesocosm.http.connection import MAX_FIELDS
from mesocosm.http.content import MOST_MEMBERS, STEP_IN, STEP_OUT, Decoder, TooLarge, decode
from mesocosm.http.errors import BadResponse

LIMIT = 4 * 1024 * 1024
EMPTY = gzip.compress(b"", mtime=0)
BOMB = gzip.compress(b"\0" * LIMIT * 2, mtime=0)


class Counted:
    """A turn-counting stand-in for the loop's other work."""

    def __init__(self) -> None:
        self.turns = 0
        self._task = asyncio.ensure_future(self._turn())

    async def _turn(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)

    def end(self) -> None:
        self._task.cancel()


pieces = st.sampled_from(
    [b"", EMPTY, gzip.compress(b"text", mtime=0), BOMB[:5_000], zlib.compress(b"t" * 9_000), b"\0" * 40]
)
bodies = st.lists(pieces | st.binary(max_size=300), max_size=200).map(b"".join)


@given(body=bodies, field=st.sampled_from(["gzip", "deflate", "gzip, deflate", "deflate, gzip, gzip"]))
@settings(max_examples=200, deadline=None)
def test_any_body_is_undone_or_refused_in_steps_that_each_are_small(body: bytes, field: str) -> None:
    decoder, steps = Decoder(field.split(",", maxsplit=1)[0]), 0
    try:
        for piece in decoder.steps(body):
            steps += 1
            assert len(piece) <= STEP_OUT
            # Every step takes in or gives out something, or begins one of a bounded number of members.
            assert steps <= len(body) / STEP_IN + len(body) * 1_032 / STEP_OUT + 2 * MOST_MEMBERS + 2
    except ValueError:
        pass
    with contextlib.suppress(TooLarge, ValueError):
        asyncio.run(decode(body, field, LIMIT))


async def test_a_body_of_members_that_unfold_into_nothing_is_refused(servers: RawServers, client: Client) -> None:
    body = EMPTY * 150_000
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    server = await servers.answer(head.encode() + body)
    with pytest.raises(BadResponse, match=f"more than {MOST_MEMBERS} members"):
        await client.request("GET", server.url, timeout=60)


async def test_others_have_their_turn_while_a_body_unfolds() -> None:
    others = Counted()
    try:
        with pytest.raises(TooLarge):
            await decode(BOMB, "gzip", LIMIT)
        assert others.turns >= LIMIT / STEP_OUT / 2
    finally:
        others.end()


async def test_a_flood_of_short_headers_is_cut_off(servers: RawServers, client: Client) -> None:
    fields = b"".join(b"h%d: 1\r\n" % number for number in range(MAX_FIELDS + 1))
    server = await servers.answer(b"HTTP/1.1 200 OK\r\n" + fields + b"Content-Length: 0\r\n\r\n")
    with pytest.raises(BadResponse, match="headers"):
        await client.request("GET", server.url, timeout=60)


@pytest.mark.parametrize("cut", [1, 7, 4_096])
def test_pieces_of_any_size_give_the_same(cut: int) -> None:
    whole = gzip.compress(bytes(range(256)) * 200, mtime=0) + EMPTY + gzip.compress(b"end", mtime=0) + b"\0" * 9
    decoder = Decoder("gzip")
    out = b"".join(piece for at in range(0, len(whole), cut) for piece in decoder.steps(whole[at : at + cut]))
    decoder.end()
    assert out == bytes(range(256)) * 200 + b"end"
