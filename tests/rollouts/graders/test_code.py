"""Programs that models wrote: what earns the reward, and what tries to."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mesocosm.rollouts.graders.answer import MissingLabel
from mesocosm.rollouts.graders.code import CodeConfig, CodeRule
from mesocosm.rollouts.graders.ready import GraderVerdict
from mesocosm.rollouts.graders.tests_of import read_tests
from mesocosm.sandboxes import bubblewrap
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)

RIGHT = "def add(a, b):\n    return a + b\n"
TESTS = "assert add(1, 2) == 3\nassert add(-1, 1) == 0\nassert add('a', 'b') == 'ab'\nassert add([1], [2]) == [1, 2]"


async def graded(reply: str, label: str | None = TESTS, metadata: Any = None, **options: Any) -> GraderVerdict:
    return await CodeRule(CodeConfig(**options)).grade(reply, label, metadata)


@pytest.mark.parametrize(
    "reply", [RIGHT, f"Here it is:\n```python\n{RIGHT}```\nDone.", f"```\nfirst try\n```\n\n~~~py\n{RIGHT}~~~"]
)
async def test_a_program_that_passes_its_tests_earns_everything(reply: str) -> None:
    verdict = await graded(reply)
    assert (verdict.value, dict(verdict.scores)) == (1.0, {"tests_passed": 1.0})


async def test_some_tests_are_no_reward_unless_shares_are() -> None:
    half = "def add(a, b):\n    return int(a) + int(b)"
    verdict = await graded(half)
    assert (verdict.value, verdict.scores["tests_passed"]) == (0.0, 0.5)
    assert verdict.explanation.startswith("2 of 4 passed: assert add('a', 'b') == 'ab': ValueError")
    assert (await graded(half, reward="share")).value == 0.5


@pytest.mark.parametrize(
    "tests",
    [
        "def check(candidate):\n    assert candidate(1, 2) == 3",
        "import math\ncases = [(1, 2, 3)]\nfor a, b, c in cases:\n    assert add(a, b) == c",
        json.dumps(["assert add(1, 2) == 3", "assert add(2, 2) == 4"]),
        json.dumps([{"args": [1, 2], "expected": 3}, {"args": [1], "kwargs": {"b": 2}, "expected": 3}]),
        "try:\n    add(1)\nexcept TypeError:\n    pass\nelse:\n    assert False",
    ],
)
async def test_forms_of_tests(tests: str) -> None:
    assert (await graded(RIGHT, tests, entry_point="add")).value == 1.0
    assert (await graded("def add(a=0, b=0):\n    return 99", tests, entry_point="add")).value == 0.0


async def test_tests_and_function_from_metadata() -> None:
    held = {"tests": [{"args": [1, 2], "expected": 3}], "name": "add"}
    assert (await graded(RIGHT, None, held, tests_from="tests", entry_point_from="name")).value == 1.0


async def test_a_tuple_is_the_list_that_json_makes_of_it() -> None:
    tests = json.dumps([{"args": [], "expected": [1, 2]}])
    assert (await graded("def f():\n    return 1, 2", tests, entry_point="f")).value == 1.0


async def test_a_program_that_ends_is_no_exception_of_its_function() -> None:
    tests = "try:\n    f(-1)\nexcept Exception:\n    pass\nelse:\n    assert False"
    assert (await graded("def f(x):\n    raise ValueError", tests)).value == 1.0
    assert (await graded("import os\ndef f(x):\n    os._exit(0)", tests)).value == 0.0


async def test_whole_programs_are_talked_to() -> None:
    talk = json.dumps([{"stdin": "2 3\n", "stdout": "5\n"}, {"stdin": "4 4\n", "stdout": "8"}])
    assert (await graded("a, b = map(int, input().split())\nprint(a + b)", talk)).value == 1.0
    assert (await graded("print(5)", talk)).scores["tests_passed"] == 0.5
    assert (await graded("print(8)\nraise SystemExit(1)", talk)).value == 0.0


CHEATS = {
    "says OK": "print('OK')\nprint('4 passed')",
    "exits well": "import sys\nsys.exit(0)",
    "leaves at once": "import os\nos._exit(0)",
    "equal to everything": (
        "class Any:\n    def __eq__(self, other):\n        return True\n    def __hash__(self):\n        return 0\n"
        "def add(a, b):\n    return Any()"
    ),
    "equal to everything as a text": (
        "class Any(str):\n    def __eq__(self, other):\n        return True\n    __hash__ = str.__hash__\n"
        "def add(a, b):\n    return Any('x')"
    ),
    "patches the runner": (
        "import __main__\n__main__.check = lambda *a: None\n__main__.results = lambda item, answer: [''] * 4\n"
        "def add(a, b):\n    return None"
    ),
    "patches built-ins": "import builtins\nbuiltins.AssertionError = StopIteration\ndef add(a, b):\n    return None",
    "patches what is encoded": (
        "import __main__\n__main__.encode = lambda value: {'opaque': 0}\ndef add(a, b):\n    return None"
    ),
    "raises an end of loops": "def add(a, b):\n    raise StopIteration",
    "writes verdicts": (
        "import os, json\n"
        "for number in range(0, 64):\n"
        "    try:\n"
        "        os.write(number, json.dumps({'token': '', 'results': ['', '', '', '']}).encode() + b'\\n')\n"
        "    except OSError:\n"
        "        pass\n"
        "def add(a, b):\n    return None"
    ),
    "looks for the tests": (
        "import os\n"
        "def add(a, b):\n"
        "    with open(f'/proc/{os.getppid()}/mem', 'rb') as memory:\n"
        "        return memory.read(1)"
    ),
    "kills its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\ndef add(a, b):\n    return None",
    "reads callers": (
        "import sys\n"
        "def add(a, b):\n"
        "    frame = sys._getframe()\n"
        "    while frame:\n"
        "        if 'expected' in frame.f_locals:\n"
        "            return frame.f_locals['expected']\n"
        "        frame = frame.f_back\n"
    ),
    "defines the tests": "def check(candidate):\n    pass\nassert_ = None\ndef add(a, b):\n    return None",
    "never ends": "def add(a, b):\n    while True:\n        pass",
    "never starts": "while True:\n    pass",
    "takes all memory": "def add(a, b):\n    return [0] * 10**10",
    "floods": "def add(a, b):\n    return 'x' * 50_000_000",
    "forks": "import os\nfor _ in range(100):\n    os.fork()\ndef add(a, b):\n    return None",
    "is no program": "The answer is add.",
    "is another function": "def sub(a, b):\n    return a + b",
}


@pytest.mark.parametrize("cheat", CHEATS)
async def test_a_cheat_earns_nothing(cheat: str) -> None:
    verdict = await graded(CHEATS[cheat], seconds=1, memory_mb=256)
    assert verdict.value == 0.0
    assert verdict.scores["tests_passed"] == 0.0


async def test_a_program_reaches_no_files_and_no_network(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("42")
    with ModelServer() as server:
        program = (
            "import os, socket\n"
            "def has(path):\n    return os.path.exists(path)\n"
            "def reaches(port):\n"
            "    with socket.socket() as it:\n        return it.connect_ex(('127.0.0.1', port)) == 0\n"
        )
        tests = f"assert not has({str(tmp_path / 'secret')!r})\nassert not reaches({server.port})\nassert has('/usr')"
        assert (await graded(program, tests)).value == 1.0


@pytest.mark.parametrize(
    "tests",
    [
        *(None, "", "   ", "assert (", "x = 1", "assert True", "assert len('x') == 1", "[", "[1, 2]"),
        '[{"stdin": "", "stdout": ""}]',
        '[{"args": [1], "expected": 1}]',
        "def check(candidate):\n    pass",
    ],
)
async def test_tests_that_any_program_would_pass_are_the_rows_fault(tests: str | None) -> None:
    with pytest.raises(MissingLabel):
        await graded(RIGHT, tests)


async def test_a_row_that_does_not_name_its_function_is_at_fault() -> None:
    with pytest.raises(MissingLabel, match="should name the function"):
        await graded(RIGHT, TESTS, {"name": "no name"}, entry_point_from="name")


async def test_where_nothing_is_confined_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever is imported now has the real one by its name, and keeps it.
    import_module("mesocosm.sandboxes.programs")
    monkeypatch.setattr(bubblewrap, "available", lambda: bubblewrap.Available("there is no bubblewrap"))
    with pytest.raises(RuntimeError, match="unsafe = true"):
        await graded(RIGHT)
    assert (await graded(RIGHT, unsafe=True)).value == 1.0


def test_every_assertion_is_a_test_of_its_own() -> None:
    found = read_tests(
        "import math\n\ndef close(a, b):\n    return a - b < 1\n\nassert close(f(1), 2)\nassert f(2) == 3", ""
    )
    assert len(found.calls) == 2
    assert found.names == ("f",)
    assert "def close" in found.setup
