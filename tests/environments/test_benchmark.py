"""Manifests as benchmarks, with real adapters behind them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, InvalidInput, RunAborted, UsageError
from mesocosm.core.registry import SOURCES
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.task import Task
from mesocosm.environments.benchmark import EnvironmentBenchmark, open_environment

Repository = Callable[..., Path]

VOW = {
    "version": "1.0.0",
    "tier": "tier1",
    "observation_space": {"type": "json"},
    "action_space": {"type": "discrete", "enum_values": ["up", "down"]},
    "reward": {"type": "scalar", "range": {"low": 0, "high": 3}},
    "episode": {},
}


def opened(directory: Path, **options: Any) -> EnvironmentBenchmark:
    return open_environment(BenchmarkRef("environment", str(directory), options))


async def played(benchmark: EnvironmentBenchmark, task: Task, actions: list[Any]) -> Episode:
    """Play one episode as the engine would, and return its row."""
    environment = await benchmark.environment(task, f"episode of {task.id}")
    row = Episode(id="e", run_id="r", task_digest=task.digest(), task_id=task.id)
    await environment.reset()
    for action in actions:
        step = await environment.step(action)
        row.total_reward += step.reward
        row.terminal_info = step.info
        row.steps += 1
        if step.terminated:
            break
    await environment.close()
    return row


def test_the_kind_is_registered() -> None:
    assert SOURCES.get("environment") is open_environment


def test_the_manifest_describes_the_benchmark(repository: Repository) -> None:
    directory = repository(system_prompt="be brief")
    info = opened(directory).info
    assert (info.id, info.title, info.version, info.kind) == ("env", "Counting", "1.2.3", "environment")
    assert (info.description, info.max_steps, info.max_seconds, info.system_prompt) == (
        "Count to three.",
        9,
        None,
        "be brief",
    )
    assert [(metric.name, metric.primary) for metric in info.metrics] == [("won", True), ("reward", False)]
    assert info.vow["version"] == "1.2.3"
    assert info == opened(directory / "benchanything.json").info


def test_the_domain_id_can_be_given(repository: Repository) -> None:
    assert opened(repository(), domain_id="other").info.id == "other"


def test_the_digest_follows_the_content(repository: Repository) -> None:
    one, same = opened(repository(name="one")).info, opened(repository(name="two")).info
    other = opened(repository("raise SystemExit", name="three")).info
    assert one.digest == same.digest
    assert one.digest != other.digest


@pytest.mark.parametrize(
    ("episode", "parallel"),
    [
        ({}, None),
        ({"parallel_episodes": 1}, None),
        ({"parallel_episodes": 4}, 4),
        ({"max_parallel_episodes": 1}, 1),
        ({"parallel_episodes": 1, "max_parallel_episodes": 2}, 2),
    ],
)
def test_the_number_of_a_template_is_no_limit_and_a_declared_one_is(
    repository: Repository, episode: Any, parallel: int | None
) -> None:
    assert opened(repository(binding_vow={**VOW, "episode": episode})).info.parallel == parallel


@pytest.mark.parametrize(
    ("episode", "number"), [({}, None), ({"parallel_episodes": 1}, 1), ({"parallel_episodes": 4}, None)]
)
def test_a_number_that_limits_nothing_is_still_known(repository: Repository, episode: Any, number: int | None) -> None:
    assert opened(repository(binding_vow={**VOW, "episode": episode})).info.parallel_default == number


def test_spaces_are_those_of_the_vow(repository: Repository) -> None:
    benchmark = opened(repository(binding_vow=VOW))
    assert benchmark.action_space.enum_values == ["up", "down"]  # type: ignore[union-attr]
    assert benchmark.observation_space is benchmark.manifest.vow.observation_space


def test_tasks_are_seeds(repository: Repository) -> None:
    benchmark = opened(repository())
    assert [task.seed for task in benchmark.tasks(Selection(seeds=(4, 2)))] == [4, 2]
    assert benchmark.count(Selection(count=7)) == 7


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"env-url": "x"}, "env-url"),
        ({"step_timeout": "long"}, "step_timeout"),
        ({"env_url": 5}, "env_url"),
        ({"env_url": "localhost:8765"}, "http://"),
        ({"start_timeout": 0}, "start_timeout"),
    ],
)
def test_options_that_cannot_work_are_named(repository: Repository, options: Any, names: str) -> None:
    with pytest.raises(UsageError, match=names):
        opened(repository(), **options)


def test_a_missing_manifest_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no manifest"):
        opened(tmp_path)


def test_a_broken_manifest_lists_its_problems(repository: Repository) -> None:
    with pytest.raises(InvalidInput, match="binding_vow"):
        opened(repository(binding_vow={}))


async def test_an_environment_needs_an_open_benchmark(repository: Repository) -> None:
    with pytest.raises(RunAborted, match="not opened"):
        await opened(repository()).environment(Task("seed-1", seed=1), "e")


async def test_an_adapter_with_the_sdk_is_played_and_graded(repository: Repository, sdk_source: str) -> None:
    benchmark = opened(repository(sdk_source))
    notices: list[str] = []
    await benchmark.open(notices.append)
    try:
        rows = await asyncio.gather(
            *(played(benchmark, task, ["up"] * 5) for task in benchmark.tasks(Selection(count=4)))
        )
        environment = await benchmark.environment(Task("seed-1", seed=1), "asked")
        await environment.reset()
        best = await environment.oracle()
    finally:
        await benchmark.close()
    assert [(row.steps, row.total_reward) for row in rows] == [(3, 1.5)] * 4
    scores = {score.name: score.value for score in await benchmark.grade(Task("seed-1", seed=1), rows[0])}
    assert scores == {"won": 1.0, "reward": 1.5}
    assert benchmark.info.oracle is True
    assert best == "up"
    assert notices[-1].startswith("started adapter.py at http://127.0.0.1:")


async def test_an_adapter_without_any_sdk_is_played(repository: Repository) -> None:
    benchmark = opened(repository())
    await benchmark.open(lambda _: None)
    try:
        row = await played(benchmark, Task("seed-1", seed=1), ["a"] * 5)
    finally:
        await benchmark.close()
    assert (row.steps, row.total_reward, row.terminal_info) == (3, 3.0, {"won": 1})
    assert benchmark.info.oracle is False


async def test_a_crash_costs_one_episode_and_the_run_goes_on(repository: Repository) -> None:
    benchmark = opened(repository())
    await benchmark.open(lambda _: None)
    try:
        with pytest.raises(EpisodeError) as caught:
            await played(benchmark, Task("seed-1", seed=1), ["crash"])
        row = await played(benchmark, Task("seed-2", seed=2), ["a"] * 5)
    finally:
        await benchmark.close()
    assert caught.value.cause is Cause.ENVIRONMENT_UNREACHABLE
    assert row.steps == 3


async def test_an_answer_of_100_mb_costs_one_episode(repository: Repository) -> None:
    benchmark = opened(repository())
    await benchmark.open(lambda _: None)
    try:
        with pytest.raises(EpisodeError, match="larger than") as caught:
            await played(benchmark, Task("seed-1", seed=1), ["huge"])
        row = await played(benchmark, Task("seed-2", seed=2), ["a"] * 5)
    finally:
        await benchmark.close()
    assert caught.value.cause is Cause.ENVIRONMENT_INVALID
    assert row.steps == 3


async def test_values_that_are_missing_stay_missing(repository: Repository) -> None:
    row = Episode(id="e", run_id="r", task_digest="t", task_id="t", terminal_info={"reason": "step_limit"})
    won, _ = await opened(repository()).grade(Task("seed-1", seed=1), row)
    assert (won.name, won.missing) == ("won", Cause.VALUE_MISSING)


async def test_warnings_of_the_manifest_are_announced(repository: Repository) -> None:
    benchmark = opened(repository(world="x", colour="red"))
    notices: list[str] = []
    await benchmark.open(notices.append)
    await benchmark.close()
    assert "colour" in notices[0]


async def test_closing_twice_or_unopened_is_no_fault(repository: Repository) -> None:
    benchmark = opened(repository())
    await benchmark.close()
    await benchmark.close()


@pytest.mark.parametrize(
    ("episode", "malformed"),
    [({}, "pass"), ({"malformed_actions": "ask"}, "ask"), ({"malformed_actions": "fail"}, "fail")],
)
def test_manifests_that_say_nothing_get_malformed_replies_as_they_stand(
    repository: Repository, episode: Any, malformed: str
) -> None:
    assert opened(repository(binding_vow={**VOW, "episode": episode})).info.malformed == malformed


async def test_readers_are_warned_of_files_that_change_and_of_a_server_of_unknown_code(repository: Repository) -> None:
    directory = repository()
    first = opened(directory)
    await first.open(lambda _: None)
    try:
        assert first.warnings() == ()
        assert first._adapter is not None
        second = opened(directory, env_url=(await first._adapter.host()).url)
        await second.open(lambda _: None)
        (warning,) = second.warnings()
        await second.close()
        assert "was not started by this run" in warning
        (directory / "adapter.py").write_text("# edited")
        (warning,) = first.warnings()
        assert warning.startswith("adapter.py of environment env has changed since the run began")
    finally:
        await first.close()
