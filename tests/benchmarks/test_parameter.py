"""One parameter: types, bounds, choices."""

from typing import Any

import pytest
from pydantic import ValidationError

from mesocosm.benchmarks.parameter import Parameter, check_parameter
from mesocosm.core.failure import UsageError


def parameter(kind: str, **more: Any) -> Parameter:
    return Parameter.model_validate({"type": kind, "help": "of a test", **more})


@pytest.mark.parametrize(
    ("kind", "value", "taken"),
    [
        ("integer", 3, 3),
        ("number", 3, 3),
        ("number", 0.5, 0.5),
        ("boolean", False, False),
        ("text", "a,b", "a,b"),
        ("path", "x/y", "x/y"),
        ("list", [1, "a"], [1, "a"]),
        ("list", (1, 2), [1, 2]),
        ("names", ["a", "b"], ["a", "b"]),
        ("names", " a, b ,,c", ["a", "b", "c"]),
        ("object", {"a": 1}, {"a": 1}),
    ],
)
def test_a_value_of_the_right_type_is_taken(kind: str, value: Any, taken: Any) -> None:
    assert check_parameter(parameter(kind), value) == taken


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("integer", True, "a whole number"),
        ("integer", 1.0, "a whole number"),
        ("integer", "1", "a whole number"),
        ("number", "0.5", "a number"),
        ("number", False, "a number"),
        ("number", float("nan"), "a finite number"),
        ("number", float("inf"), "a finite number"),
        ("boolean", 1, "true or false"),
        ("boolean", "true", "true or false"),
        ("text", 1, "a text"),
        ("path", None, "a path"),
        ("list", "a", "a list"),
        ("list", {"a": 1}, "a list"),
        ("names", 1, "a list of names"),
        ("names", ["a", 1], "a list of names"),
        ("object", [], "an object"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_and_the_type_named(kind: str, value: Any, said: str) -> None:
    with pytest.raises(UsageError, match=f"must be {said}"):
        check_parameter(parameter(kind), value)


def test_bounds_are_inclusive_and_hold_for_the_items_of_a_list() -> None:
    bounded = parameter("integer", minimum=1, maximum=3)
    assert [check_parameter(bounded, value) for value in (1, 3)] == [1, 3]
    for value, said in ((0, "at least 1"), (4, "at most 3")):
        with pytest.raises(UsageError, match=said):
            check_parameter(bounded, value)
    with pytest.raises(UsageError, match="at least 1"):
        check_parameter(parameter("list", minimum=1), [2, 0])


def test_choices_hold_for_the_items_of_a_list() -> None:
    assert check_parameter(parameter("names", choices=("a", "b")), "b,a") == ["b", "a"]
    with pytest.raises(UsageError, match="must be one of a, b, not 'c'"):
        check_parameter(parameter("names", choices=("a", "b")), "a,c")
    with pytest.raises(UsageError, match="must be one of 1, 2"):
        check_parameter(parameter("integer", choices=(1, 2)), 3)


def test_a_default_that_breaks_its_own_rules_is_refused() -> None:
    with pytest.raises(ValidationError, match="the default must be at least 1"):
        parameter("integer", default=0, minimum=1)


def test_the_usual_value_has_the_form_of_values() -> None:
    assert parameter("names", default="a,b").usual == ["a", "b"]
    assert parameter("names").usual is None
