"""Environments that are served somewhere already and described by a document alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.run import BenchmarkRef
from mesocosm.core.task import Task
from mesocosm.environments.benchmark import EnvironmentBenchmark, open_environment
from mesocosm.sandboxes.port import free_port
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

DOCUMENT: dict[str, Any] = {
    "id": "ferry",
    "name": "Ferry",
    "detail": "Cross the bay.",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "scalar"},
        "episode": {},
    },
    "scoring": {"primary_metric": "r", "metrics": [{"name": "r", "type": "episode_reward", "aggregation": "mean"}]},
}


class Served(LoopbackServer):
    """Answers every call."""

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        body = {"status": "ok", "env": "AnyClass", "oracle": True} if request.path == "/health" else {"bay": "calm"}
        connection.send(response(200, msgspec.json.encode(body)))


def opened(**options: Any) -> EnvironmentBenchmark:
    return open_environment(BenchmarkRef("environment", "ferry", {"domain": DOCUMENT, **options}))


async def test_a_server_is_played_without_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with Served() as server:
        benchmark = opened(env_url=server.url)
        await benchmark.open(lambda _: None)
        try:
            environment = await benchmark.environment(Task("seed-1", seed=1), "e1")
            observation = await environment.reset()
        finally:
            await benchmark.close()
    info = benchmark.info
    assert observation.data == {"bay": "calm"}
    assert (info.id, info.title, info.description, info.oracle) == ("ferry", "Ferry", "Cross the bay.", True)


async def test_a_server_that_does_not_answer_is_a_usage_error() -> None:
    benchmark = opened(env_url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(UsageError, match=r"no environment answers GET .*'ferry'"):
        await benchmark.open(lambda _: None)
    await benchmark.close()


async def test_without_a_url_nothing_can_be_played() -> None:
    benchmark = opened()
    with pytest.raises(UsageError, match="give `env_url`"):
        await benchmark.open(lambda _: None)
    await benchmark.close()


def test_the_digest_follows_the_contract_and_not_the_id() -> None:
    other = {**DOCUMENT, "scoring": {**DOCUMENT["scoring"], "higher_is_better": False}}
    assert opened(domain_id="bay").info.digest == opened().info.digest
    assert opened(domain=other).info.digest != opened().info.digest
    assert opened(domain_id="bay").info.id == "bay"


def test_a_broken_document_lists_its_problems() -> None:
    with pytest.raises(InvalidInput, match=r"domain ferry: 2 problems(?s:.*)name: is required(?s:.*)scoring") as caught:
        opened(domain={"binding_vow": DOCUMENT["binding_vow"]})
    assert "adapter" not in str(caught.value)


def test_a_file_and_its_document_differ_only_in_what_is_known_of_the_code(repository: Callable[..., Path]) -> None:
    document = {key: value for key, value in DOCUMENT.items() if key != "name"}
    from_file = open_environment(BenchmarkRef("environment", str(repository(**document)))).info
    named = opened(domain={**DOCUMENT, "name": from_file.title, "description": from_file.description}).info
    assert msgspec.structs.replace(named, digest=from_file.digest, files=from_file.files) == from_file
