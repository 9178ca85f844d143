"""How long hostile answers of a server stop everything else on the event loop.

    python perf/stalls.py

Each answer is asked for and read as JSON, while a task beside it measures the longest time between two of its turns.
"""

import asyncio
import gzip
import time
from contextlib import suppress

from mesocosm.core.foreign import read_json
from mesocosm.http.client import Client

MIB = 1024 * 1024
EMPTY = gzip.compress(b"")
BODIES = {
    "plain, 64 bytes": (b"{}" + b" " * 62, ""),
    "3 MiB of empty gzip members": (EMPTY * (3 * MIB // len(EMPTY)), "gzip"),
    "a gzip bomb of 60 MiB": (gzip.compress(b"\0" * 60 * MIB), "gzip"),
    "a bomb inside a bomb": (gzip.compress(gzip.compress(b"\0" * 60 * MIB)), "gzip, gzip"),
    "16 MiB of empty lists": (b"[" + b"[]," * (16 * MIB // 3) + b"1]", ""),
    "99,000 objects": (b"[" + b'{"a":1},' * 99_000 + b"1]", ""),
    "199,000 keys": (b"{" + b",".join(b'"%d":1' % number for number in range(199_000)) + b"}", ""),
    "3,000 levels": (b"[" * 3_000 + b"]" * 3_000, ""),
    "a text of 16 MiB": (b'"' + b"a" * 16 * MIB + b'"', ""),
}


async def main() -> None:
    """Print a line for each answer."""
    for name, (body, encoding) in BODIES.items():
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding or 'identity'}\r\nContent-Length: {len(body)}\r\n\r\n"

        async def serve(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bytes = head.encode() + body
        ) -> None:
            await reader.readuntil(b"\r\n\r\n")
            with suppress(ConnectionError):
                writer.write(answer)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        watch = asyncio.ensure_future(_longest())
        await asyncio.sleep(0.05)
        async with Client() as client:
            began = time.perf_counter()
            with suppress(Exception):
                read_json((await client.request("GET", f"http://127.0.0.1:{port}", timeout=60)).body)
            took = time.perf_counter() - began
        await asyncio.sleep(0.01)
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        server.close()
        print(f"{name:30} {took * 1000:8.1f} ms, longest stall {_stall[0] * 1000:6.1f} ms")


_stall = [0.0]


async def _longest() -> None:
    _stall[0], last = 0.0, time.perf_counter()
    while True:
        await asyncio.sleep(0)
        now = time.perf_counter()
        _stall[0], last = max(_stall[0], now - last), now


if __name__ == "__main__":
    asyncio.run(main())
