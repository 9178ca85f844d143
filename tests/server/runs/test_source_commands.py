"""Commands that repeat a run of a benchmark of another framework: what they mean is the same experiment."""

import shlex
from typing import Any

import pytest

from mesocosm.cli.settings import read_parameters, read_settings
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, RunSpec, Selection
from mesocosm.server.runs.commands import repeat_command

MODEL = ModelSettings("openai/gpt-5", max_tokens=4096)


def spec(**more: Any) -> RunSpec:
    fields: dict[str, Any] = {
        "benchmark": BenchmarkRef("pettingzoo", "connect_four_v3", {"opponent": "judge"}),
        "model": MODEL,
        "agent": AgentSettings(),
        "selection": Selection(count=3, trials=2),
        "limits": Limits(),
    }
    return RunSpec(**{**fields, **more})


def test_a_run_of_a_source_is_repeated_by_its_name_and_parameters() -> None:
    found = repeat_command(spec(judge=ModelSettings("openai/gpt-5-mini", max_tokens=4096)), ("--results-dir", "r"))
    assert found == (
        "mesocosm run pettingzoo:connect_four_v3 --model openai/gpt-5 --limit 3 --trials 2 "
        "--judge openai/gpt-5-mini -P opponent=judge --fresh --results-dir r"
    )


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "12",
        "true",
        "a b",
        "2024-01-01",
        "",
        " x ",
        3,
        0.5,
        True,
        [0, 1],
        {"difficulty": "hard", "more": [1, "x"]},
    ],
)
def test_a_parameter_is_read_again_as_what_it_was(value: Any) -> None:
    found = repeat_command(spec(benchmark=BenchmarkRef("gym", "Taxi-v4", {"name": value})))
    assert found is not None
    words = shlex.split(found)
    given = words[words.index("-P") + 1]
    assert read_parameters([given]) == {"name": value}


def test_settings_of_the_model_and_budgets_are_kept() -> None:
    model = ModelSettings("openai/gpt-5", temperature=0.7, max_tokens=64)
    found = repeat_command(spec(model=model, limits=Limits(run_usd=2.5, run_tokens=1000)))
    assert found is not None
    words = shlex.split(found)
    settings = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    assert read_settings(settings) == {
        "model.temperature": 0.7,
        "model.max_tokens": 64,
        "limits.usd": 2.5,
        "limits.tokens": 1000,
    }


@pytest.mark.parametrize(
    "more",
    [
        {"selection": Selection(seeds=(1, 2))},
        {"agent": AgentSettings("loop", {"history": "last"})},
        {"limits": Limits(episode_steps=3)},
    ],
)
def test_what_no_option_says_gives_no_command(more: dict[str, Any]) -> None:
    assert repeat_command(spec(**more)) is None
