"""The old client of environments."""

from typing import Any

import pytest

from bench_common.core.errors import BenchError
from bench_common.runtime.agent_loop import AgentLoop
from bench_common.runtime.env_client import HttpEnvClient, Observation, StepResult
from mesocosm.agents.loop import StepLoop
from mesocosm.sandboxes.port import free_port


async def test_an_episode_is_played_call_by_call(ferry: Any) -> None:
    async with HttpEnvClient(f"{ferry.url}/") as client:
        assert await client.health()
        first = await client.reset("e1", seed=5)
        step = await client.step("e1", "north")
        await client.close("e1")
    assert first == Observation({"pier": 0}, system_prompt="Sail!")
    assert isinstance(step, StepResult)
    assert (step.observation.data, step.reward, step.terminated, step.truncated) == ({"pier": 1}, 0.5, False, False)
    assert step.info["docked"] == "True"
    assert ferry.called == [
        ("/health", None),
        ("/reset", {"episode_id": "e1", "seed": 5}),
        ("/step", {"episode_id": "e1", "action": "north"}),
        ("/close", {"episode_id": "e1"}),
    ]


async def test_episodes_are_apart_and_closed_at_the_end(ferry: Any) -> None:
    async with HttpEnvClient(ferry.url) as client:
        await client.reset("a")
        await client.reset("b", seed=2)
        assert (await client.step("b", "south")).info["sailed"] == ["south"]
        await client.close("unknown")
    assert sorted(body["episode_id"] for path, body in ferry.called if path == "/close") == ["a", "b"]
    assert ferry.seeds == [None, 2]


async def test_failures_carry_the_words_of_the_server(ferry: Any) -> None:
    async with HttpEnvClient(ferry.url) as client:
        await client.reset("e1", seed=13)
        with pytest.raises(BenchError, match="the ferry sank"):
            await client.step("e1", "north")


async def test_a_server_that_is_not_there_is_not_healthy() -> None:
    async with HttpEnvClient(f"http://127.0.0.1:{free_port()}") as client:
        assert not await client.health()


def test_the_old_name_of_the_loop_exists() -> None:
    assert AgentLoop is StepLoop
