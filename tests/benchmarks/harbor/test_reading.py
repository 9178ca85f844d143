"""Reading task folders: what is known, what warns, what is refused."""

from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.harbor.documents import BAD, GOOD

from mesocosm.benchmarks.harbor.benchmark import HarborBenchmark, open_harbor
from mesocosm.benchmarks.harbor.config import read_config
from mesocosm.benchmarks.harbor.options import read_options
from mesocosm.benchmarks.harbor.reading import read_folder, read_folders
from mesocosm.benchmarks.harbor.variables import host_values, lacking, resolved
from mesocosm.core.failure import UsageError
from mesocosm.core.run import BenchmarkRef, Selection

TASKS = Path(__file__).parent / "tasks"


def made(folder: Path, config: str = "", **files: str) -> Path:
    """Make a task with these files; `__` in a name stands for a slash, `_` for a dot."""
    given = {"task_toml": config, "instruction_md": "Do it.\n", "tests__test_sh": "#!/bin/sh\n", **files}
    for name, text in given.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize("name", GOOD)
def test_good_files_are_read(name: str) -> None:
    read_config(GOOD[name], "task.toml")


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_by_name(name: str) -> None:
    with pytest.raises(UsageError, match=r"^my/task\.toml"):
        read_config(BAD[name], "my/task.toml")


def test_unknown_keys_warn_with_their_path() -> None:
    _, warnings = read_config(GOOD["unknown"], "t")
    assert warnings == [
        f"t: the key {name} is not known and has no effect" for name in ("nonsense", "environment.more", "steps[0].odd")
    ]


@pytest.mark.parametrize("name", sorted(GOOD.keys() - {"unknown"}))
def test_known_keys_do_not_warn(name: str) -> None:
    assert read_config(GOOD[name], "t")[1] == []


def test_variables_come_from_the_host() -> None:
    env, host = {"A": "${X}", "B": "${Y:-else}", "C": "plain", "D": "${Z}", "E": "${X:-x}"}, {"X": "of the host"}
    assert resolved(env, host) == {"A": "of the host", "B": "else", "C": "plain", "E": "of the host"}
    assert lacking(env, host) == ["Z"]
    assert host_values(env, host) == {"of the host"}


def test_marks_for_training_data_are_not_shown_to_agents(tmp_path: Path) -> None:
    text = "<!-- a canary GUID 1 -->\n# canary 2\n\nDo it.\n<!-- canary in the text -->\n"
    assert read_folder(made(tmp_path, instruction_md=text)).phases[0].instruction.startswith("Do it.\n<!-- canary")


@pytest.mark.parametrize(
    ("config", "files", "why"),
    [
        ('[environment]\nos = "windows"\n', {}, "windows"),
        ('[environment.tpu]\ntype = "v4"\ntopology = "2x2"\n', {}, "TPU"),
        ('[[environment.mcp_servers]]\nname = "db"\nurl = "http://x"\n', {}, "tool server db"),
        ("", {"trajectory_json": "{}"}, "trajectory.json"),
        ("", {"tests__.harborignore": "x"}, ".harborignore"),
        ('artifacts = [{ source = "/x", service = "db" }]\n', {}, "service db"),
        ('[[verifier.collect]]\ncommand = "x"\nservice = "db"\n', {}, "service db"),
    ],
)
def test_what_no_engine_gives_is_refused(tmp_path: Path, config: str, files: dict[str, str], why: str) -> None:
    folder = made(tmp_path, config)
    for name, text in files.items():
        (folder / name.replace("__", "/").replace("_", ".")).write_text(text)
    (problem,) = read_folder(folder).refused
    assert why in problem


def test_a_task_that_nothing_verifies_is_no_task(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "tests" / "test.sh").unlink()
    with pytest.raises(UsageError, match=r"test\.sh is missing"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda place: place / "nothing", "there is no folder"), (lambda place: place, "is no task and holds none")],
)
def test_no_tasks_are_a_wrong_path(tmp_path: Path, change: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_folders(change(tmp_path))


def test_a_separate_verifier_brings_its_tests_or_gets_them(tmp_path: Path) -> None:
    separate = '[verifier]\nenvironment_mode = "separate"\n'
    (fresh,) = read_folder(made(tmp_path / "fresh", separate)).phases
    (own,) = read_folder(made(tmp_path / "own", separate, tests__Dockerfile="FROM x\n")).phases
    (named,) = read_folder(made(tmp_path / "named", '[verifier.environment]\ndocker_image = "v"\n')).phases
    assert (fresh.separate is not None, fresh.bundled, fresh.own_image) == (True, None, False)
    assert own.bundled == (tmp_path / "own" / "tests").resolve()
    assert named.own_image


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    first = read_folder(made(tmp_path / "a")).digest
    assert read_folder(made(tmp_path / "b")).digest == first
    (tmp_path / "b" / "tests" / "more.py").write_text("x")
    assert read_folder(tmp_path / "b").digest != first
    (tmp_path / "a" / "tests" / "test.sh").chmod(0o755)
    assert read_folder(tmp_path / "a").digest != first


def test_each_folder_is_a_task_with_labels() -> None:
    benchmark = HarborBenchmark(TASKS, read_options({}))
    tasks = {task.id: task for task in benchmark.tasks(Selection())}
    assert len(tasks) == benchmark.count(Selection()) == 10
    assert tasks["python-fix"].labels == {"difficulty": "medium", "category": "debugging"}
    assert tasks["terminal-bench-1"].labels == {"difficulty": "easy", "category": "file-operations"}
    assert "Mend it" in tasks["python-fix"].input["instruction"]
    assert [task.id for task in benchmark.tasks(Selection(None, 2))] == ["artifacts", "file-answer"]


def test_the_agent_and_the_engine_are_part_of_the_experiment() -> None:
    digests = {
        open_harbor(BenchmarkRef("harbor", str(TASKS), options)).info.digest
        for options in ({}, {"agent": "oracle"}, {"agent": "nop"}, {"engine": "podman"}, {"turns": 5})
    }
    assert len(digests) == 5


@pytest.mark.parametrize("agent", ["oracle", "nop", "cheat:link"])
def test_agents_of_ours_that_ask_no_model_need_none(agent: str) -> None:
    assert open_harbor(BenchmarkRef("harbor", str(TASKS), {"agent": agent})).info.offline


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "vmware"}, "there is no such engine; choose auto, docker"),
        ({"agent": " "}, "agent is empty"),
        ({"agent": "cheat:luck"}, "there is no cheat 'luck'; there are rewards"),
        ({"turns": 0}, "at least one"),
        ({"tools": 1}, "there are agent, engine"),
    ],
)
def test_wrong_options_are_told_what_there_is(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_options(options)


def test_terminal_bench_takes_its_answers_out_of_the_build_context(tmp_path: Path) -> None:
    from mesocosm.benchmarks.harbor.terminal_bench import staged_context

    task = read_folder(TASKS / "terminal-bench-1")
    staged = staged_context(task, tmp_path / "staged")
    assert sorted(path.name for path in staged.iterdir()) == ["Dockerfile", "numbers.txt"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"docker-compose_yaml": "services: {a: {build: .}, b: {image: x}}\n"}, "starts 2 services"),
        ({"docker-compose_yaml": "services: {a: {build: ., privileged: true}}\n"}, "privileged"),
        ({"docker-compose_yaml": "services: {a: {build: ., volumes: ['/:/host']}}\n"}, "volumes of its own"),
        ({"solution_yaml": "- x\n"}, "script of keys"),
        ({"task_yaml": "instruction: x\nparser_name: swebench\n"}, "the parser swebench"),
        ({"task_yaml": "instruction: x\nrun_tests_in_same_shell: true\n"}, "in the shell of the agent"),
    ],
)
def test_what_terminal_bench_needs_and_nobody_gives_is_refused(tmp_path: Path, files: dict[str, str], why: str) -> None:
    for name, text in {"task_yaml": "instruction: x\n", "run-tests_sh": "true\n", **files}.items():
        (tmp_path / name.replace("_", ".")).write_text(text)
    (problem,) = read_folder(tmp_path).refused
    assert why in problem
