"""`mesocosm init`: what it writes for each kind of thing that a user has, and that it runs."""

import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.cli import starter

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

MOST_FILES = 4
SCORES = {"environment": "1.0000", "benchmark": "1.0000", "program": "0.2500"}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the program believe that a person can be asked."""
    monkeypatch.setattr(starter, "on_terminal", lambda: True)


@pytest.mark.parametrize("kind", SCORES)
def test_a_project_is_a_few_files_and_its_command_has_just_run(mesocosm: "Invoke", here: Path, kind: str) -> None:
    made = mesocosm("init", "my-thing", "--kind", kind)

    assert made.code == 0, made.err
    *wrote, last = [line for line in made.out.splitlines() if line.startswith(("wrote ", "run it "))]
    assert 0 < len(wrote) <= MOST_FILES
    assert all((here / "my-thing" / line.split()[1]).is_file() for line in wrote)
    assert last.startswith("run it cd my-thing && mesocosm ")
    assert last.endswith(SCORES[kind])
    assert (here / "my-thing" / "benchmark_results").is_dir()


def test_nothing_is_overwritten_unless_forced(mesocosm: "Invoke", here: Path) -> None:
    (here / "benchmark.py").write_text("mine")

    refused = mesocosm("init", "--kind", "benchmark")

    assert refused.code == 2
    assert "benchmark.py already" in refused.err
    assert [path.name for path in here.iterdir()] == ["benchmark.py"]
    assert mesocosm("init", "--kind", "benchmark", "--force").code == 0


def test_the_command_is_told_to_programs_too(mesocosm: "Invoke", here: Path) -> None:
    told = mesocosm("init", "--kind", "benchmark", "--name", "my-benchmark", "--json").document

    assert told["files"] == ["benchmark.toml", "benchmark.py"]
    assert told["command"] == "mesocosm bench run my-benchmark --benchmarks-dir . -m builtin/oracle"
    assert (told["code"], told["result"]) == (0, "4 of 4 scored, accuracy 1.0000")


@pytest.mark.usefixtures("terminal")
def test_a_terminal_is_asked_what_there_is(mesocosm: "Invoke", here: Path) -> None:
    made = mesocosm("init", stdin="7\n4\n")

    assert made.code == 0, made.err
    assert made.out.startswith("What do you have?\n  1 rows with questions")
    assert (here / "benchmark.toml").is_file()


@pytest.mark.usefixtures("terminal")
def test_a_terminal_that_asks_nothing_gets_the_repository_of_an_environment(mesocosm: "Invoke", here: Path) -> None:
    assert mesocosm("init", "--yes").code == 0
    assert (here / "showcase" / "index.html").is_file()


def test_rows_suggest_prompt_right_answer_and_grader(here: Path) -> None:
    (here / "q.csv").write_text("level,question,answer\n1,What is 1+1?,2\n2,And 2*3?,6.0\n")

    found = starter.outline("q.csv", here)

    assert (found.prompt, found.expected, found.grader, found.rows) == ("{{question}}", "answer", "numeric", 2)
    project = starter.dataset(starter.StarterAnswers(source="q.csv", outline=found))
    (name,) = project.files
    config = tomllib.loads(project.files[name][0])
    assert config == {
        "data": "q.csv",
        "prompt": "{{question}}",
        "expected": "answer",
        "grader": "numeric",
        "model": "builtin/oracle",
    }
    assert shlex.join(project.command) == "eval run eval.toml"


@pytest.mark.parametrize(
    ("values", "grader"), [(["1,000", "$3.5"], "numeric"), (["A", "c"], "choice"), (["Paris"], "normalised"), ([], "")]
)
def test_the_grader_fits_the_right_answers(here: Path, values: list[str], grader: str) -> None:
    rows = "".join(f'q,"{value}"\n' for value in values) or "q,\n"
    (here / "q.csv").write_text(("question,answer\n" if values else "question,other\n") + rows)

    assert starter.outline("q.csv", here).grader == grader


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--dir", "x", "--kind", "program"), "--dir writes the repository of an environment"),
        (("--kind", "program", "--from", "q.csv"), "is for rows and agents"),
        (("--kind", "agent", "--from", "agent"), "FILE.py:NAME"),
        (("--kind", "dataset", "--from", "none.csv"), "no such file"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    mesocosm: "Invoke", here: Path, words: tuple[str, ...], said: str
) -> None:
    refused = mesocosm("init", *words)

    assert (refused.code, said in refused.err) == (2, True)
    assert list(here.iterdir()) == []


def test_rows_beside_a_new_folder_are_found(mesocosm: "Invoke", here: Path) -> None:
    (here / "q.csv").write_text("question,answer\n1 + 1?,2\n")

    done = mesocosm("init", "new", "--kind", "dataset", "--from", "q.csv", "--json")

    assert done.code == 0, done.err
    assert "../q.csv" in "".join(path.read_text() for path in (here / "new").glob("*.toml"))
