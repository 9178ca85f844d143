"""What the recording proxy adds to a model call: direct against passed on, whole and streamed, alone and 50 at once.

The model server runs in a process of its own. Direct and proxied rounds alternate, because a shared machine is noisy.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.core.proxy import Forwarded, ProxyCall
from mesocosm.http.client import HttpClient
from mesocosm.models.openai import open_model
from mesocosm.proxy.endpoint import open_endpoint
from perf.machine import started

CALLS = 300
ROUNDS = 5
AT_ONCE = 50
DELAY_S = 0.05
"""How long the model thinks when 50 are asked at once; alone it answers at once, so that nothing hides the overhead."""

_MESSAGES = b'"messages":[{"role":"user","content":"What is the capital of France? Answer in one word, please."}]'
WHOLE = b'{"model":"m",%b}' % _MESSAGES
STREAMED = b'{"model":"m","stream":true,"stream_options":{"include_usage":true},%b}' % _MESSAGES


class _Recorder:
    """An episode that admits everything and counts what is recorded."""

    role = ""

    def __init__(self) -> None:
        self.recorded = 0

    @asynccontextmanager
    async def admitted(self, tokens: int) -> AsyncIterator[str]:
        yield ""

    async def turn(self) -> None:
        """Wait for nobody."""

    async def again(self, status: int, error: str, wait_s: float | None, tries: int) -> bool:
        return False

    async def ask(self, request: ModelRequest, call: ProxyCall) -> ModelReply:
        raise NotImplementedError

    def forwarded(self, call: Forwarded) -> None:
        self.recorded += call.reply is not None


def proxy() -> None:
    """Print p50 of a call in milliseconds: direct, through the proxy, and the difference."""
    for at_once, delay in ((1, 0.0), (AT_ONCE, DELAY_S)):
        server = started(1, "mesocosm.testing.model_server", "--delay", str(delay), "--answer", "Paris is. " * 30)
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            asyncio.run(_measure(url, at_once))
        finally:
            server.terminate()
            server.wait()


class _Taken:
    """What calls took: seconds of each, and processor seconds of this process for all."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.cpu_s = 0.0

    async def add(self, once: Callable[[], Awaitable[float]], at_once: int) -> None:
        """Make one round of calls."""
        before = time.process_time()
        for _ in range(CALLS // at_once):
            self.seconds += await asyncio.gather(*(once() for _ in range(at_once)))
        self.cpu_s += time.process_time() - before

    @property
    def p50_ms(self) -> float:
        """The median call in milliseconds."""
        return statistics.median(self.seconds) * 1000

    @property
    def cpu_ms(self) -> float:
        """Processor milliseconds of one call."""
        return self.cpu_s / len(self.seconds) * 1000


async def _measure(url: str, at_once: int) -> None:
    settings = ModelSettings(f"vllm/m@{url}/v1")
    model = open_model(settings)
    endpoint = open_endpoint(model, settings)
    recorder = _Recorder()
    address = await endpoint.connect(recorder)
    async with HttpClient() as client:
        for name, body in (("whole", WHOLE), ("streamed", STREAMED)):
            direct, passed = _Taken(), _Taken()
            for _ in range(ROUNDS):
                await direct.add(_call(client, f"{url}/v1", "", body), at_once)
                await passed.add(_call(client, f"{address.url}/v1", address.token, body), at_once)
            before, after = direct.p50_ms, passed.p50_ms
            print(
                f"  {f'{name} answer, {at_once} at once, p50':<40} {before:>7.2f} ms direct {after:>7.2f} ms passed on "
                f"{after - before:>+7.2f} ms; CPU {passed.cpu_ms - direct.cpu_ms:+.2f} ms a call"
            )
    await endpoint.disconnect(address)
    await endpoint.close()
    await model.close()
    assert recorder.recorded == 2 * ROUNDS * (CALLS // at_once) * at_once


def _call(client: HttpClient, base: str, token: str, body: bytes) -> Callable[[], Awaitable[float]]:
    headers = {"content-type": "application/json", "authorization": f"Bearer {token or 'none'}"}

    async def once() -> float:
        started = time.perf_counter()
        async with client.stream("POST", f"{base}/chat/completions", headers=headers, body=body, timeout=30) as answer:
            await answer.read()
        return time.perf_counter() - started

    return once
