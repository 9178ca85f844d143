"""Functions that nobody trusts: which tests they pass."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes import functions
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.functions import Submission, check
from mesocosm.sandboxes.programs import Programs

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)

TWICE = "def twice(n):\n    return 2 * n"
OPAQUE = "a value that is no plain data"


async def reasons(
    *programs: str, tests: Sequence[str | Mapping[str, Any]], names: Sequence[str] = ("twice",), setup: str = ""
) -> list[str]:
    coded = [{"code": test} if isinstance(test, str) else test for test in tests]
    return await check(Submission(programs, coded, names, setup), Programs(), cpu_seconds=1, seconds=20)


async def test_each_test_has_its_own_result() -> None:
    first, second, third = await reasons(
        TWICE, tests=["assert twice(2) == 4", "assert twice(2) == 5, 'no'", "twice(2, 3)"]
    )
    assert (first, second) == ("", "AssertionError: no")
    assert third.startswith("TypeError: twice() takes 1 positional argument")


async def test_values_are_compared_with_what_is_expected() -> None:
    tests: list[Mapping[str, Any]] = [
        {"call": "twice", "args": [[1]], "kwargs": {}, "expected": [1, 1]},
        {"call": "twice", "args": [], "kwargs": {"n": 2}, "expected": 5},
    ]
    assert await reasons(TWICE, tests=tests) == ["", "AssertionError: twice gave 4, expected 5"]


async def test_the_first_program_that_compiles_counts() -> None:
    assert await reasons("twice(", TWICE, "def twice(n): return 0", tests=["assert twice(1) == 2"]) == [""]


async def test_the_fault_of_the_first_is_told_where_none_compiles() -> None:
    (reason,) = await reasons("twice(", "\0", tests=["assert twice(1) == 2"])
    assert "'(' was never closed" in reason


async def test_the_setup_holds_helpers_and_a_stub_that_is_not_called() -> None:
    setup = "def half(n):\n    return n // 2\n\ndef twice(n):\n    return n + n"
    wrong = "def twice(n):\n    return 9\n\ndef half(n):\n    return n"
    assert await reasons(TWICE, tests=["assert half(twice(3)) == 3"], setup=setup) == [""]
    assert await reasons(wrong, tests=["assert half(twice(3)) == 3"], setup=setup) == [
        "a test fails: half(twice(3)) is 4, expected 3"
    ]


async def test_the_setup_may_call_the_function() -> None:
    assert await reasons(TWICE, tests=["assert found == 6"], setup="found = twice(3)") == [""]


async def test_every_test_starts_from_the_setup() -> None:
    tests = ["seen.append(twice(1))", "assert not seen"]
    assert await reasons(TWICE, tests=tests, setup="seen = []") == ["", ""]


@pytest.mark.parametrize("program", ["def thrice(n): return 3 * n", "import os\ndef twice(n): os._exit(0)"])
async def test_no_test_takes_a_missing_function_for_one_that_raises(program: str) -> None:
    test = "try:\n    twice(-1)\nexcept Exception:\n    pass\nelse:\n    assert False"
    assert await reasons("def twice(n): raise ValueError", tests=[test]) == [""]
    (reason,) = await reasons(program, tests=[test])
    assert reason in (
        "the program defines no twice",
        "the program ended itself, with exit code 0",
    )


@pytest.mark.parametrize(
    ("program", "test", "said"),
    [
        (
            "def twice(n):\n    while True: pass",
            "assert twice(1) == 2",
            "the program used up its 1 s of processor time",
        ),
        ("def twice(n): return b'x' * (5 << 20)", "assert twice(1) == 2", "a value is larger than 8 MiB"),
        ("import sys\ndef twice(n): sys.exit(3)", "assert twice(1) == 2", "SystemExit: 3"),
        ("def twice(n): raise NotImplementedError", "assert twice(1) == 2", "NotImplementedError"),
        ("I cannot\ndo it", "assert twice(1) == 2", "SyntaxError: invalid syntax in `I cannot`"),
        (TWICE, "assert twice(1) is None", "a test fails: twice(1) is 2, expected None"),
        (TWICE, "assert twice(1) < 2", "a test fails: twice(1) is 2, expected less than 2"),
        (TWICE, "assert 1 < twice(1) < 2", "a test fails: 1 is another value"),
        (TWICE, "assert not twice(1)", "a test fails: not twice(1) does not hold"),
        (TWICE, "assert twice('a' * 90) == 1", f"a test fails: twice('a' * 90) is '{'a' * 78}…, expected 1"),
        (TWICE, "def check(f):\n    assert f(2) == 5\ncheck(twice)", "a test fails: f(2) is 4, expected 5"),
        ("def twice(n): return object()", "assert twice(1) == 2", f"a test fails: twice(1) is {OPAQUE}, expected 2"),
    ],
)
async def test_the_reason_says_what_happened(program: str, test: str, said: str) -> None:
    assert await reasons(program, tests=[test]) == [said]


async def test_a_function_that_is_not_there_fails_the_tests_that_call_it_alone() -> None:
    found = await reasons(TWICE, tests=["assert twice(1) == 2", "assert half(2) == 1"], names=("twice", "half"))
    assert found == ["", "the program defines no half"]


async def test_a_program_that_does_not_start_fails_every_test() -> None:
    found = await reasons("import nothing_of_this_name", tests=["assert twice(1) == 2"] * 2)
    assert len(found) == 2
    assert all("nothing_of_this_name" in reason for reason in found)


async def test_a_checker_that_says_nothing_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_CHECKER", 'print(\'ready\')\nprint(\'{"results": [""], "token": ""}\')')
    (reason,) = await reasons(TWICE, tests=["assert twice(1) == 2"])
    assert reason.startswith("no verdict: the checker ended with ok")


async def test_a_checker_that_does_not_start_is_nobodys_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_CHECKER", "raise ImportError('no ctypes')")
    with pytest.raises(EpisodeError, match=r"(?s)did not start: .*no ctypes") as caught:
        await reasons(TWICE, tests=["assert twice(1) == 2"])
    assert caught.value.cause is Cause.SANDBOX_FAILED
