"""A run is written as a log of Inspect: an imported one with all that its log held, any other by its record."""

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.interop.imports.conftest import Importing
from tests.interop.imports.foreign_files import inspect_header, inspect_sample, write_eval

from mesocosm.core.run import Run
from mesocosm.core.score import Score
from mesocosm.interop.inspect_log import stored_files, write_log
from mesocosm.store import Store


def written(run: Run, store: Store, path: Path) -> dict[str, Any]:
    """Return the members of the log that a run is written as."""
    write_log(run, store, stored_files(store.artifacts.of_run(run.id), store.blobs), path)
    with zipfile.ZipFile(path) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def resolved(sample: dict[str, Any]) -> dict[str, Any]:
    """Return a sample with its pool and its attachments in place, as Inspect reads it."""
    attached, pool = sample.pop("attachments"), sample.pop("events_data")["messages"]

    def whole(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("attachment://"):
            return attached[value.removeprefix("attachment://")]
        if isinstance(value, dict):
            return {key: whole(inner) for key, inner in value.items()}
        return [whole(inner) for inner in value] if isinstance(value, list) else value

    for event in sample["events"]:
        if event["event"] == "model":
            event["input"] = [pool[place] for first, end in event.pop("input_refs") for place in range(first, end)]
    found: dict[str, Any] = whole(sample)
    return found


def test_a_log_that_was_read_is_written_again_equal(tmp_path: Path, importing: Importing) -> None:
    samples = [inspect_sample(number, epoch) for epoch in (1, 2) for number in range(2)]
    header = inspect_header(samples, epochs=2)
    (found,) = importing(write_eval(tmp_path / "a.eval", samples, header))
    members = written(found.run, found.store, tmp_path / "b.eval")
    assert members["header.json"] == header
    for sample in samples:
        assert resolved(members[f"samples/{sample['id']}_epoch_{sample['epoch']}.json"]) == resolved(sample)


def test_what_was_written_is_known_as_the_same_run(tmp_path: Path, importing: Importing) -> None:
    (found,) = importing(write_eval(tmp_path / "a.eval", [inspect_sample(1), inspect_sample(2, value=math.nan)]))
    written(found.run, found.store, tmp_path / "b.eval")
    (again,) = importing(tmp_path / "b.eval")
    assert (again.run.id, again.new) == (found.run.id, 0)


@pytest.fixture
def members(evaluated: Run, store: Store, tmp_path: Path) -> dict[str, Any]:
    """Return the members of the log of a recorded evaluation."""
    return written(evaluated, store, tmp_path / "a.eval")


def test_any_run_has_a_header_with_its_numbers(members: dict[str, Any], evaluated: Run) -> None:
    header = members["header.json"]
    assert (header["version"], header["eval"]["eval_id"]) == (2, evaluated.id)
    assert header["eval"]["metadata"]["mesocosm_run"] == evaluated.id
    numbers = {
        metric["name"]: metric["value"] for score in header["results"]["scores"] for metric in score["metrics"].values()
    }
    assert all(numbers[one.name] == one.value for one in evaluated.metrics if one.value is not None)


def test_each_finished_episode_is_a_sample(members: dict[str, Any], evaluated: Run) -> None:
    names = [name for name in members if name.startswith("samples/")]
    assert len(names) == len(members["summaries.json"]) == evaluated.counts.done == 6
    sample = members[names[0]]
    assert {"id", "epoch", "input", "target", "messages", "output", "scores", "events"} <= sample.keys()
    roles = [one["role"] for one in sample["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert sample["messages"][2]["tool_calls"][0]["arguments"] == {"a": 1}


def test_a_missing_score_is_not_a_number_and_says_why(members: dict[str, Any]) -> None:
    scores = [score for name, one in members.items() if name.startswith("samples/") for score in one["scores"].values()]
    unscored = [score for score in scores if "missing" in score.get("metadata", {}).get("mesocosm", {})]
    assert unscored
    assert all(math.isnan(score["value"]) for score in unscored)


def test_scores_of_a_rescored_run_replace_those_of_its_log(tmp_path: Path, importing: Importing) -> None:
    from mesocosm.interop.inspect_log import _current

    given = {"match": {"value": "C", "answer": "1"}, "both": {"value": {"a": 1, "b": 2}}}
    scores = [Score("match", 0.0), Score("both.a", 1.0), Score("both.b", 5.0)]
    assert _current(given, scores) == {"match": {"value": 0.0, "answer": "1"}, "both": {"value": {"a": 1, "b": 5.0}}}
