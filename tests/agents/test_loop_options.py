from typing import Any

import pytest

from mesocosm.agents.loop import StepLoop, open_loop
from mesocosm.agents.options import LoopOptions, RoleOptions, read_options
from mesocosm.core.failure import UsageError


def test_defaults() -> None:
    assert read_options({}) == LoopOptions()
    assert isinstance(open_loop({}), StepLoop)


def test_everything_given() -> None:
    options = read_options(
        {
            "history": 5,
            "history_tokens": 100,
            "system_prompt": "Be brief.",
            "reask": 0,
            "structured": "off",
            "images": "on",
            "techniques": {"memory": {"window_size": 3}, "tool_calling": False, "multi-agent": {}},
            "roles": {"buyer": {"system_prompt": "Buy."}, "seller": {}},
        }
    )
    assert options.history == 5
    assert options.techniques == {"memory": {"window_size": 3}, "tool-calling": None, "multi-agent": {}}
    assert options.roles == {"buyer": RoleOptions("Buy."), "seller": RoleOptions()}


@pytest.mark.parametrize(
    "given",
    [
        {"history": "some"},
        {"history": 0},
        {"history": True},
        {"history": "5"},
        {"history_tokens": 1.5},
        {"history_tokens": 0},
        {"system_prompt": None},
        {"reask": -1},
        {"reask": True},
        {"structured": True},
        {"images": "yes"},
        {"techniques": ["memory"]},
        {"techniques": {"memory": 5}},
        {"roles": ["buyer"]},
        {"roles": {"buyer": {"model": "x"}}},
    ],
)
def test_wrong_values_are_refused_with_their_name(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(given))):
        read_options(given)


def test_unknown_options_are_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        read_options({"histori": "full", "reask": "one"})
    text = str(caught.value)
    assert "did you mean 'history'" in text
    assert "reask" in text
    assert "system_prompt" in text


def test_parameters_of_techniques_are_checked_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="window_size"):
        read_options({"techniques": {"memory": {"window_size": 0}}})
    with pytest.raises(UsageError, match=r"windowsize.*parameters: window_size"):
        read_options({"techniques": {"memory": {"windowsize": 3}}})


def test_unknown_techniques_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean 'memory'"):
        read_options({"techniques": {"memry": {}}})


def test_what_is_registered_must_be_a_technique() -> None:
    with pytest.raises(UsageError, match="no subclass"):
        read_options({"techniques": {"json:dumps": {}}})
