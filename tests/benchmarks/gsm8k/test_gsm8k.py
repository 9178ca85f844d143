"""The benchmark gsm8k on problems of our own."""

import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.failure import InvalidInput
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Benchmark
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store

PROBLEMS = [
    {"question": f"{n} boxes hold {n + 2} pens each. How many pens are there?", "answer": f"So.\n#### {n * (n + 2):,}"}
    for n in range(30, 50)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "test.jsonl"
    path.write_text("".join(json.dumps(problem) + "\n" for problem in PROBLEMS))
    return path


def named(data: Path, **parameters: Any) -> BenchmarkRef:
    known = read_catalogue().find("GSM8K")
    (settings,) = settle([known.descriptor], {"data_path": str(data), **parameters}, [known.descriptor])
    return reference(known, settings.parameters)


def opened(data: Path, **parameters: Any) -> Benchmark:
    return open_benchmark(named(data, **parameters))


async def score(tmp_path: Path, data: Path, model: str) -> float | None:
    store = open_store(tmp_path / "results.sqlite")
    run = await session.run(RunSpec(named(data), ModelSettings(model), AgentSettings("chat"), Selection()), store)
    store.close()
    (metric,) = run.metrics
    assert metric.n_scored == metric.n_planned == len(PROBLEMS)
    return metric.value


@pytest.mark.parametrize(("model", "value"), [("builtin/oracle", 1.0), ("builtin/random", 0.0), ("builtin/empty", 0.0)])
async def test_floor_and_ceiling(tmp_path: Path, data: Path, model: str, value: float) -> None:
    assert await score(tmp_path, data, model) == value


async def test_echo_and_lists_and_noise_earn_nothing(tmp_path: Path, data: Path) -> None:
    benchmark = opened(data)
    replies = []
    for task in benchmark.tasks(Selection()):
        environment = await benchmark.environment(task, "e")
        prompt = (await environment.reset()).data
        listed = " ".join(str(n) for n in range(3000))
        lines = "\n".join(f"A: {n}" for n in range(3000))
        noise = f"{task.target} " + "and more words " * 1000
        replies += [(task, reply) for reply in (prompt, task.input, listed, lines, noise, "A: " + listed)]
    table = tmp_path / "replies.jsonl"
    for kind in range(6):
        rows = [{"question": task.input, "completion": reply} for task, reply in replies[kind::6]]
        table.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert await score(tmp_path, data, f"replay/{table}") == 0.0


async def test_the_gold_answer_is_not_shown(data: Path) -> None:
    benchmark = opened(data)
    for task in benchmark.tasks(Selection()):
        shown = await (await benchmark.environment(task, "e")).reset()
        assert str(task.target) not in str(shown)
        assert str(task.target) not in str(task.metadata)


def test_equal_seeds_draw_equal_problems_and_others_draw_others(data: Path) -> None:
    drawn = [[task.input for task in opened(data, seed=seed).tasks(Selection(count=8))] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 8


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"question": "How many?", "answer": "eighteen"}, "row 1: its answer does not end in `####` and a number"),
        ({"question": "How many?"}, "row 1: answer is missing"),
        ({"question": 3, "answer": "#### 3"}, "row 1: question is 3, no text"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, row: dict[str, Any], problem: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(InvalidInput, match=problem):
        _ = opened(path).info
