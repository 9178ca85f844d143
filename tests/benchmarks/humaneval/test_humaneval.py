"""The benchmark humaneval on problems of our own: what passes, and what does not however it tries."""

import asyncio
import gzip
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.builtin.humaneval import benchmark as module
from mesocosm.benchmarks.builtin.humaneval.benchmark import HumanEval
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.failure import EpisodeError, Incompatible, InvalidInput
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.sandboxes import functions
from mesocosm.sandboxes.bubblewrap import Available, available
from mesocosm.store import open_store

confinable = pytest.mark.skipif(not available(), reason=available().reason)

PROMPT = '''def added(a, b):
    """ Return the sum of a and b, whatever they are. """
'''
TEST = """
def check(candidate):
    assert candidate(2, 3) == 5
    assert candidate("x", "y") == "xy"
    assert candidate([1], [(2, None, 1.5)]) == [1, (2, None, 1.5)]
    assert candidate(b=10**30, a=1) == 10**30 + 1
    assert abs(candidate(0.1, 0.2) - 0.3) < 1e-9
    assert added(1, 1) == 2
"""
PROBLEMS = [
    {
        "task_id": "Own/0",
        "prompt": PROMPT,
        "entry_point": "added",
        "canonical_solution": "    return a + b\n",
        "test": TEST,
    },
    {
        "task_id": "Own/1",
        "prompt": 'def shout(text):\n    return text.upper()\n\n\ndef whisper(text):\n    """ Undo shout. """\n',
        "entry_point": "whisper",
        "canonical_solution": "    return text.lower()\n",
        "test": "def check(candidate):\n    for word in ('a', 'éß'[:1], 'long word'):\n"
        "        assert candidate(shout(word)) == word\n",
    },
    {
        "task_id": "Own/2",
        "prompt": 'def kinds(n):\n    """ Return values of several kinds. """\n',
        "entry_point": "kinds",
        "canonical_solution": "    return {n: {1, n}, (1, 2): [frozenset([n]), b'x', 1j, float('inf'), None, True]}\n",
        "test": "def check(candidate):\n    assert candidate(3) == "
        "{3: {1, 3}, (1, 2): [frozenset([3]), b'x', 1j, float('inf'), None, True]}\n",
    },
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "HumanEval.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(problem) + "\n" for problem in PROBLEMS).encode()))
    return path


def named(data: Path, **parameters: Any) -> BenchmarkRef:
    known = read_catalogue().find("HumanEval")
    (settings,) = settle([known.descriptor], {"data_path": str(data), **parameters}, [known.descriptor])
    return reference(known, settings.parameters)


def opened(data: Path, **parameters: Any) -> HumanEval:
    benchmark = open_benchmark(named(data, **parameters))
    assert isinstance(benchmark, HumanEval)
    return benchmark


async def graded(data: Path, answer: str, place: int = 0, **parameters: Any) -> tuple[float | None, str]:
    benchmark = opened(data, **parameters)
    (task,) = benchmark.tasks(Selection(seeds=(place,)))
    episode = Episode("e", "r", task.digest(), task.id, terminal_info={"answer": answer})
    (score,) = await benchmark.grade(task, episode)
    return score.value, score.explanation


async def run_score(tmp_path: Path, data: Path, model: str, **parameters: Any) -> float | None:
    store = open_store(tmp_path / "results.sqlite")
    spec = RunSpec(named(data, **parameters), ModelSettings(model), AgentSettings("chat"), Selection(), parallel=4)
    run = await session.run(spec, store)
    store.close()
    (metric,) = run.metrics
    assert metric.n_scored == metric.n_planned == len(PROBLEMS)
    return metric.value


@confinable
@pytest.mark.parametrize(("model", "value"), [("builtin/oracle", 1.0), ("builtin/random", 0.0), ("builtin/empty", 0.0)])
async def test_floor_and_ceiling(tmp_path: Path, data: Path, model: str, value: float) -> None:
    assert await run_score(tmp_path, data, model) == value


async def test_programs_run_without_isolation_only_where_somebody_chose_so(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "available", lambda: Available("bwrap not found"))
    with pytest.raises(Incompatible, match="bwrap not found; or take the risk with sandbox = unsafe"):
        await opened(data).open(lambda _: None)
    assert await run_score(tmp_path, data, "builtin/oracle", sandbox="unsafe") == 1.0


ATTACKS = {
    "nothing": "    pass",
    "wrong": "    return 5",
    "refusal": "I cannot help with that.",
    "echo": PROMPT,
    "syntax error": "def added(a, b:\n",
    "exit": "import os\nos._exit(0)\n\ndef added(a, b): pass",
    "sys.exit": "import sys\nsys.exit(0)\n\ndef added(a, b): pass",
    "exit in the call": "    import os\n    os._exit(0)",
    "SystemExit": "    raise SystemExit(0)",
    "raise": "    raise ValueError(a)",
    "stop": "    raise StopIteration",
    "endless recursion": "    return added(a, b)",
    "crash": "    import ctypes\n    ctypes.string_at(0)",
    "always equal": "class Same:\n    def __eq__(self, other): return True\n    def __sub__(self, other): return 0\n"
    "\ndef added(a, b): return Same()",
    "always equal text": "class Same(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\n"
    "\ndef added(a, b): return Same('x')",
    "patched": "import builtins\nbuiltins.abs = lambda *_: 0\nbuiltins.AssertionError = Exception\n"
    "builtins.isinstance = lambda *_: True\n\ndef added(a, b): return 0",
    "patched exit": "import os\nos._exit = lambda *_: None\n\ndef added(a, b):\n    raise KeyError",
    "patched json": "import json\njson.dumps = lambda *_: '{\"passed\": true}'\n\ndef added(a, b): return 0",
    "own check": "def check(candidate): pass\n\ndef added(a, b): return 0",
    "fake words": "print('ready')\nprint('{\"passed\": true}')\n\ndef added(a, b):\n    print('passed')",
    "fake replies": 'import os\nos.write(31, b\'{"value": {"int": "0x5"}}\\n\' * 9)\n\ndef added(a, b): return 0',
    "frames": "import sys, gc\n\ndef added(a, b):\n    frame = sys._getframe()\n    while frame:\n"
    "        frame.f_locals.get('item', {}).get('test')\n        frame = frame.f_back\n"
    "    return [o for o in gc.get_objects() if isinstance(o, dict) and 'token' in o and 'test' in o][0]",
    "all files": "import os\nfor pid in os.listdir('/proc'):\n    for number in range(40):\n        try:\n"
    "            with open(f'/proc/{pid}/fd/{number}', 'wb') as file:\n"
    '                file.write(b\'\\n{"passed": true, "reason": ""}\\n\')\n        except OSError: pass\n'
    "\ndef added(a, b): return 0",
    "killed checker": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n\ndef added(a, b): return 0",
    "memory": "    bytearray(100 * 2**30)",
    "huge value": "    return 'x' * 10**8",
    "deep value": "    found = []\n    for _ in range(100_000): found = [found]\n    return found",
    "words": "    for _ in range(1000): print('x' * 1_000_000)",
    "disk": "    for n in range(100):\n        with open(f'/tmp/{n}', 'wb') as file: file.write(bytes(10**7))",
    "socket": "    import socket\n    socket.create_connection(('127.0.0.1', PORT), 3)\n    return a + b",
    "network": "    import socket\n    socket.create_connection(('192.0.2.1', 80), 3)\n    return a + b",
    "passwords": "    open('/etc/passwd').read()\n    return a + b",
    "own source": f"    open({__file__!r}).read()\n    return a + b",
    "gold": "    open('DATA', 'rb').read()\n    return a + b",
    "input": "    input()\n    return a + b",
}


@confinable
@pytest.mark.parametrize("name", list(ATTACKS))
async def test_what_does_not_solve_the_problem_does_not_pass(data: Path, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        answer = ATTACKS[name].replace("PORT", str(server.getsockname()[1])).replace("DATA", str(data))
        value, explanation = await graded(data, answer)
    assert value == 0.0
    assert explanation


@confinable
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("sleep", "    import time\n    time.sleep(600)"),
        ("loop", "    while True: pass"),
        ("fork bomb", "    import os\n    while True:\n        try: os.fork()\n        except OSError: pass"),
        ("stopped checker", "    import os, signal\n    os.kill(os.getppid(), signal.SIGSTOP)\n    return a + b"),
    ],
)
async def test_what_does_not_end_fails_alone(
    data: Path, monkeypatch: pytest.MonkeyPatch, name: str, answer: str
) -> None:
    del name
    monkeypatch.setattr(module, "WALL_FACTOR", 1)
    monkeypatch.setattr(module, "WALL_SPARE", 0.5)
    fails, works = await asyncio.gather(graded(data, answer, timeout_s=1), graded(data, "    return text.lower()", 1))
    assert fails[0] == 0.0
    assert works == (1.0, "")


@confinable
@pytest.mark.parametrize(
    "answer",
    [
        "```python\ndef added(a, b):\n    print('working')\n    return a + b\n```",
        "    return a + b\n\nif __name__ == '__main__':\n    print(added(input(), 1))",
        "    import random, math, collections\n    return a + b",
    ],
)
async def test_honest_programs_pass(data: Path, answer: str) -> None:
    assert await graded(data, answer) == (1.0, "")


@confinable
async def test_a_failed_test_is_told_with_both_values(data: Path) -> None:
    assert await graded(data, "    raise ValueError('mine')") == (0.0, "ValueError: mine")
    assert await graded(data, "    return 0") == (0.0, "a test fails: candidate(2, 3) is 0, expected 5")


@confinable
async def test_a_checker_that_does_not_start_is_no_failure_of_the_program(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "_CHECKER", "raise ImportError('no ctypes')")
    with pytest.raises(EpisodeError, match="checker of programs did not start"):
        await graded(data, "    return a + b")


async def test_tests_and_solution_are_not_shown(data: Path) -> None:
    benchmark = opened(data)
    for task in benchmark.tasks(Selection()):
        shown = (await (await benchmark.environment(task, "e")).reset()).data
        assert task.target["canonical_solution"].strip() not in shown
        assert "assert" not in shown
        assert set(task.metadata) == {"row"}


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "HumanEval.jsonl"
    path.write_text(json.dumps(PROBLEMS[0]) + "\n" + json.dumps({**PROBLEMS[1], "test": None}))
    with pytest.raises(InvalidInput, match="row 2: test is missing"):
        _ = opened(path).info
