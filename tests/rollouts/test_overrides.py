"""`--set section.key=value`: how it is read, and that it is checked like the file."""

from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.rollouts.configuration import parse_overrides, read_config


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for folder in ("rollouts/quiz", "configs/eval"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "rollouts/quiz/main.py").write_text("")
    path = tmp_path / "configs" / "eval" / "quiz.toml"
    path.write_text(
        '[experiment]\nrollout="quiz"\nentrypoint="main.py"\nmodel_path="openai/small"\ndataset="quiz"\n'
        "[evaluation]\nn = 1\nbatch_size = 0\n"
    )
    return path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("evaluation.n=3", 3),
        ("evaluation.pass_threshold = 0.5", 0.5),
        ("evaluation.limit=all", "all"),
        ("dataset.metadata=false", False),
        ('secrets.required=["A", "B"]', ["A", "B"]),
        ("experiment.model_path=openai/gpt-5-mini", "openai/gpt-5-mini"),
        ("experiment.commit_sha=1234567", "1234567"),
        ('experiment.dataset="quoted"', "quoted"),
        ("dataset.revision=2024", "2024"),
        ("env.PORT=80", "80"),
        ("env.EMPTY=", ""),
        ("env.EQUAL=a=b", "a=b"),
        ("env.LINES=a\nb = 1", "a\nb = 1"),
        ("model.extra.seed=1", 1),
        ("grader.pattern=3\nx = 4", "3\nx = 4"),
    ],
)
def test_a_value_is_toml_or_else_text(text: str, value: Any) -> None:
    [parsed] = parse_overrides([text]).values()
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    "text", ["evaluation.n", "n=3", "=3", "", "a b.c=1", "evaluation.=1", "evaluation..n=1", "model" + ".a" * 99 + "=1"]
)
def test_what_is_no_assignment_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(UsageError, match=r"--set .*evaluation\.n=3"):
        parse_overrides([text])


def test_an_unknown_section_comes_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"--set evaluaton\.n.*did you mean evaluation"):
        parse_overrides(["evaluaton.n=3"])


def test_a_refused_assignment_never_repeats_its_value() -> None:
    with pytest.raises(UsageError) as caught:
        parse_overrides(["enf.KEY=sk-12345"])
    assert "12345" not in str(caught.value)


def test_of_the_same_key_the_last_one_counts() -> None:
    assert parse_overrides(["evaluation.n=1", "evaluation.n=2"]) == {"evaluation.n": 2}


def test_values_go_before_those_of_the_file_and_mend_its_faults(path: Path) -> None:
    config = read_config(path, {"evaluation.n": 5, "evaluation.batch_size": 2, "model.extra.top_k": 4})
    assert (config.evaluation.n, config.evaluation.batch_size, config.model.extra) == (5, 2, {"top_k": 4})


def test_a_wrong_value_is_told_with_the_flag(path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_config(path, {"evaluation.n": "many"})
    told = {problem.path: problem.message for problem in caught.value.problems}
    assert "(from --set)" in told["evaluation.n"]
    assert "--set" not in told["evaluation.batch_size"]


@pytest.mark.parametrize(
    "key", ["n", "nowhere.n", "evaluation.n.deeper", "experiment.rollout.name", "model.extra" + ".a" * 5000]
)
def test_a_key_that_leads_nowhere_is_refused(path: Path, key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_config(path, {key: 1})
    assert key in {problem.path for problem in caught.value.problems}


def test_reading_changes_neither_overrides_nor_what_they_hold(path: Path) -> None:
    overrides: dict[str, Any] = {"evaluation.batch_size": 1, "model.extra": {"a": 1}, "model.extra.b": 2}
    read_config(path, overrides)
    assert overrides["model.extra"] == {"a": 1}


def test_a_variable_that_is_in_the_way_is_not_repeated(path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_config(path, {"env.KEY": "sk-12345", "env.KEY.part": 1})
    assert "12345" not in str(caught.value)
