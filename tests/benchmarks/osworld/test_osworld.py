"""osworld: task files, recorded results, what earns nothing, and a live run of a stand-in for the authors' program."""

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mesocosm.benchmarks.builtin.osworld import live
from mesocosm.benchmarks.builtin.osworld.tasks import faults
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.benchmarks.requirements import missing
from mesocosm.core.failure import Incompatible, InvalidInput, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Benchmark
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import Store, open_store

TASK = {
    "id": "t1",
    "snapshot": "os",
    "instruction": "Rename the file.",
    "config": [{"type": "open", "parameters": {"path": "/x"}}],
    "related_apps": ["os"],
    "evaluator": {"func": "check", "result": {"type": "vm_file"}, "expected": {}},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


def ref(parameters: dict[str, Any], output: Path | None = None) -> BenchmarkRef:
    known = read_catalogue().find("OSWorld")
    (settings,) = settle([known.descriptor], parameters, [known.descriptor])
    return reference(known, settings.parameters, output)


def opened(**parameters: Any) -> Benchmark:
    return open_benchmark(ref(parameters))


async def played(store: Store, count: int | None = None, output: Path | None = None, **parameters: Any) -> Run:
    model = ModelSettings("builtin/random")
    return await session.run(
        RunSpec(ref(parameters, output), model, AgentSettings("program"), Selection(None, count)), store
    )


def numbers(run: Run) -> tuple[float | None, dict[str, int]]:
    assert run.primary is not None
    return run.primary.value, run.primary.missing


def written(tmp_path: Path, document: Any) -> str:
    path = tmp_path / "osworld-results.json"
    path.write_text(json.dumps(document))
    return str(path)


def filed(root: Path, results: dict[str, str | None]) -> str:
    for name, text in results.items():
        folder = root / "pyautogui" / "screenshot" / "model" / name
        folder.mkdir(parents=True)
        (folder / "traj.jsonl").touch()
        if text is not None:
            (folder / "result.txt").write_text(text)
    return str(root)


def tasks(root: Path, *names: str, **changes: Any) -> str:
    for name in names:
        file = root / "examples" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**TASK, "id": file.stem, **changes}))
    return str(root)


async def test_a_folder_of_results_is_scored_task_by_task(store: Store, tmp_path: Path) -> None:
    root = filed(tmp_path / "r", {"os/a": "1.0\n", "os/b": "0.0", "chrome/c": "0.5", "chrome/d": None, "vlc/e": "??"})
    run = await played(store, results_path=root)
    assert numbers(run) == (0.5, {"value_missing": 1, "value_unusable": 1})
    parts = {metric.name: metric.value for metric in run.metrics}
    assert (parts["success_rate_os"], parts["success_rate_chrome"], parts["success_rate_vlc"]) == (0.5, 0.5, None)
    assert [episode.task_id for episode in store.episodes.list(run.id).items] == [
        *("chrome/c", "chrome/d", "os/a", "os/b", "vlc/e")
    ]


@pytest.mark.parametrize(
    "document",
    [
        {
            "results": [
                {"task_id": "a", "domain": "os", "score": 1.0},
                {"task_id": "b", "domain": "os", "success": False},
            ]
        },
        {"tasks": {"os": {"a": 1, "b": 0}}, "overall_success_rate": 0.9},
        {"os": {"a": {"result": 1.0}, "b": 0.0}},
        [{"id": "a", "domain": "os", "passed": True}, {"id": "b", "domain": "os", "reward": 0}],
    ],
)
async def test_results_files_of_every_known_shape(store: Store, tmp_path: Path, document: Any) -> None:
    assert numbers(await played(store, results_path=written(tmp_path, document))) == (0.5, {})


@pytest.mark.parametrize(
    "document",
    [
        {"dry_run": True, "results": [{"task_id": "a", "score": 1.0}]},
        {"results": [{"task_id": "a", "score": 1.0, "dry_run": True}]},
        {"mode": "dry-run", "overall_success_rate": 1.0, "tasks": {"os": {"a": 1}}},
        {"os": {"a": {"score": 1.0, "status": "dry_run"}}},
    ],
)
async def test_a_dry_run_never_counts(store: Store, tmp_path: Path, document: Any) -> None:
    run = await played(store, results_path=written(tmp_path, document))
    assert numbers(run) == (None, {"unverified": 1})


@pytest.mark.parametrize("score", [1.5, -1, "1", None, [1], float("nan"), {"score": 1}])
async def test_a_score_that_is_none_is_missing(store: Store, tmp_path: Path, score: Any) -> None:
    run = await played(store, results_path=written(tmp_path, [{"id": "a", "score": score}]))
    value, lacking = numbers(run)
    assert value is None
    assert sum(lacking.values()) == 1


async def test_an_error_of_a_task_is_told_and_not_scored(store: Store, tmp_path: Path) -> None:
    document = [{"id": "a", "score": 1.0, "error": "the machine died"}, {"id": "b", "score": 1.0}]
    assert numbers(await played(store, results_path=written(tmp_path, document))) == (1.0, {"program_failed": 1})


@pytest.mark.parametrize("document", [{"overall_success_rate": 1.0, "total_tasks": 369}, [], {}, "1.0", [{"score": 1}]])
def test_a_claim_without_single_tasks_is_no_result(tmp_path: Path, document: Any) -> None:
    with pytest.raises(UsageError, match="no results of single tasks"):
        opened(results_path=written(tmp_path, document)).count(Selection())


async def test_tasks_without_a_result_stay_in_the_count(store: Store, tmp_path: Path) -> None:
    known = tasks(tmp_path / "t", "os/a", "os/b", "chrome/c")
    root = filed(tmp_path / "r", {"os/a": "1", "gimp/z": "1"})
    run = await played(store, results_path=root, tasks_path=known)
    assert numbers(run) == (1.0, {"value_missing": 2})


async def test_domain_task_and_number_choose_tasks(store: Store, tmp_path: Path) -> None:
    root = filed(tmp_path / "r", {"os/a": "1", "os/b": "0", "chrome/c": "1"})
    assert opened(results_path=root, domain="os").count(Selection()) == 2
    assert opened(results_path=root, domain="all").count(Selection()) == 3
    assert numbers(await played(store, results_path=root, task_id="c")) == (1.0, {})
    assert (await played(store, count=2, results_path=root)).counts.planned == 2


def test_a_task_file_as_it_should_be_has_no_faults() -> None:
    assert list(faults(TASK)) == []
    assert list(faults({**TASK, "evaluator": {"func": "infeasible"}})) == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"id": ""}, "id"),
        ({"instruction": None}, "instruction"),
        ({"snapshot": 3}, "snapshot"),
        ({"config": {}}, "config"),
        ({"config": [{"parameters": {}}]}, "config[0]"),
        ({"config": [{"type": "open", "parameters": 1}]}, "config[0].parameters"),
        ({"related_apps": "os"}, "related_apps"),
        ({"evaluator": None}, "evaluator"),
        ({"evaluator": {"func": []}}, "evaluator.func"),
        ({"evaluator": {"func": "check"}}, "evaluator.result"),
        ({"evaluator": {"func": ["a", "b"], "result": [{}], "conj": "and"}}, "evaluator.result"),
        ({"evaluator": {"func": ["a", "b"], "result": [{}, {}], "conj": "xor"}}, "evaluator.conj"),
    ],
)
def test_what_is_wrong_with_a_task_file_is_named(change: dict[str, Any], path: str) -> None:
    assert path in [problem.path for problem in faults({**TASK, **change})]


def test_all_broken_task_files_are_told_at_once(tmp_path: Path) -> None:
    root = tasks(tmp_path / "t", "os/a", "os/b", evaluator=None)
    (tmp_path / "t/examples/os/c.json").write_text("{")
    with pytest.raises(InvalidInput) as caught:
        opened(tasks_path=root)
    assert len(caught.value.problems) == 3


def test_what_a_live_run_needs_is_named_and_recorded_results_need_nothing(tmp_path: Path) -> None:
    known = read_catalogue().find("osworld")
    (settings,) = settle([known.descriptor], {}, [known.descriptor])
    told = " ".join(missing(known, settings.parameters, {"PATH": str(tmp_path)}))
    assert "osworld_path" in told
    assert "docker is not installed" in told
    assert missing(known, {**settings.parameters, "results_path": "x"}, {"PATH": str(tmp_path)}) == []


async def test_a_live_run_without_its_needs_says_all_of_them(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Incompatible) as caught:
        await played(store)
    assert len(caught.value.missing) >= 2


STAND_IN = """
import argparse, json, pathlib, sys
parser = argparse.ArgumentParser()
for name in ("result_dir", "test_all_meta_path", "test_config_base_dir", "model", "max_steps", "action_space"):
    parser.add_argument("--" + name, required=True)
arguments, _ = parser.parse_known_args()
for domain, ids in json.load(open(arguments.test_all_meta_path)).items():
    for task in ids:
        assert (pathlib.Path(arguments.test_config_base_dir) / "examples" / domain / (task + ".json")).is_file()
        folder = pathlib.Path(arguments.result_dir, arguments.action_space, "screenshot", arguments.model, domain, task)
        folder.mkdir(parents=True)
        (folder / "traj.jsonl").touch()
        if task != "b":
            (folder / "result.txt").write_text("1.0")
"""


def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    tasks(root / "evaluation_examples", "os/a", "os/b", "chrome/c")
    (root / "run_multienv.py").write_text(dedent(STAND_IN))
    return root


def live_words(tmp_path: Path, *more: str) -> list[str]:
    output = tmp_path / "output"
    output.mkdir()
    fixed = {"model": "m", "max-steps": "15", "action-space": "pyautogui"}
    words = [word for name, value in fixed.items() for word in (f"--{name}", value)]
    return ["--checkout", str(checkout(tmp_path)), "--output", str(output), *words, *more]


def lines(tmp_path: Path) -> list[Any]:
    return [json.loads(line) for line in (tmp_path / "output" / "items.jsonl").read_text().splitlines()]


def test_a_live_run_writes_one_line_for_every_task(tmp_path: Path) -> None:
    assert live.main(live_words(tmp_path)) == 0
    assert [(line["id"], line.get("score")) for line in lines(tmp_path)] == [
        ("chrome/c", 1.0),
        ("os/a", 1.0),
        ("os/b", None),
    ]
    assert lines(tmp_path)[1]["input"]["instruction"] == "Rename the file."


def test_fewer_tasks_are_taken_from_every_domain(tmp_path: Path) -> None:
    assert live.main(live_words(tmp_path, "--max-tasks", "2")) == 0
    assert [line["id"] for line in lines(tmp_path)] == ["chrome/c", "os/a"]


def test_a_dry_live_run_does_nothing_and_has_no_score(tmp_path: Path) -> None:
    assert live.main(live_words(tmp_path, "--dry-run")) == 0
    assert all("score" not in line and "dry run" in line["error"] for line in lines(tmp_path))


def test_a_program_that_fails_fails_the_live_run(tmp_path: Path) -> None:
    words = live_words(tmp_path)
    (tmp_path / "checkout" / "run_multienv.py").write_text("raise SystemExit(7)")
    assert live.main(words) == 7


async def test_a_live_run_is_recorded_task_by_task(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What this machine lacks is another test's matter; here the program is a stand-in that needs none of it.
    monkeypatch.setattr("mesocosm.benchmarks.command.lacking", lambda setup: [])
    run = await played(store, osworld_path=str(checkout(tmp_path)), output=tmp_path / "out")
    assert numbers(run) == (1.0, {"value_missing": 1})
    assert {metric.name: metric.value for metric in run.metrics}["success_rate_chrome"] == 1.0
    assert run.counts.planned == 4
