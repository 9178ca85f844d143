"""The identity of code: what counts as a change, and what does not."""

import functools
import sys
import threading
import types
from typing import Any

import pytest

from mesocosm.api.code import code_identity
from mesocosm.core.failure import UsageError

PLAIN = """
LIMIT = 3
def helper(x):
    return x < LIMIT
def grade(answer, expected, most=2):
    return helper(len(answer))
class Agent:
    rate = 1
    def __call__(self, question):
        return helper(question)
"""


def loaded(text: str) -> types.ModuleType:
    """Return a module as a notebook has one: without a file."""
    module = types.ModuleType("__main__")
    exec(compile(text, "<cell>", "exec"), module.__dict__)
    return module


def identity(text: str, name: str = "grade") -> str:
    return code_identity(getattr(loaded(text), name)).digest


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))


@pytest.mark.parametrize(
    "same",
    [
        PLAIN.replace("    return x < LIMIT", "    # shorter is better\n    return  x<LIMIT"),
        PLAIN + "\ndef other():\n    return 1\n",
        "\n\n" + PLAIN,
    ],
)
def test_layout_and_what_is_not_used_do_not_count(same: str) -> None:
    assert identity(same) == identity(PLAIN)


@pytest.mark.parametrize(
    "changed",
    [
        PLAIN.replace("LIMIT = 3", "LIMIT = 4"),
        PLAIN.replace("x < LIMIT", "x <= LIMIT"),
        PLAIN.replace("most=2", "most=3"),
        PLAIN.replace("len(answer)", "len(expected)"),
    ],
)
def test_constants_helpers_and_defaults_count(changed: str) -> None:
    assert identity(changed) != identity(PLAIN)


@pytest.mark.parametrize("changed", [PLAIN.replace("rate = 1", "rate = 2"), PLAIN.replace("x < LIMIT", "x > LIMIT")])
def test_attributes_and_methods_of_classes_count(changed: str) -> None:
    assert identity(changed, "Agent") != identity(PLAIN, "Agent")
    assert code_identity(loaded(changed).Agent()).digest != code_identity(loaded(PLAIN).Agent()).digest


def made(number: int) -> Any:
    def inner(answer: str) -> int:
        return number

    return inner


def test_closures_partials_and_instances_count_by_what_they_hold() -> None:
    assert code_identity(made(1)).digest == code_identity(made(1)).digest
    assert code_identity(made(1)).digest != code_identity(made(2)).digest
    partial = functools.partial(max, 1), functools.partial(max, 2)
    assert code_identity(partial[0]).digest != code_identity(partial[1]).digest


def test_functions_that_call_each_other_have_an_identity() -> None:
    text = "def grade(x):\n    return other(x)\ndef other(x):\n    return grade(x - 1) if x else 0\n"
    assert identity(text) == identity(text)


def test_what_cannot_be_read_counts_by_its_type_and_is_named() -> None:
    client = threading.Lock()

    def agent(question: str) -> Any:
        return client

    assert code_identity(agent).unread == ("client (_thread.lock)",)


def test_a_large_table_is_refused_and_not_hashed_for_minutes() -> None:
    table = list(range(200_000))

    def agent(question: str) -> Any:
        return table

    with pytest.raises(UsageError, match="more than 100,000 values"):
        code_identity(agent)


def test_what_is_no_code_is_refused() -> None:
    with pytest.raises(UsageError, match="no Python function or class"):
        code_identity(3)
