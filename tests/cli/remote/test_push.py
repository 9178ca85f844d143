"""`mesocosm push` against a served platform, with runs of each kind that were played here."""

import asyncio
import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.local_runs import command, ids, play_benchmark, play_environment, play_half_of_a_rollout, play_rollout

from mesocosm.client import datasets as client_datasets
from mesocosm.client.error import ApiError
from mesocosm.client.run_imports import RunImportsResource
from mesocosm.core.run import RunStatus
from mesocosm.server.workers.run_imports import import_run
from mesocosm.store import open_store
from mesocosm.store import run_imports as store_imports
from mesocosm.store.revision import DATABASE_NAME

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Platform

pytestmark = pytest.mark.usefixtures("forked_checks")

SENT: list[int] = []
"""Numbers of the parts that were sent."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_imports, "PART_BYTES", 2_000)
    monkeypatch.setattr(client_datasets, "WAITS", (0.0, 0.0))
    real = RunImportsResource.put_part

    def put_part(self: RunImportsResource, import_id: str, part: int, data: bytes) -> Any:
        answer = real(self, import_id, part, data)
        SENT.append(part)
        return answer

    monkeypatch.setattr(RunImportsResource, "put_part", put_part)
    SENT.clear()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with runs of each kind: an environment with two agents, a rollout, a benchmark."""
    place = tmp_path_factory.mktemp("laptop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MESOCOSM_NO_VIEW", "1")
        play_environment(place)
        play_rollout(place, place / "workspace")
        play_benchmark(place)
    return place


@pytest.fixture
def here(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results directory of the command lines."""
    place = tmp_path / "laptop"
    shutil.copytree(played, place)
    monkeypatch.setenv("MESOCOSM_RESULTS_DIR", str(place))
    return place


@pytest.fixture
def reef(platform: "Platform") -> Iterator["Platform"]:
    """A platform that Ann is logged in to, and that checks runs as a worker does."""
    platform.is_now("ann")
    over = threading.Event()

    def check() -> None:
        while not over.wait(0.01):
            claimed = platform.service.store.run_imports.claim("worker", 60.0)
            if claimed is not None:
                asyncio.run(import_run(platform.service, claimed))

    worker = threading.Thread(target=check)
    worker.start()
    yield platform
    over.set()
    worker.join()


def pushed(reef: "Platform", run_id: str, *words: str) -> Any:
    """Push a run and return the document."""
    done = reef("push", run_id, *words, "--json")
    assert done.code == 0, done.err
    return done.document


@pytest.mark.parametrize("place", range(4), ids=["floor", "ceiling", "rollout", "benchmark"])
def test_a_run_of_each_kind_has_the_same_numbers_on_the_server(reef: "Platform", here: Path, place: int) -> None:
    run_id = ids(here)[place]
    done = reef("push", run_id)
    assert done.code == 0, done.err
    assert "computed again there, all the same" in done.out
    (there,) = reef.service.store.runs.ids()
    assert f"{reef.url}/runs/{there}" in done.out
    mine = reef("run", "show", run_id, "--json").document["run"]
    store = open_store(here / DATABASE_NAME)
    assert reef.service.store.runs.get(there).metrics == store.runs.get(run_id).metrics
    store.close()
    shown = reef("run", "show", there, "--remote")
    assert shown.code == 0, shown.err
    assert f"{mine['metrics'][0]['value']:.4f}" in shown.out
    assert "imported" in shown.out


def test_a_run_is_named_as_everywhere(reef: "Platform", here: Path) -> None:
    assert pushed(reef, "last")["local_run_id"] == ids(here)[-1]


def test_the_same_run_again_sends_nothing(reef: "Platform", here: Path) -> None:
    first = pushed(reef, "last")
    assert (first["status"], first["already"]) == ("imported", False)
    SENT.clear()
    again = pushed(reef, "last")
    assert (again["id"], again["run_id"], again["already"]) == (first["id"], first["run_id"], True)
    assert SENT == []
    assert "is there already, since" in reef("push", "last").out
    assert len(reef.service.store.runs.ids()) == 1


def test_an_interrupted_push_continues(reef: "Platform", here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    through = RunImportsResource.put_part

    def interrupted(self: RunImportsResource, import_id: str, part: int, data: bytes) -> Any:
        if part == 3:
            raise KeyboardInterrupt
        return through(self, import_id, part, data)

    floor = ids(here)[0]
    with monkeypatch.context() as patch:
        patch.setattr(RunImportsResource, "put_part", interrupted)
        done = reef("push", floor)
    assert (done.code, "repeat the command to continue the push" in done.err) == (130, True)
    assert SENT == [1, 2]
    done = reef("push", floor)
    assert done.code == 0, done.err
    assert "2 of " in done.err
    assert SENT[:3] == [1, 2, 3]
    assert len(set(SENT)) == len(SENT)


def test_lost_connections_are_continued(reef: "Platform", here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    through, lost = RunImportsResource.put_part, set[int]()

    def losing(self: RunImportsResource, import_id: str, part: int, data: bytes) -> Any:
        if part not in lost:
            lost.add(part)
            raise ApiError("PUT", "/", 0, "the connection was lost")
        return through(self, import_id, part, data)

    monkeypatch.setattr(RunImportsResource, "put_part", losing)
    done = reef("push", ids(here)[0])
    assert done.code == 0, done.err
    assert "the connection was lost; trying again" in done.err


def test_a_stopped_run_is_pushed_again_when_it_has_gone_on(
    reef: "Platform", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "half"
    monkeypatch.setenv("MESOCOSM_RESULTS_DIR", str(place))
    run_id = play_half_of_a_rollout(place, tmp_path / "workspace")
    first = reef("push", run_id)
    assert first.code == 0, first.err
    assert "computed again there, all the same" in first.out
    assert "4 episodes pending; push it again when it has gone on" in first.err
    (there,) = reef.service.store.runs.ids()
    store = reef.service.store
    assert (store.runs.get(there).status, store.runs.get(there).counts.done) == ("stopped", 4)
    began = store.run_requests.get(there)
    command(place, "run", "resume", run_id, "--quiet")
    again = reef("push", run_id)
    assert again.code == 0, again.err
    assert "computed again there, all the same" in again.out
    assert store.runs.ids() == [there]
    assert (store.runs.get(there).status, store.runs.get(there).counts.done) == ("finished", 8)
    went_on = store.run_requests.get(there)
    assert began is not None
    assert went_on is not None
    assert went_on.created_at == began.created_at
    assert went_on.config["imported"]["chain"].startswith("8:")
    assert store.verification.check_run(there).damages == ()


def test_a_run_whose_process_is_gone_is_refused_until_it_was_ended(reef: "Platform", here: Path) -> None:
    with closing(sqlite3.connect(here / DATABASE_NAME)) as connection, connection:
        connection.execute("UPDATE runs SET status = 'running', ended_at = NULL, holder = NULL")
    done = reef("push", "last")
    assert (done.code, "its process is gone; continue it with" in done.err) == (2, True), done.err
    assert reef.service.store.run_imports.list("user:1", limit=9) == []
    assert reef("bench", "recover-stale-runs", "--stale-seconds", "0").code == 0
    assert pushed(reef, "last")["status"] == "imported"


def test_a_run_that_is_played_at_the_moment_is_refused(reef: "Platform", here: Path) -> None:
    store = open_store(here / DATABASE_NAME)
    run = store.runs.get(ids(here)[-1])
    store.leases.take(run.id, store.leases.owner())
    run.status, run.ended_at = RunStatus.RUNNING, None
    store.runs.save(run)
    done = reef("push", "last")
    assert (done.code, "is running; push it when it has ended" in done.err) == (2, True), done.err
    store.close()
    assert reef.service.store.run_imports.list("user:1", limit=9) == []


def test_a_run_that_is_damaged_here_is_not_sent(reef: "Platform", here: Path) -> None:
    with closing(sqlite3.connect(here / DATABASE_NAME)) as connection, connection:
        connection.execute("UPDATE scores SET value = 0.75")
    done = reef("push", "last")
    assert done.code == 1, done.out
    assert "which is damaged here, so nothing was sent" in done.err
    assert reef.service.store.run_imports.list("user:1", limit=9) == []


def test_a_secret_that_was_set_since_is_not_sent(reef: "Platform", here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(here / DATABASE_NAME)
    told = store.runs.get(ids(here)[2]).benchmark_digest
    store.close()
    monkeypatch.setenv("SEARCH_API_KEY", told)
    done = reef("push", ids(here)[2])
    assert (done.code, "holds the value of SEARCH_API_KEY" in done.err) == (2, True), done.err
    assert told not in done.err
    assert reef.service.store.run_imports.list("user:1", limit=9) == []


def test_what_the_server_refuses_is_told(reef: "Platform", here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mesocosm.cli.remote import push

    pack = push._pack

    def truncated(store: Any, run: Any, file: Path) -> None:
        pack(store, run, file)
        file.write_bytes(file.read_bytes()[:-30])

    monkeypatch.setattr(push, "_pack", truncated)
    done = reef("push", "last")
    assert done.code == 1
    assert "which the server refused" in done.err
    assert "not a bundle" in done.err
    refused = reef("push", "last", "--json")
    assert (refused.code, refused.document["status"], refused.document["url"]) == (1, "error", None)


def test_who_is_not_logged_in_is_told_how(platform: "Platform", here: Path) -> None:
    done = platform("push", "last")
    assert (done.code, "mesocosm auth login" in done.err) == (1, True), done.err


def test_an_unknown_run_is_refused(reef: "Platform", here: Path) -> None:
    done = reef("push", "nothing-of-that-name")
    assert done.code != 0
    assert "nothing-of-that-name" in done.err


def test_a_run_goes_to_the_active_workspace_unless_told_otherwise(
    reef: "Platform", here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pushed(reef, "last")["workspace_id"] is None
    assert reef("workspace", "create", "Reef", "--use").code == 0
    there = pushed(reef, "last")
    assert there["workspace_id"] is not None
    assert pushed(reef, "last", "--workspace", "Reef")["run_id"] == there["run_id"]
    assert "note: in the workspace 'Reef'" in reef("push", "last").err
    assert pushed(reef, "last", "--solo")["workspace_id"] is None
    assert reef("workspace", "clear").code == 0
    monkeypatch.setenv("MESOCOSM_WORKSPACE", "Reef")
    assert pushed(reef, "last")["run_id"] == there["run_id"]
    both = reef("push", "last", "--workspace", "Reef", "--solo")
    assert (both.code, "give one of these options" in both.err) == (2, True)
    assert reef("push", "last", "--workspace", "Elsewhere").code != 0
    assert json.loads(reef("push", "last", "--json").out)["already"] is True
