"""Which changes make another experiment, and which do not."""

from typing import Any

import msgspec
import pytest

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, RunSpec, Selection
from mesocosm.core.signature import signature

REPLACE = msgspec.structs.replace
BASE = RunSpec(
    BenchmarkRef("environment", "envs/words", {"env_url": "http://localhost:1"}),
    ModelSettings("openai/m@http://127.0.0.1:1/v1", extra={"seed": 1}),
    AgentSettings("loop", {"history": "full"}),
    Selection(count=3),
    Limits(episode_steps=9),
)


def of(spec: RunSpec, benchmark: str = "words", digest: str = "0", content: str = "") -> str:
    return signature(spec, benchmark, digest, content)


@pytest.mark.parametrize(
    "change",
    [
        {"model": REPLACE(BASE.model, name="openai/other@http://127.0.0.1:1/v1")},
        {"model": REPLACE(BASE.model, name="openai/m@http://127.0.0.1:2/v1")},
        {"model": REPLACE(BASE.model, name="vllm/m@http://127.0.0.1:1/v1")},
        {"model": REPLACE(BASE.model, temperature=0.1)},
        {"model": REPLACE(BASE.model, max_tokens=513)},
        {"model": REPLACE(BASE.model, top_p=0.9)},
        {"model": REPLACE(BASE.model, extra={"seed": 2})},
        {"agent": AgentSettings("other", {"history": "full"})},
        {"agent": AgentSettings("loop", {"history": "none"})},
        {"selection": Selection(count=4)},
        {"selection": Selection(seeds=(0, 1, 2))},
        {"selection": Selection(count=3, trials=2)},
        {"limits": Limits(episode_steps=10)},
        {"limits": Limits(episode_steps=9, episode_seconds=60)},
        {"limits": Limits(episode_steps=9, episode_tokens=100)},
    ],
    ids=str,
)
def test_whatever_can_change_the_outcome_changes_it(change: dict[str, Any]) -> None:
    assert of(REPLACE(BASE, **change)) != of(BASE)


def test_another_benchmark_or_another_content_of_it_changes_it() -> None:
    assert len({of(BASE), of(BASE, benchmark="other"), of(BASE, digest="1"), of(BASE, content="2")}) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"parallel": 64},
        {"name": "a name"},
        {"tags": ("a", "b")},
        {"benchmark": BenchmarkRef("environment", "/elsewhere/words", {"python": "python3.12"})},
        {"model": REPLACE(BASE.model, timeout_s=1.0)},
        {"model": REPLACE(BASE.model, cache="cache.sqlite")},
        {"limits": Limits(episode_steps=9, run_seconds=1, run_tokens=1, run_usd=1, retries=0)},
        {"limits": Limits(episode_steps=9, requests_per_minute=1, tokens_per_minute=1)},
    ],
    ids=str,
)
def test_what_cannot_change_the_outcome_leaves_it(change: dict[str, Any]) -> None:
    assert of(REPLACE(BASE, **change)) == of(BASE)


def test_seeds_in_another_order_are_another_plan() -> None:
    assert of(REPLACE(BASE, selection=Selection(seeds=(1, 2)))) != of(REPLACE(BASE, selection=Selection(seeds=(2, 1))))


def test_a_count_beside_explicit_seeds_means_nothing() -> None:
    given = Selection(seeds=(1, 2), count=7)
    assert of(REPLACE(BASE, selection=given)) == of(REPLACE(BASE, selection=Selection(seeds=(1, 2))))


def test_options_are_compared_by_value_not_by_spelling() -> None:
    first = AgentSettings("loop", {"a": 1, "b": {"c": 2.0, "d": [1, 2]}})
    second = AgentSettings("loop", {"b": {"d": [1, 2.0], "c": 2}, "a": 1.0})
    assert of(REPLACE(BASE, agent=first)) == of(REPLACE(BASE, agent=second))


def test_a_model_that_answers_from_a_file_is_known_by_content_not_by_path() -> None:
    here = REPLACE(BASE, model=ModelSettings("replay/here/recorded.jsonl"))
    there = REPLACE(BASE, model=ModelSettings("replay//there/copied.jsonl"))
    assert of(here, content="c0ffee") == of(there, content="c0ffee")
    assert of(here, content="c0ffee") != of(here, content="decaf")


def test_an_agent_in_a_file_is_known_by_content_not_by_path() -> None:
    def agent(name: str, content: str) -> str:
        return signature(REPLACE(BASE, agent=AgentSettings(name)), "b", "d", agent_content=content)

    assert agent("here/agent.py:Agent", "c0ffee") == agent("/there/copied.py:Agent", "c0ffee")
    assert agent("here/agent.py:Agent", "c0ffee") != agent("here/agent.py:Agent", "decaf")
    assert agent("here/agent.py:Agent", "c0ffee") != agent("here/agent.py:Other", "c0ffee")


def test_it_is_the_same_in_every_process() -> None:
    plain = RunSpec(BenchmarkRef("python", "x.py:X"), ModelSettings("builtin/random"))
    assert signature(plain, "x:X", "0" * 32) == "e34cfbdf49f6bfa8defdacae3b22b642"


def test_the_order_of_roles_is_part_of_the_experiment_and_that_of_other_options_is_not() -> None:
    def under(**options: Any) -> str:
        return of(REPLACE(BASE, agent=AgentSettings("loop", options)))

    def cast(*names: str) -> str:
        return under(techniques={"multi_agent": {"roles": dict.fromkeys(names, "")}})

    assert cast("a", "b") != cast("b", "a")
    assert under(roles={"a": {}, "b": {}}) != under(roles={"b": {}, "a": {}})
    assert under(reask=1, history="full") == under(history="full", reask=1)
