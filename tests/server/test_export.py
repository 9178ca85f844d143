"""Runs as files to download."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.score import Score
from mesocosm.interop.cell import harmless
from mesocosm.interop.record import run_document
from mesocosm.interop.replay import all_episodes, pieces
from mesocosm.store import Store, open_store


def test_a_run_is_downloaded_as_the_replay_that_the_command_writes(client: Any, store: Store, run_id: str) -> None:
    answer = client.get(f"/api/runs/{run_id}/export")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run_id}.json"'
    run = store.runs.get(run_id)
    parts = pieces(run, lambda: all_episodes(store, run_id), store.traces.events, store.blobs, run_document)
    written = json.loads(b"".join(parts))
    found = answer.json()
    assert found.pop("exported_at")
    del written["exported_at"]
    assert found == written
    assert found["schema_version"] == "1"


def test_runs_are_downloaded_as_a_bundle_that_can_be_taken_in_again(client: Any, store: Store, tmp_path: Path) -> None:
    ids = [run.id for run in store.runs.list().items]
    answer = client.get("/api/export", params={"run": [*ids, ids[0][:-1]]})
    assert answer.status_code == 200
    bundle = tmp_path / "runs.zip"
    bundle.write_bytes(answer.content)
    assert json.loads(zipfile.ZipFile(bundle).read("bundle.json"))["runs"] == ids
    from mesocosm.cli.main import call

    assert call(["import", str(bundle), "--results-dir", str(tmp_path / "other"), "--json"]) == 0
    other = open_store(tmp_path / "other")
    assert {run.id for run in other.runs.list().items} == set(ids)
    other.close()


def test_no_file_stays_behind_a_download(
    client: Any, run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert client.get("/api/export", params={"run": run_id}).status_code == 200
    assert client.get("/api/export", params={"run": "nothing"}).status_code == 404
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "path", ["/api/runs/nothing/export", "/api/runs/nothing/episodes.csv", "/api/export?run=nothing"]
)
def test_what_is_not_there_cannot_be_downloaded(client: Any, path: str) -> None:
    assert client.get(path).status_code == 404


def test_episodes_are_downloaded_as_a_table(client: Any, store: Store, run_id: str) -> None:
    answer = client.get(f"/api/runs/{run_id}/episodes.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    episodes = store.episodes.list(run_id).items
    assert [line["episode"] for line in lines] == [episode.id for episode in episodes]
    assert [float(line["total_reward"]) for line in lines] == [episode.total_reward for episode in episodes]
    names = [score.name for score in episodes[0].scores]
    assert [float(lines[0][f"score.{name}"]) for name in names] == [score.value for score in episodes[0].scores]


async def test_no_text_of_a_table_is_a_formula_or_another_column(writer: Any, changing: Store, records: Any) -> None:
    run = records.run()
    failure = Failure(Cause.AGENT_ERROR, Boundary.AGENT, '=HYPERLINK("http://evil")\n"a",b')
    episode = records.episode(
        run, task_id="@SUM(A1)", status=EpisodeStatus.FAILED, failure=failure, total_reward=-1.5, scores=()
    )
    await records.write(changing, run, [episode])
    (line,) = csv.DictReader(io.StringIO(writer.get(f"/api/runs/{run.id}/episodes.csv").text, newline=""))
    assert line["task"] == "'@SUM(A1)"
    assert line["failure"] == "'" + failure.message
    assert line["total_reward"] == "-1.5"
    assert line["score.solved"] == ""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\tx", "\rx"])
def test_what_begins_like_a_formula_gets_an_apostrophe(text: str) -> None:
    assert harmless(text) == f"'{text}"


async def test_a_download_has_a_name_without_anything_unusual(writer: Any, changing: Store, records: Any) -> None:
    run = await records.write(changing, records.run(id='a"; x=\r\ny/..'), [])
    answer = writer.get("/api/export", params={"run": run.id})
    assert answer.headers["content-disposition"] == 'attachment; filename="a___x___y_...zip"'


async def test_worst_and_missing_scores_are_empty_cells(writer: Any, changing: Store, records: Any) -> None:
    run = records.run()
    episodes = [
        records.episode(run, index=0, scores=(Score("solved", worst=True),)),
        records.episode(run, index=1, scores=(Score("solved", missing=Cause.GRADER_ERROR),)),
    ]
    await records.write(changing, run, episodes)
    lines = csv.DictReader(io.StringIO(writer.get(f"/api/runs/{run.id}/episodes.csv").text))
    assert [line["score.solved"] for line in lines] == ["", ""]
