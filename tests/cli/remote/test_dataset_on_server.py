"""`mesocosm dataset upload | list | info | preview | download | rename | delete` against a served platform."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.conftest import Records

from mesocosm.client.datasets import DatasetsResource
from mesocosm.client.error import ApiError
from mesocosm.core.event import Kind
from mesocosm.store import datasets as store_datasets
from mesocosm.store.run_requests import PRIVATE, RunRequest

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Platform

pytestmark = pytest.mark.usefixtures("forked_checks")

ROWS = [{"user_prompt": f"{n} + 1?", "ground_truth": str(n + 1)} for n in range(40)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    path = tmp_path / "hard.jsonl"
    path.write_text(LINES)
    return path


def test_a_dataset_goes_up_is_looked_at_and_comes_down(reef: "Platform", hard: Path, tmp_path: Path) -> None:
    done = reef("dataset", "upload", hard)
    assert done.code == 0, done.err
    assert done.out == "hard.jsonl is version 1 of the dataset hard: 40 rows\n"
    (listed,) = reef("dataset", "list", "--json").document
    assert (listed["name"], listed["status"], listed["rows"]) == ("hard", "uploaded", 40)
    assert "hard" in reef("dataset", "list").out
    info = reef("dataset", "info", "hard").out
    assert info.startswith("hard · version 1 · uploaded · 40 rows")
    assert "prompt mode: user_prompt ← user_prompt, ground_truth ← ground_truth" in info
    shown = reef("dataset", "preview", "hard", "--rows", "2").out
    assert "0 + 1?" in shown
    assert [line.split()[0] for line in shown.splitlines() if "+ 1?" in line] == ["0", "1"]
    assert "2 + 1?" not in shown
    hard.unlink()
    done = reef("dataset", "download", "hard")
    assert done.code == 0, done.err
    assert (tmp_path / "hard.jsonl").read_text() == LINES
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".hard")] == []
    refused = reef("dataset", "download", "hard")
    assert (refused.code, "--force" in refused.err) == (2, True)
    assert reef("dataset", "rename", "hard", "harder").code == 0
    assert reef("dataset", "delete", "harder").code == 2, "without a terminal, --yes is needed"
    assert reef("dataset", "delete", "harder", "--yes").code == 0
    assert reef("dataset", "info", "harder").code != 0


def test_invalid_rows_are_named_before_anything_is_sent(
    reef: "Platform", hard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hard.write_text(LINES + '{"user_prompt": ""}\n')
    done = reef("dataset", "upload", hard)
    assert done.code == 1
    assert "row 41, column user_prompt: is empty" in done.err
    assert "→ fill it, or leave the row out" in done.err
    assert reef("dataset", "list", "--json").document == []
    # A client that does not look by itself is told by the server.
    monkeypatch.setattr("mesocosm.cli.remote.datasets._check", lambda *_: None)
    done = reef("dataset", "upload", hard)
    assert done.code == 1
    assert "row 41, column user_prompt: is empty" in done.err
    assert reef("dataset", "info", "hard").code == 1


def test_the_same_file_again_sends_nothing_and_another_needs_overwrite(
    reef: "Platform", hard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reef("dataset", "upload", hard)
    with monkeypatch.context() as closed:
        closed.setattr(DatasetsResource, "put_part", None)
        again = reef("dataset", "upload", hard)
    assert (again.code, "version 1" in again.out) == (0, True)
    hard.write_text(LINES + LINES)
    refused = reef("dataset", "upload", hard)
    assert refused.code != 0
    assert "overwrite" in refused.err
    unasked = reef("dataset", "upload", hard, "--overwrite")
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    done = reef("dataset", "upload", hard, "--overwrite", "--yes", "--json")
    assert (done.code, done.document["version"], done.document["rows"]) == (0, 2, 80)
    assert reef("dataset", "info", "hard", "--version", "1", "--json").document["current"]["rows"] == 40
    assert "2  uploaded" in reef("dataset", "info", "hard").out


def test_an_interrupted_upload_continues(reef: "Platform", hard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = DatasetsResource.put_part
    sent: list[int] = []

    def put(self: DatasetsResource, workspace: str, dataset: str, version: int, part: int, data: bytes) -> Any:
        if part == 4 and sent == [1, 2, 3]:
            raise KeyboardInterrupt
        sent.append(part)
        return real(self, workspace, dataset, version, part, data)

    monkeypatch.setattr(DatasetsResource, "put_part", put)
    stopped = reef("dataset", "upload", hard)
    assert stopped.code == 130
    assert "repeat the command to continue" in stopped.err
    (listed,) = reef("dataset", "list", "--json").document
    assert listed["status"] == "uploading"
    sent.append(0)
    done = reef("dataset", "upload", hard)
    assert done.code == 0, done.err
    assert "3 of" in done.err
    assert sent[:5] == [1, 2, 3, 0, 4]
    assert len(sent) == len(set(sent))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_part_whose_connection_is_lost_is_sent_again(
    reef: "Platform", hard: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    real = DatasetsResource.put_part
    lost: list[int] = []

    def put(self: DatasetsResource, workspace: str, dataset: str, version: int, part: int, data: bytes) -> Any:
        broken = part not in lost
        if when == "after" or not broken:
            answer = real(self, workspace, dataset, version, part, data)
        if broken:
            lost.append(part)
            raise ApiError("PUT", "http://there", 0, "the connection was lost", kind="ConnectionResetError")
        return answer

    monkeypatch.setattr(DatasetsResource, "put_part", put)
    done = reef("dataset", "upload", hard)
    assert done.code == 0, done.err
    assert "the connection was lost; trying again" in done.err


def test_an_upload_that_is_given_up_elsewhere_ends_with_the_reason(
    reef: "Platform", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_datasets, "PART_BYTES", 4 << 20)
    large = tmp_path / "large.csv"
    large.write_text("user_prompt\n" + ("x" * 100_000 + "\n") * 90)
    real = DatasetsResource.put_part

    def put(self: DatasetsResource, workspace: str, dataset: str, version: int, part: int, data: bytes) -> Any:
        if part == 2:
            self.delete(workspace, dataset)
        return real(self, workspace, dataset, version, part, data)

    monkeypatch.setattr(DatasetsResource, "put_part", put)
    done = reef("dataset", "upload", large)
    assert done.code != 0
    assert "has no dataset" in done.err
    assert "trying again" not in done.err


def test_a_download_that_breaks_off_is_continued(
    reef: "Platform", hard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mesocosm.client.transport import BenchApi

    reef("dataset", "upload", hard)
    real: Callable[..., int] = BenchApi.download
    starts: list[int] = []

    def broken(self: BenchApi, path: str, file: Any, query: Any = None, *, start: int = 0) -> int:
        starts.append(start)
        if len(starts) > 1:
            return real(self, path, file, query, start=start)
        file.write(LINES.encode()[:700])
        raise ApiError("GET", path, 0, "the answer broke off")

    monkeypatch.setattr(BenchApi, "download", broken)
    done = reef("dataset", "download", "hard", "--output", tmp_path / "again.jsonl")
    assert done.code == 0, done.err
    assert starts == [0, 700]
    assert (tmp_path / "again.jsonl").read_text() == LINES


def test_a_file_that_changes_meanwhile_is_not_taken(
    reef: "Platform", hard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = DatasetsResource.begin

    def begin(self: DatasetsResource, workspace: str, file: Any) -> Any:
        begun = real(self, workspace, file)
        hard.write_text(LINES + LINES)
        return begun

    monkeypatch.setattr(DatasetsResource, "begin", begin)
    done = reef("dataset", "upload", hard)
    assert (done.code, "changed while it was uploaded" in done.err) == (2, True)
    (listed,) = reef("dataset", "list", "--json").document
    assert listed["version"] is None


def test_a_file_here_is_looked_at_here_whatever_the_server_has(reef: "Platform", hard: Path, tmp_path: Path) -> None:
    reef("dataset", "upload", hard)
    (tmp_path / "hard").mkdir()
    (tmp_path / "hard" / "one.csv").write_text("user_prompt\nx\n")
    assert reef("dataset", "info", "hard", "--json").document["rows"] == 1
    assert reef("dataset", "info", "hard", "--workspace", "Reef", "--json").document["rows"] == 40
    reef.nobody()
    missing = reef("dataset", "info", "none.jsonl")
    assert (missing.code, "no such file" in missing.err) == (2, True)


def test_columns_with_other_names_are_given_their_roles(reef: "Platform", tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("question,answer\n1?,1\n2?,2\n")
    refused = reef("dataset", "upload", path)
    assert (refused.code, "--columns user_prompt=question" in refused.err) == (1, True)
    done = reef(
        "dataset", "upload", path, "--columns", "user_prompt=question", "ground_truth=answer", "--name", "q & a"
    )
    assert done.code == 0, done.err
    assert "user_prompt ← question, ground_truth ← answer" in reef("dataset", "info", "q & a").out


def test_somebody_elsewhere_is_told_nothing(reef: "Platform", hard: Path) -> None:
    reef("dataset", "upload", hard)
    reef.is_now("bob")
    refused = reef("dataset", "info", "hard", "--workspace", "Reef")
    assert refused.code != 0
    assert "you are in no workspace 'Reef'" in refused.err


def test_rows_of_a_run_are_added_to_a_dataset_of_the_workspace(reef: "Platform", hard: Path) -> None:
    records, store = Records(), reef.service.store
    run = records.run()
    message = (0, Kind.MESSAGE, {"index": 0, "role": "user", "content": "0 + 1?"})
    called = (0, Kind.MODEL_CALL, {"messages": [[0, 0]], "text": "2"})
    asyncio.run(records.write(store, run, [records.episode(run)], [message, called]))
    ann = store.users.named("ann")
    assert ann is not None
    store.run_requests.add(
        RunRequest(
            run_id=run.id,
            actor=f"user:{ann.id}",
            actor_name="ann",
            domain_id="words",
            vow_version="1",
            model="m",
            visibility=PRIVATE,
            state="ended",
            created_at=1.0,
        )
    )
    assert reef("dataset", "upload", hard).code == 0

    done = reef("dataset", "add", "hard", "--from", run.id)
    assert (done.code, done.out) == (0, "Added 1 row to hard, version 2, which has 41 rows now.\n")
    again = reef("dataset", "add", "hard", "--from", run.id)
    assert again.out == "Nothing to add to version 2 of hard; 1 row was there already.\n"
    info = reef("dataset", "info", "hard").out
    assert f"1 row added from run {run.id} to version 1" in info
    missing = reef("dataset", "add", "hard", "--from", run.id, "--failed")
    assert missing.code == 1
    assert "by another filter" in missing.err
    other = reef("dataset", "add", "hard", "--from", "0" * 36)
    assert other.code == 1
    assert "no run" in other.err
