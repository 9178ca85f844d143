"""Episodes of runs become rows of datasets: whose, which, in which columns, and never twice."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest
from tests.server.routes.conftest import Hosted
from tests.server.routes.test_datasets import Reef

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.server.workers import dataset_checks, foreign_files
from mesocosm.server.workers.dataset_checks import check_dataset_version
from mesocosm.store.datasets import DatasetState
from mesocosm.store.run_requests import PRIVATE, PUBLIC, RunRequest

COLUMNS = {"user_prompt": "question", "ground_truth": ["answer"]}
Row = tuple[str, str, dict[str, Any] | None]
ROWS: list[Row] = [(f"{n} + 1?", str(n + 1), {"level": n % 2}) for n in range(4)]


class Played:
    """Stores runs of rollouts, as the worker of a server would."""

    def __init__(self, reef: Reef, records: Any, write: Callable[..., Any]) -> None:
        self.reef = reef
        self._records = records
        self._write = write

    def run(self, rows: Sequence[Row] = ROWS, who: str = "member", *, public: bool = False, trials: int = 1) -> str:
        """Return the id of a run in which every other row failed; the last one never asked a model."""
        store = self.reef.hosted.service.store
        spec = RunSpec(BenchmarkRef("rollout", "/solver", {"columns": COLUMNS}), ModelSettings("openai/m"))
        run = self._records.run(spec=spec, kind="rollout", info={"metrics": []})
        episodes, traces = [], []
        for index, (prompt, label, metadata) in enumerate(list(rows) * trials):
            shown: dict[str, Any] = {"prompt": [{"role": "user", "content": prompt}]}
            if metadata is not None:
                shown["metadata"] = metadata
            task = Task(str(index), input=shown, target=label)
            fields: dict[str, Any] = {"task_digest": task.digest(), "index": index, "trial": index // len(rows)}
            fields["scores"] = (Score("solved", float(index % 2)),)
            events: list[tuple[int, Kind, Any]] = [(0, Kind.OBSERVATION, {"data": shown})]
            if index % 4 == 2:
                failure = Failure(Cause.WORKFLOW_TIMEOUT, Boundary.AGENT, "late")
                fields |= {"status": EpisodeStatus.FAILED, "failure": failure, "terminal_info": {"label": label}}
            else:
                events.append((0, Kind.OBSERVATION, {"data": {"messages": [], "label": label}}))
            episodes.append(self._records.episode(run, **fields))
            traces.append(events)
        asyncio.run(self._write(store, run, episodes, traces))
        user_id = self.reef[who].user_id
        request = RunRequest(
            run_id=run.id,
            actor=f"user:{user_id}",
            actor_name=who,
            domain_id="words",
            vow_version="1",
            model="openai/m",
            visibility=PUBLIC if public else PRIVATE,
            state="ended",
            created_at=1.0,
            config={},
        )
        store.run_requests.add(request)
        return str(run.id)

    def add(self, name: str, run_id: str, who: str = "member", **given: Any) -> httpx.Response:
        """Add rows of a run to a dataset."""
        return self.reef[who].post(f"{self.reef.base}/{name}/rows", {"run": run_id, **given})

    def added(self, name: str, run_id: str, who: str = "member", **given: Any) -> Any:
        """Add rows, let a worker do it, and return the dataset with that version."""
        answer = self.add(name, run_id, who, **given)
        assert answer.status_code == 202, answer.text
        self.reef.check()
        return self.reef.get(answer.json()["id"], version=answer.json()["version"])

    def lines(self, name: str, **query: Any) -> list[Any]:
        """Return the rows of a dataset."""
        text = self.reef["viewer"].get(f"{self.reef.base}/{name}/download", params=query).text
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def reef(hosted: Hosted) -> Reef:
    return Reef(hosted)


@pytest.fixture
def played(reef: Reef, records: Any) -> Played:
    async def write(store: Any, run: Any, episodes: Any, traces: Any) -> None:
        await records.write_each(store, run, episodes, traces)

    return Played(reef, records, write)


def test_episodes_become_a_new_dataset_with_the_columns_of_their_rows(played: Played) -> None:
    run_id = played.run()
    found = played.added("hard", run_id)
    assert (found["status"], found["version"], found["rows"], found["file_name"]) == ("uploaded", 1, 4, "hard.jsonl")
    source = {"kind": "run", "run": run_id, "base": None, "added": 4, "duplicates": 0}
    assert {name: found["current"]["source"][name] for name in source} == source
    assert found["current"]["roles"] == {"user_prompt": ["question"], "ground_truth": ["answer"]}
    lines = played.lines("hard")
    assert [line["question"] for line in lines] == [prompt for prompt, _, _ in ROWS]
    store = played.reef.hosted.service.store
    first = store.episodes.list(run_id).items[0]
    origin = {"origin_run": run_id, "origin_episode": first.id, "origin_task": first.task_digest}
    assert lines[0] == {"question": "0 + 1?", "answer": "1", "level": 0, **origin}


def test_rows_of_the_dataset_are_the_tasks_of_the_run_again(played: Played) -> None:
    run_id = played.run()
    played.added("hard", run_id)
    digests = {episode.task_digest for episode in played.reef.hosted.service.store.episodes.list(run_id).items}
    found = set()
    for line in played.lines("hard"):
        shown = {"prompt": [{"role": "user", "content": line["question"]}], "metadata": {"level": line["level"]}}
        found.add(Task("", input=shown, target=line["answer"]).digest())
    assert found == digests


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"where": {"state": ["failed"]}}, ["2 + 1?"]),
        ({"where": {"cause": ["workflow_timeout"]}}, ["2 + 1?"]),
        ({"where": {"sort": "-index"}}, ["3 + 1?", "2 + 1?", "1 + 1?", "0 + 1?"]),
    ],
)
def test_a_filter_chooses_the_episodes(played: Played, given: Any, expected: list[str]) -> None:
    played.added("some", played.run(), **given)
    assert [line["question"] for line in played.lines("some")] == expected


def test_episodes_are_chosen_by_their_ids(played: Played) -> None:
    run_id = played.run()
    episodes = played.reef.hosted.service.store.episodes.list(run_id).items
    played.added("some", run_id, episodes=[episodes[3].id, episodes[0].id])
    assert [line["question"] for line in played.lines("some")] == ["3 + 1?", "0 + 1?"]
    other = played.run()
    assert played.add("some", other, episodes=[episodes[0].id]).status_code == 404


def test_trials_of_one_task_are_one_row(played: Played) -> None:
    answer = played.add("hard", played.run(trials=3))
    assert (answer.json()["rows"], answer.json()["without_task"], answer.json()["altered"]) == (4, 0, 0)


def test_rows_are_appended_to_the_newest_version_once(played: Played) -> None:
    base = "".join(json.dumps({"question": q, "answer": a, "level": m["level"]}) + "\n" for q, a, m in ROWS[:2] if m)
    played.reef.upload_in_parts(base.encode(), columns=COLUMNS)
    run_id = played.run()
    found = played.added("hard", run_id)
    assert (found["version"], found["rows"], found["status"]) == (2, 4, "uploaded")
    assert (found["current"]["source"]["added"], found["current"]["source"]["duplicates"]) == (2, 2)
    assert played.reef["viewer"].get(f"{played.reef.base}/hard/download").text.startswith(base)
    again = played.added("hard", run_id)
    assert (again["version"], again["current"]["status"], again["current"]["source"]["added"]) == (2, "cancelled", 0)
    assert len(played.lines("hard")) == 4


def test_a_csv_file_gets_its_new_rows_as_json_lines(played: Played) -> None:
    played.reef.upload_in_parts(b"question,answer\n0 + 1?,1\n", columns=COLUMNS, file_name="hard.csv")
    found = played.added("hard", played.run([("0 + 1?", "1", None), ("5 + 1?", "6", None)]))
    assert (found["format"], found["rows"], found["file_name"]) == ("jsonl", 2, "hard.jsonl")
    assert [line["question"] for line in played.lines("hard")] == ["0 + 1?", "5 + 1?"]
    assert played.reef.get("hard", version=1)["current"]["format"] == "csv"


def test_two_who_add_at_the_same_time_both_get_their_rows(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = played.run(ROWS[:2]), played.run(ROWS[2:])
    for run_id in (first, second):
        assert played.add("hard", run_id).status_code == 202
    service = played.reef.hosted.service
    early, late = (service.store.datasets.claim_check(worker, 60.0) for worker in ("one", "two"))
    assert early is not None
    assert late is not None
    assert (early.version, late.version) == (1, 2)
    real = foreign_files.check_apart

    async def slowly(*given: Any, **named: Any) -> Any:
        """Let the other worker finish first, after this one has looked at the newest version."""
        monkeypatch.setattr(dataset_checks, "check_apart", real)
        assert await check_dataset_version(service, early)
        return await real(*given, **named)

    monkeypatch.setattr(dataset_checks, "check_apart", slowly)
    assert not asyncio.run(check_dataset_version(service, late))
    waiting = service.store.datasets.version(late.dataset_id, 2)
    assert waiting is not None
    assert (waiting.state, waiting.claimed_by, waiting.tries) == (DatasetState.PROCESSING, None, 0)
    played.reef.check()
    assert [line["question"] for line in played.lines("hard")] == [prompt for prompt, _, _ in ROWS]


def test_rows_that_do_not_fit_into_the_columns_are_named(played: Played) -> None:
    played.reef.upload_in_parts(b'{"question": "1?", "answer": "2", "level": 3}\n', columns=COLUMNS)
    found = played.added("hard", played.run([("1?", "2", {"question": "x"})]))
    assert (found["version"], found["current"]["status"]) == (1, "error")
    (fault,) = found["current"]["faults"]
    assert "which is a column of another role" in fault["message"]
    assert fault["path"].startswith("episode ")
    assert len(played.lines("hard")) == 1


@pytest.mark.parametrize(("who", "status"), [("member", 202), ("viewer", 403), ("stranger", 404), ("root", 202)])
def test_those_who_may_upload_and_read_the_run_add_rows(played: Played, who: str, status: int) -> None:
    run_id = played.run(who=who)
    assert played.add("hard", run_id, who).status_code == status


@pytest.mark.parametrize(("public", "status"), [(False, 404), (True, 403)])
def test_prompts_that_are_hidden_do_not_come_out_as_rows(played: Played, public: bool, status: int) -> None:
    run_id = played.run(who="stranger", public=public)
    assert played.reef["member"].get(f"/api/runs/{run_id}").status_code == (200 if public else 404)
    answer = played.add("hard", run_id)
    assert answer.status_code == status
    assert played.reef["member"].get(f"{played.reef.base}/hard").status_code == 404


def test_a_dataset_that_is_being_uploaded_takes_no_rows(played: Played) -> None:
    played.reef.begin()
    answer = played.add("hard", played.run())
    assert answer.status_code == 409
    assert "wait for it" in answer.json()["detail"]


def test_without_a_task_there_is_nothing_to_add(played: Played) -> None:
    run_id = played.run()
    answer = played.add("hard", run_id, where={"state": ["cancelled"]})
    assert answer.status_code == 409
    assert "by another filter" in answer.json()["detail"]
    assert played.add("a/b", run_id).status_code in (404, 405, 422)
    assert played.add("%01", run_id).status_code == 422


def test_the_room_of_a_workspace_counts_the_whole_new_version(open_hosted: Any, records: Any) -> None:
    reef = Reef(open_hosted(workspace_datasets_mb=1))
    base = "".join(json.dumps({"question": f"{n}{'x' * 900}?", "answer": "1"}) + "\n" for n in range(600))
    reef.upload_in_parts(base.encode(), columns=COLUMNS)

    async def write(store: Any, run: Any, episodes: Any, traces: Any) -> None:
        await records.write_each(store, run, episodes, traces)

    played = Played(reef, records, write)
    found = played.added("hard", played.run())
    assert (found["version"], found["current"]["status"]) == (1, "error")
    assert "no room" in found["current"]["faults"][0]["message"]


def test_deleting_the_dataset_removes_rows_that_wait(played: Played) -> None:
    answer = played.add("hard", played.run()).json()
    assert played.reef["member"].request("DELETE", f"{played.reef.base}/hard").status_code == 204
    store = played.reef.hosted.service.store.datasets
    version = store.version(answer["id"], 1)
    assert version is not None
    assert (version.state, store.added(version), store.claim_check("worker", 60.0)) == ("cancelled", {}, None)
