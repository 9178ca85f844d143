"""Traces with large content to an S3 server: what an object store costs beside the database alone.

MESOCOSM_PERF_S3 names the server, for instance one that `moto_server` started, and the variables of AWS its keys. It
answers through a relay that waits, because a bucket is not on the same machine.

python -m perf.objects COUNT [URL]    one run, as one JSON line
"""

import asyncio
import base64
import json
import os
import random
import resource
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.environments.sdk import StepResult
from mesocosm.store import open_store
from perf.executors import Clock
from perf.machine import peak_mib, pinned, started
from perf.noop import OneStep

DELAY_S = 0.02


class LongQuestion(OneStep):
    """A question of 20,000 characters that no other episode has, as pages and files of agents are."""

    def reset(self, seed: int | None = None, **params: Any) -> str:  # type: ignore[override]
        """Ask."""
        return base64.b64encode(random.Random(seed).randbytes(15_000)).decode()

    def step(self, action: Any) -> StepResult:
        """Accept."""
        return StepResult("", 1.0, True, False, {})


def objects() -> None:
    """Print episodes a second and the peak of memory, without an object store and with one, for two sizes of runs."""
    server = os.environ.get("MESOCOSM_PERF_S3")
    if not server:
        print("    traces in an object store: not measured; name an S3 server with MESOCOSM_PERF_S3")
        return
    relay = started(1, "perf.objects", "relay", server)
    try:
        assert relay.stdout is not None
        through = relay.stdout.readline().strip()
        for count in (2_000, 8_000):
            for url in ("", through):
                found = pinned(0, "perf.objects", str(count), url)
                place = f"objects behind {DELAY_S * 1000:.0f} ms" if url else "database alone"
                print(
                    f"  {count:>7,} episodes of 20 kB, {place:<24} {found['rate']:>8,.0f} episodes/s, "
                    f"{found['processor_ms']:.2f} ms of processor time each, peak {found['peak_mib']:.0f} MiB"
                )
    finally:
        relay.terminate()
        relay.wait(10)


def _measured(count: int, url: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        if url:
            bucket = f"run-{time.time_ns()}"
            urllib.request.urlopen(urllib.request.Request(f"{url}/{bucket}", method="PUT")).close()
            os.environ |= {"AWS_ENDPOINT": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        store = open_store(Path(place) / "orchestrator.sqlite", blob_url=f"s3://{bucket}" if url else None)
        source = BenchmarkRef("python", "perf.objects:LongQuestion")
        spec = RunSpec(source, ModelSettings("noop/noop"), selection=Selection(count=count), parallel=64)
        began = time.perf_counter()
        clock = Clock()
        run = asyncio.run(session.run(spec, store, [clock]))
        seconds = time.perf_counter() - began
        store.close()
    assert run.counts.completed == count, run
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "rate": count / seconds,
        "processor_ms": (used.ru_utime + used.ru_stime) * 1000 / count,
        "peak_mib": peak_mib(),
        "memory": [clock.memory[place * (len(clock.memory) - 1) // 4] for place in range(5)],
    }


async def _relay(server: str) -> None:
    """Pass bytes to a server, each direction `DELAY_S` / 2 later."""
    target = urlsplit(server)

    async def later(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while data := await reader.read(65536):
                loop.call_later(DELAY_S / 2, writer.write, data)
        loop.call_later(DELAY_S, writer.close)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(target.hostname, target.port)
        await asyncio.gather(later(reader, back), later(there, writer))

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", flush=True)
    await listening.serve_forever()


def main() -> None:
    """Be the relay, or measure and print one JSON line."""
    if sys.argv[1] == "relay":
        asyncio.run(_relay(sys.argv[2]))
    else:
        print(json.dumps(_measured(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")))


if __name__ == "__main__":
    main()
