"""`multi_bench`: a model for each role of an episode."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench_common.core.errors import BenchError
from bench_common.core.run import AgentConfig, TechniqueConfig
from bench_common.env_sdk.registration import DomainConfig
from bench_common.inference import MultiBenchResult, multi_bench
from bench_common.runtime.multi_agent_loop import MultiAgentLoop, _resolve_active_role
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("place", "forked")


def scripted(place: Path, role: str, *actions: str) -> AgentConfig:
    """Return an agent that says the same in every episode; its script is indexed by the step of the episode."""
    script = place / f"{role}.txt"
    script.write_text("\n".join(actions))
    return AgentConfig(model=f"builtin/scripted:{script}")


def test_the_parameters_are_the_original_ones() -> None:
    parameters = inspect.signature(multi_bench).parameters.values()
    assert [(one.name, one.default) for one in parameters if one.default is not one.empty] == [
        ("num_episodes", 5),
        ("role_order", None),
        ("window_size", 10),
        ("seed_set", None),
        ("max_parallel", 1),
        ("quiet", False),
        ("domain", None),
        ("allow_any_model", False),
    ]


async def test_each_role_acts_with_its_own_model(ferry: Any, domain: DomainConfig, place: Path) -> None:
    agents = {
        "mate": scripted(place, "mate", "south", "south"),
        "captain": scripted(place, "captain", "north", "north"),
    }
    result = await multi_bench(agents, "ferry", ferry.url, 2, quiet=True, domain=domain)
    assert isinstance(result, MultiBenchResult)
    assert result.agents == {role: agent.model for role, agent in agents.items()}
    assert (result.completed, result.scores["docked"]) == (2, 1.0)
    assert [episode.terminal_info["sailed"] for episode in result.episodes] == [["north", "south"]] * 2


async def test_the_order_of_roles_can_be_given(ferry: Any, domain: DomainConfig, place: Path) -> None:
    agents = {
        "mate": scripted(place, "mate", "south", "south"),
        "captain": scripted(place, "captain", "north", "north"),
    }
    result = await multi_bench(
        agents, "ferry", ferry.url, 1, role_order=["mate", "captain"], quiet=True, domain=domain
    )  # fmt: skip
    assert result.episodes[0].terminal_info["sailed"] == ["south", "north"]


async def test_the_environment_says_who_acts(ferry: Any, domain: DomainConfig, place: Path) -> None:
    ferry.turns = ("mate", "mate", "captain", "stowaway")
    agents = {
        "mate": scripted(place, "mate", *["south"] * 4),
        "captain": scripted(place, "captain", *["north"] * 4),
    }
    result = await multi_bench(agents, "ferry", ferry.url, 1, quiet=True, domain=domain)
    assert result.episodes[0].terminal_info["sailed"] == ["south", "south", "north", "north"]


async def test_roles_differ_in_prompt_sampling_and_memory(ferry: Any, changed: Callable[..., DomainConfig]) -> None:
    ferry.turns = ("mate", "captain", "mate", "captain")
    vow = {"techniques": [{"technique_id": "multi_agent", "config_schema": {"roles": {"mate": "You hold the wheel."}}}]}
    async with ModelServer("Action: north") as model:
        agents = {
            "captain": AgentConfig(
                model=f"openai/old@{model.openai_url}", system_prompt="Be stern.", temperature=0.5, max_tokens=64
            ),
            "mate": AgentConfig(model=f"openai/young@{model.openai_url}", max_tokens=32),
        }
        result = await multi_bench(agents, "ferry", ferry.url, 1, quiet=True, domain=changed(**vow))
        asked = [call.body for call in model.calls]
    assert [(body["model"], body["temperature"], body["max_tokens"]) for body in asked] == [
        ("young", 0.0, 32),
        ("old", 0.5, 64),
    ] * 2
    systems = [body["messages"][0]["content"] for body in asked]
    assert ["Be stern." in system for system in systems] == [False, True] * 2
    assert ["You hold the wheel." in system for system in systems] == [True, False] * 2
    assert "You act as mate. The other is captain." in systems[0]
    assert [len(body["messages"]) for body in asked] == [2, 2, 4, 4]
    spent = result.episodes[0].terminal_info["tokens_per_role"]
    assert spent.keys() == {"captain", "mate"}
    assert all(tokens > 0 for tokens in spent.values())


async def test_a_window_bounds_what_a_role_remembers(ferry: Any, domain: DomainConfig) -> None:
    ferry.turns = ("mate",) * 5
    async with ModelServer("Action: north") as model:
        agents = {"mate": AgentConfig(model=f"openai/young@{model.openai_url}")}
        await multi_bench(agents, "ferry", ferry.url, 1, window_size=1, quiet=True, domain=domain)
        asked = [len(call.body["messages"]) for call in model.calls]
    assert asked == [2, 4, 6, 6, 6]


async def test_techniques_of_an_agent_are_used(ferry: Any, domain: DomainConfig) -> None:
    async with ModelServer("Action: north") as model:
        technique = TechniqueConfig(technique_id="memory", params={"window_size": 2})
        agents = {"mate": AgentConfig(model=f"openai/young@{model.openai_url}", techniques=[technique])}
        await multi_bench(agents, "ferry", ferry.url, 1, quiet=True, domain=domain)
        assert "Recent History" in model.calls[-1].body["messages"][0]["content"]


async def test_every_model_is_checked_before_anything_runs(ferry: Any, domain: DomainConfig) -> None:
    agents = {"mate": AgentConfig(model="builtin/random"), "captain": AgentConfig(model="openai/gpt-4o-mini")}
    with pytest.raises(ValueError, match="gpt-4o-mini"):
        await multi_bench(agents, "ferry", ferry.url, 1, quiet=True, domain=domain)
    with pytest.raises(ValueError, match="at least one agent"):
        await multi_bench({}, "ferry", ferry.url, 1, quiet=True, domain=domain)
    assert ferry.called == []


async def test_an_order_with_a_stranger_is_refused(ferry: Any, domain: DomainConfig) -> None:
    agents = {"mate": AgentConfig(model="builtin/random")}
    with pytest.raises(BenchError, match="role_order names pirate"):
        await multi_bench(agents, "ferry", ferry.url, 1, role_order=["mate", "pirate"], quiet=True, domain=domain)


@pytest.mark.parametrize(
    ("info", "observation", "turn", "role"),
    [
        ({"active_role": "b"}, {"active_role": "a"}, 0, "b"),
        ({}, {"active_role": "b"}, 0, "b"),
        (None, "text", 0, "a"),
        (None, None, 1, "b"),
        ({}, {}, 5, "b"),
        ({"active_role": "nobody"}, None, 1, "a"),
    ],
)
def test_the_active_role_is_resolved(info: Any, observation: Any, turn: int, role: str) -> None:
    assert _resolve_active_role(info, observation, ["a", "b"], turn) == role


def test_the_old_names_of_loop_and_state_exist() -> None:
    from mesocosm.agents.role_state import RoleState

    assert RoleState is RoleState
    assert callable(MultiAgentLoop({"a": AgentConfig(model="builtin/random")}).play)
