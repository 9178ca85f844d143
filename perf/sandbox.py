"""What a sandbox costs a request: the SDK's adapter plainly by TCP against the same one in a sandbox.

Rounds alternate, because a shared machine is noisy; the ratio is that of the medians.
"""

import asyncio
import statistics
import sys
import time
from pathlib import Path

import msgspec

from mesocosm.http.client import HttpClient
from mesocosm.sandboxes.bubblewrap import available, python_folders
from mesocosm.sandboxes.health import wait_healthy
from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.sandboxes.port import free_port
from mesocosm.sandboxes.program_limits import MIB
from mesocosm.sandboxes.sandbox import ProgramSandbox
from perf.machine import ROOT

REQUESTS = 3000
ROUNDS = 7
AT_ONCE = 32
FRESH = 500
ADAPTER = ROOT / "perf/one_step"

_encode = msgspec.json.encode


def sandbox() -> None:
    """Print requests a second through a sandbox and their ratio to those without, kept open and each its own."""
    works = available()
    if not works:
        print(f"sandbox: not measured, {works.reason}")
        return
    asyncio.run(_measure())


async def _measure() -> None:
    port = free_port()
    command = [sys.executable, "adapter.py", "--port"]
    plain = await PlainSandbox().start([*command, str(port)], cwd=ADAPTER)
    kept = ProgramSandbox(kind="bubblewrap", most_memory=1024 * MIB, readable=(*python_folders(), ROOT / "src"))
    sandboxed = await kept.serve([*command, str(port)], cwd=ADAPTER, port=port)
    url = f"http://127.0.0.1:{port}"
    try:
        async with HttpClient() as direct, HttpClient(socket=sandboxed.socket) as through:
            await wait_healthy(f"{url}/health", plain, client=direct)
            await wait_healthy(f"{url}/health", sandboxed.process, client=through)
            rates = [(await _episodes(direct, url), await _episodes(through, url)) for _ in range(ROUNDS)]
        _print("kept connections", rates)
        rates = [(await _fresh(None, url), await _fresh(sandboxed.socket, url)) for _ in range(ROUNDS)]
        _print("a connection each", rates)
    finally:
        await sandboxed.stop(grace=0)
        await plain.stop(grace=0)


def _print(what: str, rates: list[tuple[float, float]]) -> None:
    direct, through = (statistics.median(column) for column in zip(*rates, strict=True))
    print(f"  {what:<20} {direct:8,.0f} requests/s plainly, {through:8,.0f} in a sandbox, {through / direct:.2f}×")


async def _episodes(client: HttpClient, url: str) -> float:
    """Return requests a second of episodes that are reset and closed."""
    numbers = iter(range(REQUESTS // 2))

    async def play() -> None:
        for number in numbers:
            for path in ("/reset", "/close"):
                body = _encode({"episode_id": f"e{number}", "seed": number})
                answer = await client.request("POST", url + path, body=body, timeout=30, headers=JSON)
                assert answer.status == 200

    began = time.perf_counter()
    await asyncio.gather(*(play() for _ in range(AT_ONCE)))
    return REQUESTS / (time.perf_counter() - began)


JSON = {"Content-Type": "application/json"}


async def _fresh(socket: Path | None, url: str) -> float:
    """Return requests a second where each makes a connection."""
    began = time.perf_counter()
    for _ in range(FRESH):
        async with HttpClient(socket=socket) as client:
            await client.request("GET", f"{url}/health", timeout=30)
    return FRESH / (time.perf_counter() - began)
