"""Older spellings of configurations: each is read, and told in today's."""

from pathlib import Path

import pytest

from mesocosm.core.failure import InvalidInput
from mesocosm.rollouts.configuration import Config, read_config

FIRST = """
[eval]
rollout = "quiz"
entrypoint = "main.py"
dataset = "data/quiz.jsonl"
"""
TODAY = """
[experiment]
rollout = "quiz"
entrypoint = "main.py"
model_path = "openai/small"
dataset = "quiz"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for folder in ("rollouts/quiz", "configs/eval"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "rollouts/quiz/main.py").write_text("")
    return tmp_path / "configs" / "eval" / "quiz.toml"


def read(path: Path, text: str) -> Config:
    path.write_text(text)
    return read_config(path)


def faults(path: Path, text: str) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        read(path, text)
    return {problem.path: f"{problem.message} → {problem.fix}" for problem in caught.value.problems}


def test_the_first_form_is_read_whole(path: Path) -> None:
    config = read(
        path,
        """
        [eval]
        rollout = "quiz"
        entrypoint = "main.py"
        dataset = "data/quiz.jsonl"
        limit = 10
        offset = 5
        [llm]
        model = "openai/small"
        base_url = "http://127.0.0.1:9/v1"
        [runs]
        n = 3
        batch_size = 2
        pass_threshold = 0.5
        [timeouts]
        agent_workflow_timeout_s = 30
        grader_timeout_s = 20
        """,
    )
    experiment, evaluation = config.experiment, config.evaluation
    assert (experiment.rollout, experiment.entrypoint, experiment.dataset) == ("quiz", "main.py", "data/quiz.jsonl")
    assert (experiment.model_path, config.model.base_url) == ("openai/small", "http://127.0.0.1:9/v1")
    assert (evaluation.limit, evaluation.offset, evaluation.n, evaluation.batch_size) == (10, 5, 3, 2)
    assert (evaluation.pass_threshold, evaluation.agent_workflow_timeout_s) == (0.5, 30.0)
    assert evaluation.grader_timeout_s == 20.0
    assert "[runs] n is an older spelling: [evaluation] n = 3" in config.notes
    assert '[llm] model is an older spelling: [experiment] model_path = "openai/small"' in config.notes
    assert len(config.notes) == 12


def test_the_first_form_without_a_limit_takes_every_row_as_it_did(path: Path) -> None:
    config = read(path, f'{FIRST}[llm]\nmodel = "openai/small"')
    assert config.evaluation.everything
    assert any('limit = "all"' in note for note in config.notes)


def test_what_has_no_counterpart_is_named_with_what_to_do_instead(path: Path) -> None:
    config = read(
        path,
        """
        [eval]
        rollout = "quiz"
        entrypoint = "main.py"
        dataset = "quiz"
        limit = 1
        fresh = true
        retry_failed = false
        [llm]
        model = "openai/small"
        api_key_env = "MY_KEY"
        [output]
        log_samples = true
        output_path = "out"
        quiet = true
        debug = true
        [baseline]
        model = "openai/large"
        [grader]
        module = "graders:Exact"
        config = "graders:config"
        """,
    )
    named = [note.partition(" is older")[0] for note in config.notes if "does nothing here" in note]
    assert sorted(named) == [
        "[baseline] model",
        "[eval] fresh",
        "[eval] retry_failed",
        "[grader] config",
        "[grader] module",
        "[llm] api_key_env",
        "[output] debug",
        "[output] log_samples",
        "[output] output_path",
        "[output] quiet",
    ]
    assert config.grader is None


def test_a_grader_with_use_is_one_of_today(path: Path) -> None:
    grader = read(path, f'{TODAY}[grader]\nuse = "numeric"\ntolerance = 0.5').grader
    assert grader is not None
    assert (grader.use, grader.options) == ("numeric", {"tolerance": 0.5})
    assert "there is no such option" in faults(path, f'{TODAY}[grader]\nuse = "numeric"\nmodule = "x"')["grader.module"]


def test_a_map_of_secrets_becomes_their_names(path: Path) -> None:
    config = read(path, f'{TODAY}[secrets]\nAPI_KEY = "record-1"\nOTHER = "record-2"')
    assert config.secrets == ("API_KEY", "OTHER")
    assert ['required = ["API_KEY", "OTHER"]' in note for note in config.notes] == [True]
    assert "record-1" not in "".join(config.notes)


def test_variables_and_secrets_of_the_rollout_table_are_taken_over(path: Path) -> None:
    config = read(path, f'{TODAY}[rollout.env]\nLOG = "on"\n[rollout.secrets]\nAPI_KEY = "record"')
    assert (config.env, config.secrets) == ({"LOG": "on"}, ("API_KEY",))
    assert len(config.notes) == 2


def test_a_form_of_today_has_no_notes(path: Path) -> None:
    assert read(path, TODAY).notes == ()


def test_a_wrong_value_is_told_with_the_place_where_it_was_written(path: Path) -> None:
    found = faults(path, f'{FIRST}[llm]\nmodel = "openai/small"\n[runs]\nn = "x"')
    assert list(found) == ["evaluation.n"]
    assert "(from [runs] n)" in found["evaluation.n"]


def test_an_unknown_key_of_an_older_table_comes_with_a_suggestion(path: Path) -> None:
    found = faults(path, f'{FIRST}[llm]\nmodel = "openai/small"\n[runs]\nbatch_sise = 3')
    assert "did you mean `batch_size`?" in found["runs.batch_sise"]


@pytest.mark.parametrize("text", ["eval = 3", "[[runs]]\nn = 1", 'rollout = "quiz"', "[rollout]\nenv = 3"])
def test_an_older_table_that_is_none_is_refused(path: Path, text: str) -> None:
    assert any("must be a table" in message for message in faults(path, f"{text}\n{TODAY}").values())


def test_a_value_in_both_spellings_is_refused(path: Path) -> None:
    found = faults(path, f"{TODAY}[evaluation]\nn = 1\n[runs]\nn = 2")
    assert "also as [runs] n" in found["evaluation.n"]
