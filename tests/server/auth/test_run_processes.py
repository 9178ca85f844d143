"""What can be done to a run through the API, by real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from mesocosm.core.run import Run, RunStatus
from mesocosm.server.permissions.run_processes import workplace
from mesocosm.server.serving import listen, new_server, url_of
from mesocosm.store import Store
from mesocosm.store.lease_owner import abandoned, alive

pytestmark = pytest.mark.usefixtures("forked")

GAME = Path(__file__).parents[3] / "examples" / "word-game" / "benchanything.json"
PATIENCE = 120.0
CHANGE = {"X-Mesocosm": "1"}

Play = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def writer(changing: Store) -> Iterator[httpx.Client]:
    """Return a client of a server over runs that may be changed."""
    ready, listening = threading.Event(), listen(port=0)
    server = new_server(changing, ready=ready.set)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    assert ready.wait(PATIENCE)
    with httpx.Client(base_url=url_of(listening), timeout=PATIENCE, trust_env=False, headers=CHANGE) as client:
        yield client
    server.should_exit = True
    thread.join(PATIENCE)


@pytest.fixture
def play(changing: Store) -> Iterator[Play]:
    """Return what plays the word game in a process of its own until five lines of it were said."""
    started = []

    def begin(*words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "mesocosm", "run", "local", "--manifest", str(GAME), "--no-view"]
        place = ["--results-dir", str(Path(changing.place).parent), "--model", "builtin/random"]
        process = subprocess.Popen(
            [*command, *place, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stderr is not None
        next(line for line in process.stderr if "[1/" in line)
        return process

    yield begin
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.fixture
def attended(changing: Store) -> Iterator[None]:
    """Stop whatever goes on at the end of a test."""
    yield
    for run in changing.runs.list(status=RunStatus.RUNNING).items:
        if run.holder is not None and alive(run.holder):
            os.kill(run.holder.pid, signal.SIGTERM)
            until(changing, run.id, lambda run: run.holder is None)


def until(store: Store, run_id: str, true: Callable[[Run], bool]) -> Run:
    """Return a run once something is true of it."""
    deadline = time.monotonic() + PATIENCE
    while not true(run := store.runs.get(run_id)):
        assert time.monotonic() < deadline, run
        time.sleep(0.02)
    return run


def killed(store: Store, play: Play, episodes: int) -> Run:
    """Return a run whose process was killed after some of its episodes."""
    process = play("--episodes", str(episodes), "--rpm", "900")
    process.kill()
    process.wait(PATIENCE)
    run = store.runs.list().items[0]
    assert isinstance(run, Run)
    return run


def test_a_run_is_stopped(writer: httpx.Client, changing: Store, play: Play) -> None:
    process = play("--episodes", "100", "--rpm", "1200")
    run = changing.runs.list().items[0]
    answer = writer.post(f"/api/runs/{run.id}/stop")
    assert answer.status_code == 200
    assert answer.json()["stop_requested"]
    assert process.wait(PATIENCE) == 3
    assert changing.runs.get(run.id).status is RunStatus.STOPPED


def test_stopping_a_run_that_is_over_changes_nothing(writer: httpx.Client, changing: Store) -> None:
    run = changing.runs.list().items[0]
    answer = writer.post(f"/api/runs/{run.id}/stop")
    assert (answer.status_code, answer.json()["state"]) == (200, "finished")


def test_a_run_without_a_process_cannot_be_stopped_but_resumed(
    writer: httpx.Client, changing: Store, play: Play, attended: None
) -> None:
    run = killed(changing, play, 6)
    answer = writer.post(f"/api/runs/{run.id}/stop")
    assert answer.status_code == 409
    assert f"mesocosm run resume {run.id}" in answer.json()["detail"]
    started = writer.post(f"/api/runs/{run.id}/resume")
    assert started.status_code == 202, started.text
    assert started.json()["id"] == run.id
    ended = until(changing, run.id, lambda run: run.status is RunStatus.FINISHED)
    assert ended.counts.completed == 6


def test_the_process_of_a_resumed_run_outlives_the_server(
    writer: httpx.Client, changing: Store, play: Play, attended: None
) -> None:
    run = killed(changing, play, 100)
    assert writer.post(f"/api/runs/{run.id}/resume").status_code == 202
    holder = changing.runs.get(run.id).holder
    assert holder is not None
    assert os.getsid(holder.pid) == holder.pid


def test_of_two_that_resume_a_run_at_once_one_is_refused(
    writer: httpx.Client, changing: Store, play: Play, attended: None
) -> None:
    run = killed(changing, play, 100)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: writer.post(f"/api/runs/{run.id}/resume"), range(2)))
    assert sorted(answer.status_code for answer in answers) == [202, 409]
    refused = next(answer for answer in answers if answer.status_code == 409)
    assert "is worked on by process" in refused.json()["detail"]


def test_nothing_is_resumed_when_nothing_is_owed(writer: httpx.Client, changing: Store) -> None:
    run = changing.runs.list().items[0]
    answer = writer.post(f"/api/runs/{run.id}/resume?retry_failed=true")
    assert answer.status_code == 409
    assert "no episode is pending" in answer.json()["detail"]


def test_a_refusal_has_the_words_of_the_program(
    writer: httpx.Client, changing: Store, play: Play, records: Any
) -> None:
    run = changing.runs.add(records.run(status=RunStatus.STOPPED))
    for action in ("resume", "rescore"):
        answer = writer.post(f"/api/runs/{run.id}/{action}")
        assert answer.status_code == 400
        assert "/words.json" in answer.json()["detail"]


def test_a_run_is_rescored(writer: httpx.Client, changing: Store) -> None:
    run = changing.runs.list().items[0]
    answer = writer.post(f"/api/runs/{run.id}/rescore")
    assert answer.status_code == 202, answer.text
    assert "rescored_at" in until(changing, run.id, lambda run: "rescored_at" in run.provenance).provenance


def test_tags_are_replaced(writer: httpx.Client, changing: Store) -> None:
    run = changing.runs.list().items[0]
    answer = writer.patch(f"/api/runs/{run.id}", json={"tags": [" new ", "new", "Größe"]})
    assert answer.json()["tags"] == ["new", "Größe"]
    assert changing.runs.get(run.id).tags == ("new", "Größe")


@pytest.mark.parametrize("tags", [[""], ["a" * 101], ["two\nlines"], ["bell\x07"], ["t"] * 51])
def test_tags_that_cannot_be_are_refused_and_the_old_ones_stay(
    writer: httpx.Client, changing: Store, tags: list[str]
) -> None:
    run = changing.runs.list().items[0]
    changing.runs.set_tags(run.id, ["old"])
    answer = writer.patch(f"/api/runs/{run.id}", json={"tags": tags})
    assert answer.status_code == 422
    assert answer.json()["problems"]
    assert changing.runs.get(run.id).tags == ("old",)


def test_a_run_is_deleted(writer: httpx.Client, changing: Store) -> None:
    run = changing.runs.list().items[0]
    assert writer.delete(f"/api/runs/{run.id}").status_code == 204
    assert writer.get(f"/api/runs/{run.id}").status_code == 404


def test_a_run_that_is_worked_on_is_not_deleted(writer: httpx.Client, changing: Store, play: Play) -> None:
    play("--episodes", "100", "--rpm", "1200")
    run = changing.runs.list().items[0]
    answer = writer.delete(f"/api/runs/{run.id}")
    assert answer.status_code == 409
    assert f"mesocosm run stop {run.id}" in answer.json()["detail"]
    assert not abandoned(changing.runs.get(run.id))


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "stop"), ("POST", "resume"), ("POST", "rescore"), ("PATCH", ""), ("DELETE", "")]
)
def test_what_is_done_to_an_unknown_run_is_not_found(writer: httpx.Client, method: str, path: str) -> None:
    body = json.dumps({"tags": []}) if method == "PATCH" else None
    answer = writer.request(method, f"/api/runs/nothing/{path}".rstrip("/"), content=body)
    assert answer.status_code in {404, 422}


def test_a_password_goes_into_the_environment_and_never_into_a_command_line(changing: Store) -> None:
    url = "postgresql://me:secret-word@127.0.0.1/results"
    place = workplace(changing.place, url)
    assert place.words == ()
    assert place.variables == {"MESOCOSM_DATABASE_URL": url}


def test_a_results_directory_is_named_by_its_whole_path(changing: Store) -> None:
    assert workplace(changing.place).words == ("--results-dir", str(Path(changing.place).parent.absolute()))
