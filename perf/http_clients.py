"""Compare HTTP clients against a loopback model that answers after 50 ms, on one core each.

    python perf/http_clients.py [--rounds 3] [--seconds 2]

The server runs pinned to the last core, each measurement in a fresh process pinned to the first, threads included.
Variants alternate within a round, because a shared machine is noisy: read the ratios, and the CPU time of the whole
client process for one call, which noise moves less than the rate.
"""

import argparse
import asyncio
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import httptools

DELAY = 0.05
BODY = json.dumps(
    {"model": "m", "messages": [{"role": "user", "content": "What is the capital of France? " * 8}], "temperature": 0}
).encode()
REPLY = json.dumps(
    {
        "id": "chatcmpl-0123456789abcdef0123456789abcdef",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Paris is. " * 30}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 70, "completion_tokens": 60, "total_tokens": 130},
    }
).encode()
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nServer: model\r\nX-Request-Id: 0123456789abcdef\r\n"
    b"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: " + str(len(REPLY)).encode() + b"\r\n\r\n" + REPLY
)
Call = Callable[[], Awaitable[bytes]]


class _Server(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        asyncio.get_running_loop().call_later(DELAY, self.transport.write, ANSWER)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@asynccontextmanager
async def _aiohttp(url: str, concurrent: int) -> AsyncIterator[Call]:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=concurrent)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(60)) as session:

        async def call() -> bytes:
            async with session.post(url, data=BODY, headers={"Content-Type": "application/json"}) as response:
                return await response.read()

        yield call


@asynccontextmanager
async def _httpx(url: str, concurrent: int) -> AsyncIterator[Call]:
    import httpx

    limits = httpx.Limits(max_connections=concurrent, max_keepalive_connections=concurrent)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:

        async def call() -> bytes:
            return (await client.post(url, content=BODY, headers={"Content-Type": "application/json"})).content

        yield call


@asynccontextmanager
async def _pyreqwest(url: str, concurrent: int) -> AsyncIterator[Call]:
    from datetime import timedelta

    from pyreqwest.client import ClientBuilder

    builder = ClientBuilder().timeout(timedelta(seconds=60)).pool_max_idle_per_host(concurrent)
    async with builder.build() as client:

        async def call() -> bytes:
            request = client.post(url).header("Content-Type", "application/json").body_bytes(BODY).build()
            return bytes(await (await request.send()).bytes())

        yield call


class _Bare(asyncio.Protocol):
    """The least that a client on asyncio and httptools can do: no pool, no headers kept, no timeout, no errors."""

    waiter: asyncio.Future[bytes]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self.body = data

    def on_message_complete(self) -> None:
        self.waiter.set_result(self.body)


@asynccontextmanager
async def _bare(url: str, concurrent: int) -> AsyncIterator[Call]:
    del concurrent
    loop = asyncio.get_running_loop()
    port = int(url.rsplit(":", 1)[1].split("/", maxsplit=1)[0])
    idle: list[_Bare] = []
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY

    async def call() -> bytes:
        protocol = idle.pop() if idle else (await loop.create_connection(_Bare, "127.0.0.1", port))[1]
        protocol.waiter = loop.create_future()
        protocol.transport.write(request)
        body = await protocol.waiter
        idle.append(protocol)
        return body

    yield call


@asynccontextmanager
async def _mesocosm(url: str, concurrent: int) -> AsyncIterator[Call]:
    from mesocosm.http.client import HttpClient

    headers = {"Content-Type": "application/json"}
    async with HttpClient() as client:

        async def call() -> bytes:
            return (await client.request("POST", url, headers=headers, body=BODY, timeout=60)).body

        yield call


CLIENTS = {"aiohttp": _aiohttp, "httpx": _httpx, "pyreqwest": _pyreqwest, "mesocosm": _mesocosm, "bare": _bare}


async def _measure(name: str, url: str, concurrent: int, seconds: float) -> tuple[float, float]:
    """Return calls per second and CPU seconds of the whole process per call."""
    async with CLIENTS[name](url, concurrent) as call:
        warm = time.perf_counter() + seconds / 2
        end = warm + seconds
        done, began, used = 0, 0.0, 0.0

        async def work() -> None:
            nonlocal done, began, used
            while (now := time.perf_counter()) < end:
                if len(await call()) != len(REPLY):
                    raise AssertionError(f"{name} returned another body")
                if now >= warm:
                    if not began:
                        began, used = time.perf_counter(), _cpu()
                    done += 1

        await asyncio.gather(*(work() for _ in range(concurrent)))
        elapsed = time.perf_counter() - began
        return done / elapsed, (_cpu() - used) / done


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def _run(loop: str, main: Callable[[], Awaitable[object]]) -> object:
    async def body() -> object:
        return await main()

    if loop == "uvloop":
        import uvloop

        return uvloop.run(body())
    return asyncio.run(body())


def _child(*arguments: object) -> list[str]:
    return [sys.executable, __file__, *map(str, arguments)]


def main() -> None:
    """Measure every variant in alternating rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--clients", default="aiohttp,pyreqwest,mesocosm,bare", help=f"of {','.join(CLIENTS)}")
    parser.add_argument("--role", choices=("parent", "server", "client"), default="parent", help=argparse.SUPPRESS)
    parser.add_argument("--case", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "server":
        _pin((os.cpu_count() or 1) - 1)
        _run("uvloop", _serve)
    elif options.role == "client":
        _pin(0)
        name, loop, url, concurrent = options.case.split(",")
        print(json.dumps(_run(loop, lambda: _measure(name, url, int(concurrent), options.seconds))), flush=True)
        # pyreqwest's own threads abort an interpreter that is shutting down, about one time in four.
        os._exit(0)
    else:
        _compare(options.clients.split(","), options.rounds, options.seconds)


def _compare(names: list[str], rounds: int, seconds: float) -> None:
    server = subprocess.Popen(_child("--role", "server"), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1/chat/completions"
        print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        for concurrent in (100, 1000):
            results: dict[tuple[str, str], list[tuple[float, float]]] = {}
            for _ in range(rounds):
                for name in names:
                    for loop in ("asyncio", "uvloop"):
                        case = f"{name},{loop},{url},{concurrent}"
                        command = _child("--role", "client", "--case", case, "--seconds", seconds)
                        output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
                        results.setdefault((name, loop), []).append(tuple(json.loads(output)))
            _print(concurrent, results)
    finally:
        server.terminate()
        server.wait()


def _print(concurrent: int, results: dict[tuple[str, str], list[tuple[float, float]]]) -> None:
    peer = statistics.median(rate for rate, _ in results.get(("aiohttp", "asyncio"), [(1.0, 0.0)]))
    print(f"\n{concurrent} concurrent calls of {DELAY * 1000:.0f} ms, ideal {concurrent / DELAY:,.0f}/s")
    print(f"{'client':12}{'loop':10}{'calls/s':>9}{'low':>9}{'high':>9}{'× aiohttp':>11}{'CPU µs/call':>13}")
    for (name, loop), runs in results.items():
        rates = [rate for rate, _ in runs]
        rate, cpu = statistics.median(rates), statistics.median(cpu for _, cpu in runs)
        print(f"{name:12}{loop:10}{rate:9,.0f}{min(rates):9,.0f}{max(rates):9,.0f}{rate / peer:11.2f}{cpu * 1e6:13.0f}")


if __name__ == "__main__":
    main()
