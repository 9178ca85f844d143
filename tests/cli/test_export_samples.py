"""`mesocosm export -o NAME.parquet|csv|jsonl`: the samples of a run as a table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Played


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_the_ending_of_the_name_says_how_samples_are_written(
    mesocosm: "Invoke", played: "Played", tmp_path: Path, ending: str
) -> None:
    file = tmp_path / f"samples.{ending}"

    written = mesocosm("export", "last", "-o", file, *played.there)

    assert (written.code, written.err) == (0, "")
    assert f"Wrote {file} (" in written.out
    assert file.stat().st_size > 0


def test_samples_have_a_line_for_each_episode(mesocosm: "Invoke", played: "Played", tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"

    told = mesocosm("export", "last", "-o", file, "--json", *played.there).document

    assert told == {"output": str(file), "runs": [played.run_id], "samples": 6}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["row_index"] for line in lines] == list(range(6))
    assert all(line["status"] == "graded" and line["reward"] is not None and line["answer"] for line in lines)


def test_a_table_takes_one_run(mesocosm: "Invoke", mine: "Played", tmp_path: Path) -> None:
    words = ("--manifest", mine.manifest, "--model", "builtin/random", "--episodes", "1", "--json")
    other = mesocosm("run", "local", *words, *mine.there).document["run"]["id"]

    refused = mesocosm("export", mine.run_id, other, "-o", tmp_path / "samples.csv", *mine.there)

    assert refused.code == 2
    assert "takes the samples of one run, these are 2" in refused.err
    assert not (tmp_path / "samples.csv").exists()
