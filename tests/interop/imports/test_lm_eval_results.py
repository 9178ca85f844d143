"""Results of lm-eval become runs: a document is an episode, a filter is a score."""

from pathlib import Path

import pytest
from tests.interop.imports.conftest import Importing
from tests.interop.imports.foreign_files import write_lm_eval

from mesocosm.core.event import Kind
from mesocosm.core.failure import UsageError
from mesocosm.interop.imports.lm_eval_file import model_of


def test_each_task_with_samples_is_a_run(tmp_path: Path, importing: Importing) -> None:
    runs = importing(write_lm_eval(tmp_path))
    assert [found.run.benchmark for found in runs] == ["lm-eval/sums", "lm-eval/colours", "lm-eval/prose"]
    assert {found.run.model for found in runs} == {"local-completions/tiny"}


def test_a_document_is_an_episode_with_a_score_for_each_filter(tmp_path: Path, importing: Importing) -> None:
    sums = importing(write_lm_eval(tmp_path))[0]
    assert sums.values == {"exact_match,strict": pytest.approx(1 / 3), "exact_match,loose": pytest.approx(2 / 3)}
    assert sums.run.provenance["headline"]["exact_match,loose"] == pytest.approx(2 / 3)
    assert [(one.task_id, one.target, one.input) for one in sums.episodes][:2] == [
        ("0", "1", {"question": "0 + 1?"}),
        ("1", "2", {"question": "1 + 1?"}),
    ]
    assert [event.kind for event in sums.events(sums.episodes[0])] == [
        Kind.EPISODE_START,
        Kind.MESSAGE,
        Kind.MODEL_CALL,
        Kind.EPISODE_END,
    ]


def test_the_answer_of_a_choice_is_the_most_likely_one(tmp_path: Path, importing: Importing) -> None:
    colours = importing(write_lm_eval(tmp_path))[1]
    assert [one.answer for one in colours.episodes] == [" blue", " blue"]
    said = [event.payload["message"] for event in colours.events(colours.episodes[0]) if event.kind is Kind.LOG]
    assert said == ["log-likelihood of ' red': -2.5", "log-likelihood of ' blue': -1.5, greedy"]
    assert colours.episodes[0].steps == 0


def test_a_number_of_all_documents_at_once_is_the_files_and_marked(tmp_path: Path, importing: Importing) -> None:
    prose = importing(write_lm_eval(tmp_path))[2]
    (metric,) = prose.run.metrics
    assert (metric.name, metric.value, metric.low, metric.method) == ("word_perplexity", 1.5, None, "as imported")
    assert prose.run.unverified
    assert prose.run.doubt


def test_a_line_that_is_cut_off_is_named(tmp_path: Path, importing: Importing) -> None:
    path = write_lm_eval(tmp_path)
    samples = next(tmp_path.glob("samples_sums_*"))
    samples.write_text(samples.read_text()[:-30])
    with pytest.raises(UsageError, match=r"line 6 is not whole JSON.*nothing was imported"):
        importing(path)


def test_results_without_samples_are_refused(tmp_path: Path, importing: Importing) -> None:
    path = write_lm_eval(tmp_path)
    for samples in tmp_path.glob("samples_*"):
        samples.unlink()
    with pytest.raises(UsageError, match="--log_samples"):
        importing(path)


def test_fewer_documents_than_the_results_count_are_said(tmp_path: Path, importing: Importing) -> None:
    path = write_lm_eval(tmp_path)
    samples = next(tmp_path.glob("samples_sums_*"))
    lines = samples.read_text().splitlines(keepends=True)
    samples.write_text("".join(lines[:2]))
    sums = importing(path)[0]
    assert (sums.run.status, sums.run.error) == ("stopped", "the file holds 2 of 3 planned episodes")


@pytest.mark.parametrize(
    ("document", "model"),
    [
        ({"model_source": "hf", "config": {"model_args": "pretrained=org/m,dtype=float"}}, "hf/org/m"),
        ({"config": {"model": "vllm", "model_args": {"pretrained": "m"}}}, "vllm/m"),
        ({}, "lm-eval/unknown"),
    ],
)
def test_the_model_is_its_kind_and_name(document: dict[str, object], model: str) -> None:
    assert model_of(document) == model
