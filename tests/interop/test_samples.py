"""Samples as flat records."""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from pyarrow import parquet

from mesocosm.core.failure import Incompatible, UsageError
from mesocosm.core.run import Run
from mesocosm.interop.samples import RowSample, samples, write_samples
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.interop.conftest import Evaluation


def found(run: Run, store: Store) -> list[RowSample]:
    return list(samples(run, store))


def test_every_sample_says_what_became_of_it(evaluated: Run, store: Store) -> None:
    listed = [
        (one.row_index, one.trial, one.status, one.reward, one.passed, one.cause) for one in found(evaluated, store)
    ]

    assert listed == [
        (3, 0, "graded", 1.0, True, ""),
        (7, 0, "graded", 0.25, False, ""),
        (11, 0, "failed", None, None, "workflow_timeout"),
        (3, 1, "graded", 0.5, False, ""),
        (7, 1, "failed", None, None, "grader_error"),
        (11, 1, "skipped", None, None, "skipped"),
    ]


def test_a_sample_has_its_scores_labels_usage_and_time(evaluated: Run, store: Store) -> None:
    first = found(evaluated, store)[0]

    assert (first.scores, first.labels) == ({"reward": 1.0, "turns": 2.0}, {"level": "0", "=topic": "+sum"})
    assert (first.total_tokens, first.cost_usd, first.duration_s) == (110, 0.25, 1.5)


def test_the_texts_are_of_the_conversation(evaluated: Run, store: Store) -> None:
    assert [(one.prompt, one.answer) for one in found(evaluated, store)][:2] == [
        ("What is row 3?", "=row 3"),
        ("What is row 7?", "=row 7"),
    ]


def test_a_failed_workflow_leaves_its_prompt_and_what_the_model_said_last_not_what_a_judge_said(
    evaluated: Run, store: Store
) -> None:
    failed = found(evaluated, store)[2]

    assert (failed.prompt, failed.answer, failed.error) == ("What is row 11?", "said", "workflow_timeout of row 11")


async def test_a_failed_workflow_that_left_messages_is_shown_by_them(
    evaluation: "Callable[..., Evaluation]", store: Store
) -> None:
    from mesocosm.core.failure import Cause

    made = evaluation()
    partial = [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "Half of an"}]
    made.sample(0, 0, Cause.WORKFLOW_FAILED, terminal_info={"row": 3, "partial": partial})

    (only,) = found(await made.write(), store)

    assert (only.prompt, only.answer) == ("Add.", "Half of an")


async def test_a_sample_that_is_still_to_be_played_is_owed_and_says_what_kept_it_from_it(
    evaluation: "Callable[..., Evaluation]", store: Store
) -> None:
    from mesocosm.core.episode import EpisodeStatus
    from mesocosm.core.failure import Cause, EpisodeError

    made = evaluation()
    made.sample(0, 0, 1.0)
    away = EpisodeError(Cause.MODEL_UNAVAILABLE, "nothing answers").failure()
    made.sample(1, 0, 0.5, status=EpisodeStatus.CANCELLED, failure=away)
    run = await made.write()

    listed = [(one.status, one.cause, one.reward, one.scores) for one in found(run, store)]

    assert listed[0][:3] == ("graded", "", 1.0)
    assert listed[1] == ("owed", "model_unavailable", None, {})


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    table: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return table


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_files_hold_every_sample_with_a_column_for_each_score_and_label(
    evaluated: Run, store: Store, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"samples.{ending}"

    assert write_samples(evaluated, store, path) == 6

    rows = rows_of(path)
    assert len(rows) == 6
    assert (rows[0]["reward"], rows[0]["score.turns"], rows[0]["label.level"]) == (1.0, 2.0, "0")
    assert (rows[2]["reward"], rows[2]["passed"], rows[2]["score.turns"]) == (None, None, None)
    assert rows[0]["answer"] == "=row 3"


def test_a_parquet_file_has_numbers_as_numbers(evaluated: Run, store: Store, tmp_path: Path) -> None:
    write_samples(evaluated, store, tmp_path / "samples.parquet")

    types = {field.name: str(field.type) for field in parquet.read_schema(tmp_path / "samples.parquet")}

    assert (types["reward"], types["trial"], types["passed"], types["cause"]) == ("double", "int64", "bool", "string")


def test_no_cell_of_a_csv_file_is_a_formula(evaluated: Run, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"

    write_samples(evaluated, store, path)

    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["answer"], rows[0]["label.=topic"]) == ("'=row 3", "'+sum")
    assert (rows[0]["reward"], rows[2]["reward"]) == ("1.0", "")


def test_a_file_that_cannot_be_written_whole_leaves_the_one_before(
    evaluated: Run, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text("before")
    monkeypatch.setattr("mesocosm.interop.samples.sample", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        write_samples(evaluated, store, path)

    assert (path.read_text(), [entry.name for entry in tmp_path.iterdir() if entry.is_file()]) == (
        "before",
        [path.name],
    )


def test_an_ending_that_says_no_format_is_refused(evaluated: Run, store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"samples\.xlsx says no format.*\.jsonl, \.csv or \.parquet"):
        write_samples(evaluated, store, tmp_path / "samples.xlsx")


def test_without_pyarrow_the_message_says_what_to_install(
    evaluated: Run, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(Incompatible, match=r"pip install 'mesocosm\[hub\]'"):
        write_samples(evaluated, store, tmp_path / "samples.parquet")

    assert not (tmp_path / "samples.parquet").exists()
