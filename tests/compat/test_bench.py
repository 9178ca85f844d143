"""`bench`: the Python way to evaluate a model in an environment that is served already."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench_common.core.errors import BenchError
from bench_common.core.run import Episode
from bench_common.env_sdk.registration import DomainConfig
from bench_common.inference import BenchResult, bench
from bench_common.storage.trace_store import TraceStore
from mesocosm.sandboxes.port import free_port
from mesocosm.store import open_store
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("place")


def test_the_parameters_are_the_original_ones() -> None:
    parameters = inspect.signature(bench).parameters.values()
    assert [(one.name, one.default) for one in parameters if one.default is not one.empty] == [
        ("num_episodes", 5),
        ("seed_set", None),
        ("system_prompt", None),
        ("temperature", 0.0),
        ("max_tokens", 512),
        ("max_parallel", 1),
        ("quiet", False),
        ("domain", None),
        ("allow_any_model", False),
    ]
    assert [one.name for one in parameters if one.default is one.empty] == ["model", "domain_id", "env_url"]
    assert [one.name for one in parameters if one.kind is one.KEYWORD_ONLY] == ["domain", "allow_any_model"]


async def test_a_run_comes_back_with_episodes_and_scores(ferry: Any, domain: DomainConfig) -> None:
    result = await bench("builtin/random", "ferry", ferry.url, 3, quiet=True, domain=domain)
    assert isinstance(result, BenchResult)
    assert (result.model, result.domain_id, result.num_episodes) == ("builtin/random", "ferry", 3)
    assert (result.completed, result.truncated, result.failed) == (3, 0, 0)
    assert (result.avg_reward, result.avg_steps) == (1.0, 2.0)
    assert [episode.seed for episode in result.episodes] == [0, 1, 2]
    assert result.episodes[0].status == "completed"
    assert result.episodes[0].terminal_info["docked"] == "True"
    assert result.elapsed_seconds > 0


async def test_a_text_that_says_true_counts_and_a_metric_without_values_has_no_score(
    ferry: Any, domain: DomainConfig
) -> None:
    result = await bench("builtin/random", "ferry", ferry.url, 2, quiet=True, domain=domain)
    assert result.scores == {"docked": 1.0, "mean_return": 1.0}


async def test_a_seed_set_replaces_the_number_of_episodes(ferry: Any, domain: DomainConfig) -> None:
    result = await bench("builtin/random", "ferry", ferry.url, 9, seed_set=[7, 4], quiet=True, domain=domain)
    assert ferry.seeds == [7, 4]
    assert result.num_episodes == 2


async def test_a_failed_episode_is_counted_with_its_reason(ferry: Any, domain: DomainConfig) -> None:
    result = await bench("builtin/random", "ferry", ferry.url, seed_set=[1, 13], quiet=True, domain=domain)
    assert (result.completed, result.failed) == (1, 1)
    assert "the ferry sank" in result.episodes[1].terminal_info["error"]
    assert "1/2 scoreable" in str(result)


async def test_progress_goes_to_stdout_unless_quiet(
    ferry: Any, domain: DomainConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    await bench("builtin/random", "ferry", ferry.url, seed_set=[1, 13], domain=domain)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ""
    assert lines[1:3] == ["Running builtin/random on ferry (2 episodes)", f"  env: {ferry.url}"]
    assert lines[3] == "  [1/2] seed=1 reward=1.00  steps=2"
    assert lines[4].startswith("  [2/2] seed=13 FAILED: POST ")
    await bench("builtin/random", "ferry", ferry.url, 1, quiet=True, domain=domain)
    assert capsys.readouterr().out == ""


async def test_the_run_is_kept_like_any_other(ferry: Any, domain: DomainConfig, place: Path) -> None:
    result = await bench("builtin/random", "ferry", ferry.url, 2, quiet=True, domain=domain)
    store = open_store(place / "benchmark_results", create=False)
    run = store.runs.get(result.run_id)
    store.close()
    assert (run.status, run.counts.completed, run.benchmark_title) == ("finished", 2, "Ferry")


async def test_traces_are_files_that_readers_of_the_original_know(
    ferry: Any, domain: DomainConfig, place: Path
) -> None:
    result = await bench("builtin/random", "ferry", ferry.url, seed_set=[1, 13], quiet=True, domain=domain)
    done, failed = result.episodes
    lines = (place / "data" / "traces" / f"{done.id}.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event_type"] for event in events] == [
        "episode_start",
        *["observation", "observation", "action", "step_result", "observation"],
        *["observation", "action", "step_result", "observation"],
        "episode_end",
    ]
    assert all(event.keys() == {"episode_id", "step", "timestamp", "event_type", "payload"} for event in events)
    kinds = [event.payload.get("kind") for event in TraceStore().read(failed.id)]
    assert "error" in kinds


async def test_prompt_and_sampling_reach_the_model(ferry: Any, domain: DomainConfig) -> None:
    async with ModelServer("Action: north") as model:
        name = f"openai/pilot@{model.openai_url}"
        await bench(
            name, "ferry", ferry.url, 1, system_prompt="Mind the fog.", temperature=0.7, max_tokens=99, quiet=True,
            domain=domain,
        )  # fmt: skip
        asked = model.calls[0].body
    assert (asked["temperature"], asked["max_tokens"], asked["model"]) == (0.7, 99, "pilot")
    system = asked["messages"][0]["content"]
    assert system.index("Sail!") < system.index("Mind the fog.")


async def test_an_unknown_environment_is_a_connection_error(domain: DomainConfig) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ConnectionError, match="start its adapter"):
        await bench("builtin/random", "ferry", url, 1, quiet=True, domain=domain)


async def test_something_else_at_the_url_is_a_connection_error(domain: DomainConfig) -> None:
    async with Refusing() as server:
        with pytest.raises(ConnectionError, match="status 404"):
            await bench("builtin/random", "ferry", server.url, 1, quiet=True, domain=domain)


async def test_a_model_elsewhere_needs_permission(ferry: Any, domain: DomainConfig) -> None:
    with pytest.raises(ValueError, match="allow_any_model=True"):
        await bench("openai/gpt-4o-mini", "ferry", ferry.url, 1, quiet=True, domain=domain)
    assert ferry.called == []


async def test_a_vow_that_breaks_its_rules_is_named(ferry: Any, changed: Callable[..., DomainConfig]) -> None:
    broken = changed().model_dump(mode="json")
    broken["binding_vow"]["version"] = "one"
    with pytest.raises(BenchError, match="version: must be exactly three"):
        await bench("builtin/random", "ferry", ferry.url, 1, quiet=True, domain=broken)


async def test_a_step_limit_of_the_environment_variable_holds(
    ferry: Any, domain: DomainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCH_MAX_EPISODE_STEPS", "1")
    result = await bench("builtin/random", "ferry", ferry.url, 2, quiet=True, domain=domain)
    assert (result.completed, result.truncated) == (0, 2)
    assert result.episodes[0].terminal_info["reason"] == "step_limit"


class Refusing(LoopbackServer):
    """A server that has nothing."""

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        connection.send(response(404, b'{"detail": "Not Found"}'))


class Platform(LoopbackServer):
    """Knows one domain, with every default spelled out."""

    def __init__(self, domain: DomainConfig) -> None:
        super().__init__()
        self.domain = domain

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        if request.path == f"/v1/domains/{self.domain.id}":
            connection.send(response(200, self.domain.model_dump_json().encode()))
        else:
            connection.send(response(404, msgspec.json.encode({"detail": "no such domain"})))


async def test_without_a_domain_the_platform_is_asked(
    ferry: Any, domain: DomainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Platform(domain) as platform:
        monkeypatch.setenv("MESOCOSM_BASE_URL", platform.url)
        result = await bench("builtin/random", "ferry", ferry.url, 2, max_parallel=2, quiet=True)
        with pytest.raises(ValueError, match="knows no domain 'canal'"):
            await bench("builtin/random", "canal", ferry.url, 1, quiet=True)
    assert result.completed == 2


def test_the_result_is_printed_as_a_box_of_forty_columns() -> None:
    episodes = [
        Episode(id="a", run_id="r", status="completed", steps=3, total_reward=1.0),  # type: ignore[arg-type]
        Episode(id="b", run_id="r", status="timeout", steps=4, total_reward=0.5),  # type: ignore[arg-type]
        Episode(id="c", run_id="r", status="failed", steps=9, total_reward=9.0),  # type: ignore[arg-type]
    ]
    result = BenchResult(
        "openai/a-model-with-a-rather-long-name", "ferry", 3, episodes, 1.26, {"a_very_long_metric": 0.25}
    )
    assert str(result).splitlines() == [
        "+--------------------------------------+",
        "| model        openai/a-model-with-a-ra|",
        "| domain       ferry                   |",
        "| episodes     2/3 scoreable           |",
        "| avg reward   0.7500                  |",
        "| avg steps    3.50                    |",
        "| wall time    1.3 s                   |",
        "| a_very_long_ 0.2500                  |",
        "| failed       1                       |",
        "+--------------------------------------+",
    ]


def test_a_result_without_scoreable_episodes_has_means_of_zero() -> None:
    result = BenchResult("m", "d", 0, [], 0.0)
    assert (result.avg_reward, result.avg_steps, result.scores) == (0.0, 0.0, {})
