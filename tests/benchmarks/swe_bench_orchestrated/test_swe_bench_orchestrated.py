"""The benchmark swe_bench_orchestrated: its matrix, floor and ceiling, what is unverified, and what is never shown."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.benchmark import SweBench
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Instance
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import git
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Run, RunSpec, RunStatus, Selection
from mesocosm.core.task import Task
from mesocosm.engine import session
from mesocosm.sandboxes.bubblewrap import Available
from mesocosm.store import Store, open_store

EVERYTHING = Selection(None, None)


@pytest.fixture(autouse=True)
def no_agents_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def parameters(**given: Any) -> dict[str, Any]:
    known = read_catalogue().find("swe-bench-orchestrated")
    (settings,) = settle([known.descriptor], given, [known.descriptor])
    return dict(settings.parameters)


def opened(**given: Any) -> SweBench:
    given = {"providers": ["mesocosm"], **given}
    benchmark = open_benchmark(reference(read_catalogue().find("swe_bench_orchestrated"), parameters(**given)))
    assert isinstance(benchmark, SweBench)
    return benchmark


async def played(place: Path, model: str, count: int | None, **given: Any) -> tuple[Run, Store]:
    store = open_store(place / "results.sqlite")
    given = {"providers": ["mesocosm"], **given}
    ref = reference(read_catalogue().find("swe_bench_orchestrated"), parameters(**given))
    spec = RunSpec(ref, ModelSettings(model), AgentSettings("chat"), Selection(None, count), parallel=4)
    return await session.run(spec, store), store


def values(run: Run) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in run.metrics}


async def test_the_example_of_the_matrix_reaches_the_ceiling_without_docker(tmp_path: Path) -> None:
    given = {"matrix": True, "no_docker": True, "strict_capabilities": True}
    run, _ = await played(tmp_path, "builtin/oracle", 3, **given)
    found = values(run)
    assert run.counts.planned == 6
    assert found["resolved"] == found["patch_applies"] == found["delegation_success_rate"] == 1.0
    assert found["resolved:orchestrated"] == found["resolved:direct_shell"] == 1.0
    assert run.info["card"]["split"] == "sample"


async def test_every_sample_is_resolved_by_its_reference_and_by_nothing_else() -> None:
    benchmark = opened(execution_mode="direct_shell")
    harmless = "--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+solved\n"
    for task in benchmark.tasks(EVERYTHING):
        assert await scores(benchmark, task, task.target["gold"]["patch"]) == {"resolved": 1.0, "patch_applies": 1.0}
        assert await scores(benchmark, task, harmless) == {"resolved": 0.0, "patch_applies": 1.0}
    await benchmark.close()


@pytest.mark.parametrize("model", ["builtin/empty", "builtin/random"])
async def test_saying_nothing_and_random_calls_are_the_floor(model: str, tmp_path: Path) -> None:
    run, _ = await played(tmp_path, model, 2, matrix=True, max_steps=5)
    assert run.status is RunStatus.FINISHED
    assert values(run)["resolved"] == 0.0


async def scores(benchmark: SweBench, task: Task, patch: Any) -> dict[str, float | None]:
    info: Mapping[str, Any] = {"patch": patch}
    episode = Episode("e", "r", task.digest(), task.id, terminal_info=dict(info))
    found = {score.name: score.value for score in await benchmark.grade(task, episode)}
    return {name: found[name] for name in ("resolved", "patch_applies")}


@pytest.mark.parametrize(
    "patch", ["", None, 3, "diff", "I cannot help with that.", "x" * 300_000, "--- a\n+++ b\n" * 50]
)
async def test_what_is_no_patch_earns_nothing(patch: Any) -> None:
    benchmark = opened(execution_mode="direct_shell")
    task = next(benchmark.tasks(EVERYTHING))
    assert await scores(benchmark, task, patch) == {"resolved": 0.0, "patch_applies": 0.0}
    await benchmark.close()


@pytest.mark.parametrize("mode", ["orchestrated", "direct_shell"])
async def test_words_are_no_repair(mode: str) -> None:
    benchmark = opened(execution_mode=mode, max_steps=4)
    task = next(benchmark.tasks(EVERYTHING))
    patch = task.target["gold"]["patch"]
    finish = {"text": patch, "tool_calls": [{"name": "finish", "arguments": {"answer": patch}}]}
    actions: list[Any] = [patch, finish, benchmark.job(task).prompt, "resolved " * 1000, None, [], {"patch": patch}]
    for action in actions:
        world = await benchmark.environment(task, "episode")
        await world.reset()
        step = await world.step(action)
        while not (step.terminated or step.truncated):
            step = await world.step(action)
        await world.close()
        assert step.info["patch"] == ""
    await benchmark.close()


async def test_gold_data_is_in_nothing_that_is_shown() -> None:
    benchmark = opened(matrix=True)
    for task in benchmark.tasks(EVERYTHING):
        assert set(task.input) == {"mode", "provider", "repo", "base_commit", "problem_statement"}
        world = await benchmark.environment(task, "episode")
        shown = json.dumps((await world.reset()).data)
        if task.metadata["mode"] == "direct_shell":
            listed = {"text": "", "tool_calls": [{"name": "search", "arguments": {"text": "test_"}}]}
            shown += json.dumps((await world.step(listed)).observation.data)
        await world.close()
        gold = task.target["gold"]
        added = [line[1:].strip() for line in gold["patch"].splitlines() if line.startswith("+") and len(line) > 12]
        names = [name.rpartition(".")[2] for name in gold["failing"]]
        for secret in [*names, *(line for line in added if not line.startswith("++")), "FAIL_TO_PASS", "test_patch"]:
            assert secret not in shown
    await benchmark.close()


def published(folder: Path, instance: Instance, commit: str) -> Path:
    row = {
        "instance_id": instance.id,
        "repo": instance.repository,
        "base_commit": commit,
        "problem_statement": instance.problem,
        "hints_text": "the hint",
        "patch": instance.gold.patch,
        "test_patch": instance.gold.test_patch,
        "FAIL_TO_PASS": json.dumps(list(instance.gold.failing)),
        "PASS_TO_PASS": list(instance.gold.passing),
    }
    path = folder / "instances.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return path


async def copied(folder: Path, instance: Instance) -> str:
    place = folder / "repositories" / "own__double"
    place.mkdir(parents=True)
    for path, text in instance.files.items():
        (place / path).parent.mkdir(exist_ok=True)
        (place / path).write_text(text)
    who = {f"GIT_{role}_{what}": "a@a.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        assert (await git(words, place, who)).code == 0
    return (await git(["rev-parse", "HEAD"], place)).output.decode().strip()


async def test_without_an_evaluator_the_score_is_missing_and_applying_is_scored(
    tmp_path: Path, instance: Instance
) -> None:
    commit = await copied(tmp_path, instance)
    given = {"data_path": str(published(tmp_path, instance, commit)), "repos_path": str(tmp_path / "repositories")}
    run, store = await played(tmp_path, "builtin/oracle", None, variant="lite", no_docker=True, **given)
    found = {metric.name: metric for metric in run.metrics}
    assert (found["resolved"].value, found["resolved"].missing) == (None, {"unverified": 1})
    assert found["patch_applies"].value == 1.0
    score = next(score for score in store.episodes.list(run.id).items[0].scores if score.name == "resolved")
    assert "which no_docker forbids" in score.explanation
    assert run.info["card"]["split"] == "lite"


async def test_an_instance_of_a_file_with_a_test_command_is_evaluated(tmp_path: Path, instance: Instance) -> None:
    commit = await copied(tmp_path, instance)
    path = published(tmp_path, instance, commit)
    row = {**json.loads(path.read_text()), "test_command": instance.gold.test_command}
    path.write_text(json.dumps(row))
    run, _ = await played(
        tmp_path, "builtin/oracle", None, data_path=str(path), repos_path=str(tmp_path / "repositories")
    )
    assert values(run)["resolved"] == 1.0
    assert run.info["card"]["split"] == "jsonl"


async def test_a_repository_that_is_not_there_leaves_the_scores_missing(tmp_path: Path, instance: Instance) -> None:
    path = published(tmp_path, instance, "0" * 40)
    run, _ = await played(tmp_path, "builtin/oracle", None, data_path=str(path), repos_path=str(tmp_path))
    assert run.status is RunStatus.STOPPED
    assert run.metrics[0].missing == {"sandbox_failed": 1}


@pytest.mark.parametrize(
    "given",
    [
        {"no_baseline": False},
        {"allow_task_fallback": True},
        {"trace_dir": "traces"},
        {"orchestrator_model": "openai/x"},
        {"dataset": "jsonl"},
        {"repo_filter": "zebra"},
    ],
)
def test_what_is_not_done_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        _ = opened(**given).info


def test_parameters_of_other_tools_that_change_nothing_are_taken() -> None:
    assert opened(no_baseline=True, allow_task_fallback=False).count(Selection(None, 2)) == 2


def test_every_row_that_is_no_instance_is_named(tmp_path: Path) -> None:
    good = {"instance_id": "i", "repo": "a/b", "base_commit": "c", "problem_statement": "p", "patch": "d"}
    rows: list[dict[str, Any]] = [good, good, {**good, "repo": ""}, {**good, "base_commit": "--upload-pack=x"}]
    rows += [{**good, "FAIL_TO_PASS": "[1]"}, {**good, "FAIL_TO_PASS": "["}, {**good, "files": {"../x": ""}}]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InvalidInput, match="6 problems"):
        _ = opened(data_path=str(path)).info


def test_equal_seeds_draw_equal_instances_and_another_seed_others() -> None:
    drawn = [{task.cluster for task in opened(seed=seed).tasks(Selection(None, 3))} for seed in (0, 0, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0] not in drawn[2:]


AGENT = """
import json, pathlib
pathlib.Path("code_of.py").write_text("def double(number):\\n    return number + number\\n")
print(json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Edit", "input": {}}]}}))
print(json.dumps({"type": "result", "result": "solved"}))
"""


async def test_what_an_installed_agent_leaves_in_the_checkout_is_its_repair(
    tmp_path: Path, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "programs" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{AGENT}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    path = published(tmp_path, instance, await copied(tmp_path, instance))
    path.write_text(json.dumps({**json.loads(path.read_text()), "test_command": instance.gold.test_command}))
    given = {"data_path": str(path), "repos_path": str(tmp_path / "repositories"), "providers": ["claude-code"]}
    run, store = await played(tmp_path, "builtin/empty", None, execution_mode="direct_shell", **given)
    assert values(run)["resolved"] == 1.0
    assert store.episodes.list(run.id).items[0].terminal_info["capabilities"]["observed"] == ["code.edit"]


async def test_without_a_sandbox_there_is_no_shell_and_nothing_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "mesocosm.benchmarks.builtin.swe_bench_orchestrated.benchmark"
    monkeypatch.setattr(f"{module}.available", lambda: Available("bubblewrap is not here"))
    notices: list[str] = []
    await opened(strict_capabilities=False).open(notices.append)
    assert notices == ["resolved will be missing (unverified): bubblewrap is not here"]
    run, store = await played(tmp_path, "builtin/oracle", 1, strict_capabilities=False)
    found = {metric.name: metric for metric in run.metrics}
    assert found["resolved"].missing == {"unverified": 1}
    assert found["patch_applies"].value == 1.0
    evidence = store.episodes.list(run.id).items[0].terminal_info["capabilities"]
    assert "code.shell is required and not declared" in evidence["violations"]
