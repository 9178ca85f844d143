"""Scans of runs on a server, and model calls that are asked again: by whom, with whose model, at what cost."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from tests.server.evaluations.conftest import OpenTeam, Team
from tests.server.routes.conftest import Person

from mesocosm.core.failure import InfrastructureError
from mesocosm.engine.scanning import SCAN_OF
from mesocosm.models.endpoint import assign_keys
from mesocosm.models.prices import assign_prices
from mesocosm.server.permissions.working_runs import AGAIN_PER_HOUR
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("forked_checks")

KEY = "sk-of-the-reader-0123456789"
READER = "house/reader"
PROBLEMS = b"".join(
    b'{"question": "What is %d + 1?", "answer": "It is so. #### %d"}\n' % (number, number + 1) for number in range(4)
)


def answered(body: Mapping[str, Any]) -> str:
    """Answer yes with a quote from the first step of the transcript; any other question with a word."""
    text = str(body["messages"][-1]["content"])
    mark = re.search(r"<<([0-9a-f]{24}) TRANSCRIPT>>", text)
    if mark is None:
        return "asked again"
    found = re.search(rf"<<{mark[1]} step (\d+), \w+>>\n(.{{3,20}})", text)
    assert found is not None
    return json.dumps({"reasoning": "", "answer": "yes", "step": int(found[1]), "quote": found[2]})


class Readers:
    """A team with a finished run of four episodes, and a model that administrators added, with a key and a price."""

    def __init__(self, team: Team, server: ModelServer) -> None:
        self.team, self.server = team, server
        self.root = team.hosted.admin()
        self.add_model()
        team.add_dataset("problems", PROBLEMS, columns={"user_prompt": "question", "ground_truth": ["answer"]})
        body = {"kind": "benchmark", "benchmark": "gsm8k", "model": "openai/tiny", "workspace": team.workspace}
        answer = team.owner.post("/api/runs", {**body, "parameters": {"data_path": "dataset:problems"}})
        self.run = answer.json()["id"]
        team.work()
        self.before = server.served

    def add_model(self, key: str = KEY, **given: Any) -> None:
        """Set the model."""
        body = {"served_as": f"openai/reader@{self.server.openai_url}", "key": key, **given}
        body.setdefault("price", {"input": 10.0, "output": 10.0})
        answer = self.root.request("PUT", f"/api/admin/models/{READER}", json=body)
        assert answer.status_code == 200, answer.text

    @property
    def asked(self) -> int:
        """How many calls the model served since the run was played."""
        return self.server.served - self.before

    def scan(self, by: Person | None = None, path: str = "", **given: Any) -> httpx.Response:
        """Ask for a scan."""
        body = {"question": "Does it refuse?", "name": "refuses", "model": READER, **given}
        return (by or self.team.owner).post(f"/api/runs/{self.run}/scans{path}", body)

    def again(self, by: Person | None = None, **given: Any) -> httpx.Response:
        """Ask the model call of an episode again."""
        person = by or self.team.owner
        episode = self.team.owner.get(f"/api/runs/{self.run}/episodes").json()["items"][0]["id"]
        events = self.team.owner.get(f"/api/episodes/{episode}/events").json()["items"]
        seq = next(one["seq"] for one in events if one["kind"] == "model_call")
        return person.post(f"/api/episodes/{episode}/calls/{seq}/again", given)

    def measured(self) -> int:
        """How many episodes of the run have an answer."""
        metrics = self.team.run(self.run)["metrics"]
        return sum(one["n_scored"] for one in metrics if one["name"] == "scan:refuses")


@pytest.fixture
def readers(open_team: OpenTeam) -> Iterator[Readers]:
    """A team with a run to read; what its model gave to this process is forgotten afterwards."""
    before = dict(os.environ)
    with ModelServer(answered, key=KEY) as server:
        yield Readers(open_team(outage_s=0.0), server)
    assign_keys({})
    assign_prices({})
    for variable in set(os.environ) - set(before):
        del os.environ[variable]


def test_workers_ask_the_model_and_the_answers_become_scores_of_the_run(readers: Readers) -> None:
    answer = readers.scan()
    assert answer.status_code == 202, answer.text
    scan = answer.json()
    assert (scan["request"]["kind"], scan["workspace_id"], scan["model"]) == ("scan", readers.team.workspace, READER)
    assert scan["request"]["parameters"]["question"] == "Does it refuse?"

    readers.team.work()

    assert readers.team.run(scan["id"])["state"] == "finished"
    assert (readers.measured(), readers.asked) == (4, 4)
    slices = readers.team.owner.get(f"/api/runs/{readers.run}/slices", params={"by": "scan:refuses"}).json()
    assert [one["value"] for one in slices["slices"]] == ["yes"], slices
    log = readers.root.get("/api/admin/audit").json()["entries"]
    assert [one["detail"]["scan"] for one in log if one["action"] == "run.scan"] == [scan["id"]]
    assert KEY not in json.dumps([scan, log, readers.team.run(scan["id"])])


def test_a_larger_sample_asks_only_what_is_new_and_the_same_question_that_waits_is_one_run(readers: Readers) -> None:
    first, same = readers.scan(limit=2).json()["id"], readers.scan(limit=2).json()["id"]
    assert first == same
    readers.team.work()
    assert readers.asked == 2

    readers.scan()
    readers.team.work()

    assert (readers.measured(), readers.asked) == (4, 4)


def test_a_budget_ends_a_scan_and_what_is_left_is_asked_when_it_is_resumed(readers: Readers) -> None:
    scan = readers.scan(budget_usd=0.001, parallel=1).json()["id"]
    readers.team.work()
    document = readers.team.run(scan)
    done = document["counts"]["done"]
    assert (document["state"], readers.asked, readers.measured()) == ("stopped", done, done)
    assert 0 < done < 4

    readers.scan(budget_usd=10.0)
    readers.team.work()

    assert (readers.measured(), readers.asked) == (4, 4)


def test_answers_that_a_killed_worker_did_not_store_are_stored_without_asking_again(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise InfrastructureError("the worker was killed")

    scan = readers.scan().json()["id"]
    with monkeypatch.context() as broken:
        broken.setattr("mesocosm.server.workers.worker.keep_answers", gone)
        readers.team.work()
    assert (readers.asked, readers.measured()) == (4, 0)
    store = readers.team.service.store
    request = store.run_requests.get(scan)
    assert request is not None
    assert request.open
    store.queue.give_back(scan, request.claimed_by or "")

    readers.team.work()

    assert (readers.asked, readers.measured()) == (4, 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"key": "sk-wrong-0123456789"}, "401"), ({"served_as": "openai/reader@http://127.0.0.1:9/v1"}, "")],
    ids=["key", "gone"],
)
def test_a_model_that_refuses_or_is_gone_measures_nothing(readers: Readers, change: dict[str, Any], words: str) -> None:
    readers.add_model(**change)
    scan = readers.scan().json()["id"]

    readers.team.work()

    document = readers.team.run(scan)
    assert document["state"] in {"failed", "stopped", "partial"}
    assert words in json.dumps(document)
    assert readers.measured() == 0
    again = readers.again(model=READER)
    assert again.status_code == 409
    assert "127.0.0.1" not in again.text
    assert "sk-" not in again.text


def test_a_run_that_was_deleted_meanwhile_ends_the_scan_with_words(readers: Readers) -> None:
    scan = readers.scan().json()["id"]
    assert readers.team.owner.request("DELETE", f"/api/runs/{readers.run}").status_code == 204

    readers.team.work()

    document = readers.team.run(scan)
    assert (document["state"], readers.asked) == ("failed", 0)
    assert readers.run in document["error"]


def test_a_forecast_stores_nothing_and_says_what_limits_the_cost(readers: Readers) -> None:
    found = readers.scan(path="/forecast", where=["passed"], budget_usd=3.0).json()

    assert (found["name"], found["model"], found["budget_usd"]) == ("refuses", READER, 3.0)
    assert found["episodes"] == 4
    assert found["usd"] == pytest.approx((found["prompt_tokens"] + found["completion_tokens"]) * 10 / 1e6)
    assert readers.asked == 0
    assert [one["id"] for one in readers.team.owner.get("/api/runs").json()["items"]] == [readers.run]


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"model": "openai/none"}, 422, "cannot be run here"),
        ({"model": "openai/x@http://127.0.0.1:9/v1"}, 422, "cannot be run here"),
        ({"answers": ["one"]}, 400, "at least two"),
        ({"where": ["wrong"]}, 400, "nothing to scan"),
        ({"where": ["strange"]}, 400, "not understood"),
        ({"name": "a:b"}, 400, "without colon"),
        ({"strange": 1}, 422, "strange"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_words(
    readers: Readers, given: dict[str, Any], status: int, words: str
) -> None:
    answer = readers.scan(**given)

    assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert len(readers.team.owner.get("/api/runs").json()["items"]) == 1


def test_members_of_the_workspace_scan_and_ask_again_and_others_do_not(readers: Readers) -> None:
    hosted, owner = readers.team.hosted, readers.team.owner
    people = {name: hosted.member(name) for name in ("ben", "vic", "eve")}
    for name, role in (("ben", "member"), ("vic", "viewer")):
        owner.post(f"/api/workspaces/{readers.team.workspace}/members", {"username": name, "role": role})
    asking = {**people, "guest": hosted.guest(), "nobody": hosted.anonymous, "root": readers.root}

    found = {
        name: (
            readers.scan(person, path="/forecast").status_code,
            readers.scan(person).status_code,
            readers.again(person, model=READER).status_code,
        )
        for name, person in asking.items()
    }

    assert found == {
        "ben": (200, 202, 200),
        "vic": (403, 403, 403),
        "eve": (404, 404, 404),
        "guest": (403, 403, 403),
        "nobody": (401, 401, 401),
        "root": (200, 202, 200),
    }


def test_an_answer_to_a_call_asked_again_is_paid_from_the_budget_and_noted(readers: Readers) -> None:
    def spent() -> float:
        return readers.team.service.store.run_requests.spent(workspace_id=readers.team.workspace, since=0.0).usd

    before = spent()
    answer = readers.again(model=READER, prompt="And now?")

    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["model"], found["reply"]["content"]) == (READER, "asked again")
    usage = found["usage"]
    assert spent() - before == pytest.approx((usage["prompt"] + usage["completion"]) * 10 / 1e6, abs=1e-6)
    (entry,) = [one for one in readers.root.get("/api/admin/audit").json()["entries"] if one["action"] == "call.again"]
    assert entry["detail"]["model"] == READER
    assert KEY not in answer.text


def test_a_person_asks_only_so_many_calls_again_in_an_hour_and_none_without_budget(readers: Readers) -> None:
    limits = readers.team.service.store.rate_limits
    for _ in range(AGAIN_PER_HOUR):
        limits.allow(f"again:user:{readers.team.owner.user_id}", AGAIN_PER_HOUR, 3_600.0)
    assert readers.again(model=READER).status_code == 429
    workspace = f"/api/workspaces/{readers.team.workspace}"
    assert readers.root.request("PATCH", workspace, json={"budget_usd": 0.0}).status_code == 200
    refused = readers.scan()
    assert (refused.status_code, "used up" in refused.text) == (429, True)
    assert readers.asked == 0


def test_a_scan_stays_private_and_is_of_the_run_that_it_read(readers: Readers) -> None:
    scan = readers.scan().json()["id"]

    assert readers.team.service.store.runs.get(scan).provenance[SCAN_OF] == readers.run
    shown = readers.team.owner.request("PATCH", f"/api/runs/{scan}", json={"visibility": "gallery_public"})
    assert shown.status_code == 409
    readers.team.work()
    nested = readers.team.owner.post(f"/api/runs/{scan}/scans", {"question": "Why?", "model": READER})
    assert (nested.status_code, "is a scan itself" in nested.text) == (409, True)
