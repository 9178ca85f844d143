"""Adapters of submissions: sandboxed, shared by the runs of a worker, started again, ended when idle."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.failure import EpisodeError, RunAborted, UnknownName, UsageError
from mesocosm.core.registry import SOURCES
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.environments import restarts
from mesocosm.server import adapters as hosted
from mesocosm.server.adapters import HostedBenchmark, open_hosted
from mesocosm.server.builds.directory import build_directory

if TYPE_CHECKING:
    from tests.server.adapters.conftest import OpenPool, OpenStock, Stock


async def opened(ref: BenchmarkRef) -> HostedBenchmark:
    benchmark = open_hosted(ref)
    assert isinstance(benchmark, HostedBenchmark)
    await benchmark.open(lambda _: None)
    return benchmark


async def seen(benchmark: HostedBenchmark, name: str = "one") -> dict[str, Any]:
    """Return what an environment shows at the beginning of an episode."""
    (task,) = benchmark.tasks(Selection((1,)))
    world = await benchmark.environment(task, name)
    try:
        return dict((await world.reset()).data)
    finally:
        await world.close()


async def crash(benchmark: HostedBenchmark) -> EpisodeError:
    """Let the adapter end in the middle of an episode; return the failure."""
    (task,) = benchmark.tasks(Selection((1,)))
    world = await benchmark.environment(task, "crashing")
    await world.reset()
    with pytest.raises(EpisodeError) as caught:
        await world.step("crash")
    await world.close()
    return caught.value


async def test_runs_of_one_version_share_an_adapter_that_knows_nothing_of_the_worker(
    stock: "Stock", open_pool: "OpenPool", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody-may-see")
    monkeypatch.setenv("HARMLESS", "nobody-may-see-either")
    open_pool(stock)
    ref = stock.built()
    first, second = await opened(ref), await opened(ref)
    shown = await seen(first)
    assert shown["pid"] == (await seen(second, "two"))["pid"]
    assert "nobody-may-see" not in str(shown["environment"])
    assert shown["network"] != "connected"
    for benchmark in (first, second):
        await benchmark.close()


async def test_an_adapter_that_crashed_is_started_again_for_the_next_episode(
    stock: "Stock", open_pool: "OpenPool"
) -> None:
    open_pool(stock)
    benchmark = await opened(stock.built())
    failure = await crash(benchmark)
    assert "exit code 3" in str(failure)
    assert "the sky is falling" in failure.stderr
    assert (await seen(benchmark))["environment"]
    await benchmark.close()


async def test_an_adapter_that_crashes_all_the_time_ends_the_run_and_not_the_next_one(
    stock: "Stock", open_pool: "OpenPool", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "MOST", 0)
    open_pool(stock)
    ref = stock.built()
    benchmark = await opened(ref)
    await crash(benchmark)
    with pytest.raises(RunAborted, match="the sky is falling"):
        await seen(benchmark)
    await benchmark.close()
    again = await opened(ref)
    assert await seen(again)
    await again.close()


async def test_an_adapter_that_nobody_uses_ends_after_a_while(open_stock: "OpenStock", open_pool: "OpenPool") -> None:
    stock = open_stock(environment_idle_s=0.05)
    pool = open_pool(stock)
    benchmark = await opened(stock.built())
    assert pool.size == 1
    await benchmark.close()
    async with asyncio.timeout(120):
        while pool.size:  # noqa: ASYNC110 - it tells nobody when it ends one
            await asyncio.sleep(0.01)


async def test_an_idle_adapter_is_used_again(stock: "Stock", open_pool: "OpenPool") -> None:
    pool = open_pool(stock)
    ref = stock.built()
    pids = []
    for _ in range(2):
        benchmark = await opened(ref)
        pids.append((await seen(benchmark))["pid"])
        await benchmark.close()
    assert pids[0] == pids[1]
    assert pool.size == 1


async def test_an_idle_adapter_makes_room_for_another(stock: "Stock", open_pool: "OpenPool") -> None:
    pool = open_pool(stock, most=1)
    first = await opened(stock.built())
    other = asyncio.create_task(opened(stock.built()))
    await asyncio.sleep(0)
    assert not other.done()
    await first.close()
    benchmark = await other
    assert pool.size == 1
    await benchmark.close()


async def test_a_run_that_waits_for_a_server_keeps_no_other_version_waiting(
    stock: "Stock", open_pool: "OpenPool"
) -> None:
    pool = open_pool(stock, most=1)
    first = await opened(stock.built())
    other = asyncio.create_task(opened(stock.built()))
    await asyncio.sleep(0)
    assert not other.done()
    first.pause(True)
    benchmark = await asyncio.wait_for(other, 120)
    assert (pool.paused, pool.size) == (1, 2)
    await first.close()
    assert pool.paused == 0
    await benchmark.close()


async def test_an_adapter_that_does_not_start_ends_the_run_with_its_words(
    stock: "Stock", open_pool: "OpenPool"
) -> None:
    pool = open_pool(stock)
    with pytest.raises(RunAborted, match="no such planet"):
        await opened(stock.built("raise SystemExit('no such planet')"))
    assert pool.size == 0


async def test_files_that_are_not_what_was_built_are_not_played(stock: "Stock", open_pool: "OpenPool") -> None:
    open_pool(stock)
    ref = stock.built()
    directory = build_directory(stock.service.settings, ref.options["environment"], 1)
    directory.complete("benchanything.json", "another")
    with pytest.raises(RunAborted, match="submit it again"):
        await opened(ref)


async def test_a_server_and_a_worker_agree_on_what_an_environment_is(stock: "Stock", open_pool: "OpenPool") -> None:
    ref = stock.built()
    hosted.bind(stock.service)
    planned = open_hosted(ref)
    with pytest.raises(UsageError, match="workers"):
        await planned.open(lambda _: None)
    open_pool(stock)
    played = open_hosted(ref)
    assert planned.info == played.info
    assert (planned.info.kind, planned.info.id, planned.info.vow["version"]) == ("environment", "small", "1.0.0")
    version = stock.service.store.environments.version(ref.options["environment"], 1)
    assert version is not None
    assert planned.info.digest == version.digest


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of an environment that runs on this machine."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


async def test_an_address_inside_the_network_is_reached_only_where_that_is_allowed(
    open_stock: "OpenStock", open_pool: "OpenPool", elsewhere: str
) -> None:
    ref = BenchmarkRef("hosted", "remote", {"env_url": elsewhere, "domain": {"id": "remote", **MANIFEST_OF_REMOTE}})
    open_pool(open_stock())
    with pytest.raises(EpisodeError, match="cannot be reached"):
        await opened(ref)
    open_pool(open_stock(private_env_urls=True))
    benchmark = await opened(ref)
    await benchmark.close()


def test_a_version_that_is_gone_is_an_unknown_name(stock: "Stock") -> None:
    hosted.bind(stock.service)
    with pytest.raises(UnknownName, match="version 7"):
        open_hosted(BenchmarkRef("hosted", "small", {"environment": "nothing", "version": 7}))


def test_options_that_mean_nothing_are_refused(stock: "Stock") -> None:
    hosted.bind(stock.service)
    with pytest.raises(UsageError, match="env_url"):
        open_hosted(BenchmarkRef("hosted", "small", {}))


def test_a_command_beside_a_platform_says_who_plays_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted, "_binding", hosted._Binding())
    with pytest.raises(UsageError, match="is hosted by a server and played by its workers"):
        SOURCES.get("hosted")(BenchmarkRef("hosted", "small", {"environment": "one", "version": 1}))


MANIFEST_OF_REMOTE: dict[str, Any] = {
    "name": "RemoteEnvironment",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "scalar"},
        "episode": {"max_steps": 5},
    },
    "scoring": {
        "primary_metric": "reward",
        "metrics": [{"name": "reward", "type": "episode_reward", "aggregation": "mean"}],
    },
}
