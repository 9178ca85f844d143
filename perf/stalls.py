"""How long hostile answers of a server keep the event loop busy without a break.

Each answer is asked for, unfolded and read as JSON. Measured is the processor time of the loop's own thread in each of
its callbacks; the longest one counts, of the best of a few tries. Then texts are searched for secrets, as it is done
with all that is recorded. tests/http/test_http_floods.py has most of the
answers, and asserts what does not depend on the machine: how they end, and how much of one is worked on at once.
"""

import asyncio
import gc
import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from unittest import mock

from tests.http.test_http_floods import BODIES, FLOODS, LIMIT, LISTS, REFUSED, TEXTS, whole

from mesocosm.core.redact import Redactor
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError

TRIES = 3
MOST_S = 0.05
"""A longer stall is marked in what is printed."""
MIB = 1024 * 1024


def answers() -> Iterator[tuple[str, bytes]]:
    """Yield what servers send: lists and texts as long as they are read at all, and more of everything."""
    yield "plain, 64 bytes", whole(b"{}" + b" " * 62)
    for name, (part, most) in LISTS.items():
        yield f"list of {name}", whole(b"[" + b",".join([part] * (most * 19 // 20)) + b"]")
    for name, (part, most) in TEXTS.items():
        yield f"text: {name}", whole(b'"' + part * (most * 19 // 20) + b'"')
    yield "199,000 keys", whole(b"{" + b",".join(b'"%d":1' % number for number in range(199_000)) + b"}")
    yield "3,000 levels", whole(b"[" * 3_000 + b"]" * 3_000)
    for name, document in REFUSED.items():
        yield f"refused: {name}", whole(document)
    for name, (flood, *_) in (FLOODS | BODIES).items():
        yield name, flood
    empty = gzip.compress(b"", mtime=0)
    yield "3 MiB of empty gzip members", whole(empty * (3 * MIB // len(empty)), "gzip")
    bomb = gzip.compress(gzip.compress(b"\0" * LIMIT * 99, mtime=0), mtime=0)
    yield "a bomb inside a bomb", whole(bomb, "gzip, gzip")


def stalls() -> None:
    """Print a line for each answer."""
    # The tests that are imported above are no part of a process that asks servers.
    gc.collect()
    gc.freeze()
    for name, answer in answers():
        stall = min(asyncio.run(_longest(answer)) for _ in range(TRIES))
        mark = "  <- long" if stall > MOST_S else ""
        print(f"{name:38} longest stall {stall * 1000:6.1f} ms{mark}")
    for name, text in texts():
        stall = min(_redacted(text) for _ in range(TRIES))
        mark = "  <- long" if stall > MOST_S else ""
        print(f"{name:38} redacted in   {stall * 1000:6.1f} ms{mark}")


def texts() -> Iterator[tuple[str, str]]:
    """Yield what environments show: the largest observation that is taken, of words and of beginnings of secrets."""
    size = 9_000_000
    words = "the quick board moved from task-list 12 to { goal } and back "
    for name, unit in (
        ("words", words),
        ("beginnings of keys", "-----BEGIN PRIVATE KEY-----"),
        ("beginnings of tokens", "-eyJ"),
        ("beginnings of credentials", "sk- "),
    ):
        yield f"observation of 9 MB: {name}", unit * (size // len(unit))


def _redacted(text: str) -> float:
    """Return the processor time, in seconds, in which a text is searched for eight secrets."""
    redactor = Redactor({f"secret-{number}-{'x' * 24}" for number in range(8)})
    before = time.thread_time()
    redactor.text(text)
    return time.thread_time() - before


async def _longest(answer: bytes) -> float:
    """Return the most processor time, in seconds, of one callback while an answer is received and read."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        with suppress(ConnectionError):
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with HttpClient(max_response=LIMIT) as client:
        with _measured() as longest, suppress(HttpError):
            response = await client.request("POST", f"http://127.0.0.1:{port}", body=b"", timeout=60)
            # The reading of the document is a callback of its own.
            await asyncio.sleep(0)
            response.json()
    server.close()
    # What was still running when the measuring ended had no callback of its own yet.
    return max(longest)


@contextmanager
def _measured() -> Iterator[list[float]]:
    seconds, run = [0.0], asyncio.Handle._run  # noqa: SLF001
    begun = [time.thread_time()]

    def timed(handle: asyncio.Handle) -> None:
        begun[0] = time.thread_time()
        run(handle)
        seconds[0] = max(seconds[0], time.thread_time() - begun[0])

    with mock.patch.object(asyncio.Handle, "_run", timed):
        try:
            yield seconds
        finally:
            seconds[0] = max(seconds[0], time.thread_time() - begun[0])
