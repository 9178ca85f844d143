"""What `verifiers:SOURCE` names, as far as it is known without the framework."""

import os
import sys
from pathlib import Path

import pytest

from mesocosm.guests.inside import Failed
from mesocosm.guests.inside.verifiers_source import wanted


@pytest.fixture(autouse=True)
def path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")


def module(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text('class Own: "A Taskset."\n')
    return path


def test_a_name_is_one_of_what_is_installed() -> None:
    found = wanted("textarena", {})

    assert (found.taskset, found.place, found.options) == ("textarena", None, {})


def test_options_follow_after_commas_and_those_of_the_command_go_before_them() -> None:
    found = wanted("x,harness=null,agent.max_turns=3,names=[1,2],game=Wordle-v0", {"game": "Hangman-v0"})

    assert found.taskset == "x"
    assert found.options == {"harness": "null", "agent.max_turns": 3, "names": [1, 2], "game": "Hangman-v0"}


def test_an_id_of_the_hub_is_no_path() -> None:
    assert wanted("prime/echo-v1@0.2", {}).place is None


def test_a_file_is_imported_by_its_name_also_by_its_tool_servers(tmp_path: Path) -> None:
    path = module(tmp_path, "sums_for_test_v1")

    found = wanted(str(path), {})

    assert (found.taskset, found.place) == ("sums-for-test-v1", path)
    assert sys.path[0] == str(tmp_path)
    assert os.environ["PYTHONPATH"] == str(tmp_path)


def test_the_folder_of_a_project_has_one_task_set(tmp_path: Path) -> None:
    module(tmp_path / "src", "sums_for_test_v2")

    assert wanted(str(tmp_path), {}).taskset == "sums-for-test-v2"


def test_a_project_may_say_which_by_its_name(tmp_path: Path) -> None:
    for name in ("sums_for_test_v3", "others_for_test_v3"):
        module(tmp_path, name)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "sums-for-test-v3"\n')

    assert wanted(str(tmp_path), {}).taskset == "sums-for-test-v3"


def test_a_package_is_imported_by_the_name_of_its_folder(tmp_path: Path) -> None:
    module(tmp_path / "sums_for_test_v4", "__init__")

    assert wanted(str(tmp_path / "sums_for_test_v4"), {}).taskset == "sums-for-test-v4"
    assert sys.path[0] == str(tmp_path)


@pytest.mark.parametrize(
    ("names", "source", "words"),
    [
        ((), "./nothing.py", "no file or folder"),
        ((), ".", "no task set in"),
        (("one_v5", "two_v5"), ".", "several task sets; name one of"),
        (("Sums",), "Sums.py", "lower case"),
        (("json",), "json.py", "rename it"),
    ],
)
def test_a_path_that_cannot_be_used_says_why(tmp_path: Path, names: tuple[str, ...], source: str, words: str) -> None:
    for name in names:
        module(tmp_path, name)

    with pytest.raises(Failed, match=words):
        wanted(source if source.startswith("./") else f"{tmp_path}/{source}", {})
