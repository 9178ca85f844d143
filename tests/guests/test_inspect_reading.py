"""What is read of Inspect's packages and values without Inspect."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mesocosm.guests.inside import inspect_catalogue, inspect_loading, inspect_outcomes

TASKS = '''
from inspect_ai import task
from inspect_ai.model import get_model

@task
def first(count: int = 3, *, hard: bool = False):
    """Count things.

    More words.
    """
    return get_model(role="user"), grade(model_role="arbiter"), Message(role="assistant")

@task(name="other")
def second(**kwargs):
    pass

def no_task():
    pass
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.py"
    path.write_text(TASKS)
    return path


@pytest.mark.parametrize(
    ("value", "number"),
    [("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), ("yes", 1.0), ("False", 0.0), ("3.5", 3.5), (True, 1.0), (4, 4.0)],
)
def test_values_are_the_numbers_of_inspect(value: Any, number: float) -> None:
    assert inspect_outcomes.number(value) == (number, "")


def test_a_text_without_a_number_is_unusable() -> None:
    assert inspect_outcomes.number("a matter of taste") == (None, "value_unusable")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_what_is_no_number_is_missing(value: Any) -> None:
    assert inspect_outcomes.number(value) == (None, "value_missing")


def test_an_object_becomes_a_score_for_each_key() -> None:
    assert list(inspect_outcomes.values("judge", {"a": 1, "b": "C"})) == [("judge.a", 1), ("judge.b", "C")]


def test_a_list_becomes_a_score_for_each_place() -> None:
    assert list(inspect_outcomes.values("judge", [1, 2])) == [("judge.0", 1), ("judge.1", 2)]


def test_tasks_of_a_file_are_found_without_running_it(file: Path) -> None:
    found = [
        name for function in inspect_catalogue.task_functions(file) for name in inspect_catalogue.names_of(function)
    ]
    assert found == ["first", "other"]


def test_a_file_that_is_no_python_has_no_tasks(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("@task\ndef broken(:")
    assert list(inspect_catalogue.task_functions(broken)) == []


def test_parameters_of_a_task_in_a_file(file: Path) -> None:
    assert inspect_loading.parameters_in(f"{file}@first") == ["count", "hard"]


def test_a_task_that_takes_any_parameter_has_no_list_of_them(file: Path) -> None:
    assert inspect_loading.parameters_in(f"{file}@other") is None


def test_roles_are_those_of_models_and_not_of_messages(file: Path) -> None:
    assert inspect_loading.roles_in([file]) == {"user", "arbiter"}


def test_an_unknown_task_of_a_file_is_a_sentence_with_those_that_it_has(file: Path) -> None:
    assert inspect_loading.unknown(f"{file}@third") == f"there is no task 'third' in {file}; it has first, other"


def test_a_file_that_is_not_there_is_a_sentence() -> None:
    assert inspect_loading.unknown("nowhere.py@x") == "there is no file nowhere.py"


def test_a_package_that_is_not_installed_is_a_sentence() -> None:
    assert "no package called 'no_such_package'" in inspect_loading.unknown("no_such_package/x")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "evals_of_a_test"
    (folder / "adding").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('a catalogue imports nothing')")
    (folder / "_registry.py").write_text(
        "from evals_of_a_test.adding import (\n    adding,\n    adding_hard as hard,\n)\n"
    )
    (folder / "adding" / "tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_tasks_of_a_package_are_listed_without_importing_it(package: Path) -> None:
    found = list(inspect_catalogue.entries(package.name))
    assert [entry["run"] for entry in found] == ["inspect:evals_of_a_test/first", "inspect:evals_of_a_test/other"]
    assert found[0]["description"] == "Count things."


def test_tasks_that_the_entry_points_of_a_package_leave_out_are_not_offered(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "_registry.py").write_text("from evals_of_a_test.adding.tasks import second\n")
    point = SimpleNamespace(value=f"{package.name}._registry")
    monkeypatch.setattr(inspect_catalogue, "points", lambda: [point])
    assert [entry["run"] for entry in inspect_catalogue.entries(package.name)] == ["inspect:evals_of_a_test/other"]


def test_a_description_file_says_more_of_a_task(package: Path) -> None:
    (package / "adding" / "eval.yaml").write_text(
        "title: Adding\ndescription: Sums of numbers.\ngroup: Mathematics\ndependency: sums\n"
        "tasks:\n  - name: first\n    dataset_samples: 12\nmetadata:\n  sandbox: [solver]\n"
    )
    entry = next(iter(inspect_catalogue.entries(package.name)))
    assert [entry["title"], entry["tasks"], entry["tags"]] == ["Adding", 12, ["Mathematics"]]
    assert entry["needs"] == ["docker", "evals_of_a_test[sums]"]


def test_the_module_of_a_task_is_read_from_the_registry_of_its_package(package: Path) -> None:
    assert inspect_catalogue.exported(f"{package.name}._registry") == {
        "adding": "evals_of_a_test.adding",
        "hard": "evals_of_a_test.adding",
    }


def event(kind: str, name: str = "", parent: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(event=kind, name=name, parent_id=parent)


@pytest.mark.parametrize(
    ("events", "where"),
    [
        ([event("error")], "init"),
        ([event("span_begin", "solvers"), event("error")], "solvers"),
        ([event("span_begin", "solvers"), event("span_begin", "scorers"), event("error")], "scorers"),
        ([event("span_begin", "solvers"), event("error"), event("span_begin", "scorers")], "solvers"),
    ],
)
def test_an_error_is_that_of_the_part_which_had_begun(events: list[Any], where: str) -> None:
    assert inspect_outcomes.where_failed(events) == where


def test_facts_with_few_values_are_labels() -> None:
    samples = [SimpleNamespace(metadata={"level": "ab"[n % 2], "text": f"text {n}", "one": 1}) for n in range(6)]
    assert inspect_loading.labels(samples)[:2] == [{"level": "a"}, {"level": "b"}]


def test_a_long_text_is_cut_in_the_middle() -> None:
    cut = inspect_outcomes.shortened("a" * 30_000 + "z")
    assert [len(cut) < 20_100, cut[0], cut[-1], "10,001 characters left out" in cut] == [True, "a", "z", True]
