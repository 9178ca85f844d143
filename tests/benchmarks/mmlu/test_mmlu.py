"""The benchmark mmlu on questions of our own, in every layout that is published."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Benchmark
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store

SUBJECTS = ("anatomy", "philosophy", "sociology", "virology")
QUESTIONS: list[dict[str, Any]] = [
    {
        "question": f'Which of these, "first", is {n}?',
        "subject": SUBJECTS[n % 4],
        "choices": [f"the number {(n // 4 + place) % 7}, say" for place in range(4)],
        "answer": n * 7 % 11 % 4,
    }
    for n in range(200)
]


def as_jsonl(folder: Path) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    return path


def as_parquet(folder: Path) -> Path:
    path = folder / "all" / "test-00000-of-00001.parquet"
    path.parent.mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(QUESTIONS), path)
    return folder


def as_csv(folder: Path) -> Path:
    path = folder / "questions.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.DictWriter(file, list(QUESTIONS[0]))
        table.writeheader()
        table.writerows(QUESTIONS)
    return path


def as_authors(folder: Path) -> Path:
    (folder / "test").mkdir()
    for subject in SUBJECTS:
        with (folder / "test" / f"{subject}_test.csv").open("w", newline="") as file:
            table = csv.writer(file)
            for row in QUESTIONS:
                if row["subject"] == subject:
                    table.writerow([row["question"], *row["choices"], "ABCD"[row["answer"]]])
    return folder


def named(data: Path, **parameters: Any) -> BenchmarkRef:
    known = read_catalogue().find("mmlu")
    (settings,) = settle([known.descriptor], {"data_path": str(data), **parameters}, [known.descriptor])
    return reference(known, settings.parameters)


def opened(data: Path, **parameters: Any) -> Benchmark:
    return open_benchmark(named(data, **parameters))


async def played(folder: Path, data: Path, model: str, **parameters: Any) -> Run:
    store = open_store(folder / "results.sqlite")
    run = await session.run(
        RunSpec(named(data, **parameters), ModelSettings(model), AgentSettings("chat"), Selection()), store
    )
    store.close()
    return run


def values(run: Run) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in run.metrics}


@pytest.mark.parametrize("layout", [as_jsonl, as_parquet, as_csv, as_authors])
def test_every_published_layout_gives_the_same_questions(tmp_path: Path, layout: Callable[[Path], Path]) -> None:
    tasks = list(opened(layout(tmp_path)).tasks(Selection()))
    found = sorted(
        (task.metadata["category"], task.input["question"], task.input["choices"], task.target) for task in tasks
    )
    assert found == sorted(
        (row["subject"], row["question"], row["choices"], "ABCD"[row["answer"]]) for row in QUESTIONS
    )
    assert len({task.id for task in tasks}) == len(QUESTIONS)


async def test_the_floor_is_chance_and_the_ceiling_is_one(tmp_path: Path) -> None:
    data = as_jsonl(tmp_path)
    assert values(await played(tmp_path, data, "builtin/oracle"))["score"] == 1.0
    assert values(await played(tmp_path, data, "builtin/empty"))["score"] == 0.0
    drawn = values(await played(tmp_path, data, "builtin/random"))["score"]
    # 200 fair guesses lie outside of this once in some two thousand times, and the draw is seeded.
    assert drawn is not None
    assert 0.15 < drawn < 0.36


async def test_areas_have_metrics_of_their_own(tmp_path: Path) -> None:
    run = await played(tmp_path, as_jsonl(tmp_path), "builtin/oracle", subjects=["anatomy", "virology"])
    counted = {metric.name: metric.n_scored for metric in run.metrics}
    assert counted == {"score": 100, "stem": 50, "humanities": 0, "social_sciences": 0, "other": 50}


async def test_spam_earns_no_more_than_chance(tmp_path: Path) -> None:
    data = as_jsonl(tmp_path)
    benchmark = opened(data)
    prompts = {}
    for task in benchmark.tasks(Selection()):
        prompts[task.id] = (await (await benchmark.environment(task, "e")).reset()).data
    kinds: dict[str, Callable[[str], str]] = {
        "echo": lambda prompt: prompt,
        "all": lambda _: "A B C D",
        "lines": lambda _: "\n".join(f"Answer: {letter}" for letter in "ABCD"),
        "article": lambda _: "A good question that deserves a thorough answer.",
        "refusal": lambda _: "I am sorry, I cannot help with that.",
        "options": lambda prompt: "\n".join(line for line in prompt.splitlines() if line[1:3] == ". "),
    }
    for name, spam in kinds.items():
        table = tmp_path / f"{name}.jsonl"
        rows = [{"task": task, "completion": spam(prompt)} for task, prompt in prompts.items()]
        table.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert values(await played(tmp_path, data, f"replay/{table}"))["score"] == 0.0, name


async def test_the_gold_letter_is_not_shown(tmp_path: Path) -> None:
    benchmark = opened(as_jsonl(tmp_path))
    shown = set()
    for task in benchmark.tasks(Selection()):
        prompt = (await (await benchmark.environment(task, "e")).reset()).data
        shown.add((prompt.count("A"), prompt.count("B"), prompt.count("C"), prompt.count("D")))
        assert set(task.metadata) == {"row", "category", "area"}
    # The letters stand in every prompt alike, whatever the answer is.
    assert len({counts[1:] for counts in shown}) == 1


def test_a_draw_takes_evenly_from_all_subjects_and_by_seed(tmp_path: Path) -> None:
    data = as_jsonl(tmp_path)
    drawn = [list(opened(data, seed=seed).tasks(Selection(count=20))) for seed in (1, 1, 2)]
    assert Counter(task.metadata["category"] for task in drawn[0]) == dict.fromkeys(SUBJECTS, 5)
    assert drawn[0] == drawn[1] != drawn[2]


def test_an_unknown_subject_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no subject 'alchemy'"):
        _ = opened(as_jsonl(tmp_path), subjects=["alchemy"]).info


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer": 4}, "row 1: answer is 4, neither a letter"),
        ({"answer": None}, "row 1: answer is None, neither a letter"),
        ({"answer": True}, "row 1: answer is True, neither a letter"),
        ({"choices": ["a", "b", "c"]}, "row 1: choices are .*no list of four texts"),
        ({"choices": "__import__('os').getcwd()"}, "row 1: choices are .*no list of four texts"),
        ({"question": None}, "row 1: question is missing"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(json.dumps({**QUESTIONS[0], **change}))
    with pytest.raises(InvalidInput, match=problem):
        _ = opened(path).info
