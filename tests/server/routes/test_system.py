"""What a platform says of itself."""

import re
import time
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from mesocosm import __version__
from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, LeaseOwner, Run, RunSpec, RunStatus
from mesocosm.store.lease_owner import this_process
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.workers import Worker

if TYPE_CHECKING:
    from tests.server.routes.conftest import Hosted, OpenHosted

BESIDE = {"X-Forwarded-For": "203.0.113.7"}


def ordered(hosted: "Hosted", state: str = "queued", *, status: RunStatus = RunStatus.PENDING, at: float = 1.0) -> str:
    """Put a run and its order into the store; return its id."""
    spec = RunSpec(BenchmarkRef("hosted", "words"), ModelSettings("builtin/random"))
    names = ("benchmark", "benchmark_title", "benchmark_version", "benchmark_digest", "kind", "model", "agent")
    told: dict[str, Any] = dict.fromkeys(names, "words")
    run = Run(id=new_id(), signature=new_id(), **told, spec=spec, created_at=at, status=status)
    hosted.service.store.runs.add(run)
    order = RunRequest(
        run_id=run.id,
        actor="guest:7",
        domain_id="words",
        vow_version="1.0.0",
        model="builtin/random",
        state=state,
        created_at=at,
        ended_at=at if state in {"ended", "cancelled"} else None,
        reason="the sky fell" if state == "ended" else "",
    )
    hosted.service.store.run_requests.add(order)
    return run.id


def test_programs_get_a_document_at_the_root_and_browsers_the_web_app(hosted: "Hosted") -> None:
    told = hosted.anonymous.get("/").json()
    assert (told["service"], told["version"], told["health"]) == ("mesocosm", __version__, "/health")
    page = hosted.anonymous.get("/", headers={"Accept": "text/html,*/*;q=0.8"})
    assert page.headers["content-type"].startswith("text/html")


def test_paths_at_the_root_carry_the_prefix(open_hosted: "OpenHosted") -> None:
    assert open_hosted(prefix="/bench").anonymous.get("/").json()["openapi"] == "/bench/openapi.json"


def test_health_is_asked_of_the_store(hosted: "Hosted") -> None:
    assert hosted.anonymous.get("/health").json() == {"status": "ok", "version": __version__}


def test_where_the_database_lies_is_not_told_to_people(hosted: "Hosted") -> None:
    ada, database = hosted.member("ada"), hosted.service.store.database
    database.write(lambda connection: connection.exec_driver_sql("DROP TABLE domains"))
    answer = ada.get("/api/domains")
    assert answer.status_code == 503
    assert database.place not in answer.text
    assert "cannot use its database at the moment" in answer.json()["detail"]


def test_the_page_of_routes_names_each_and_loads_nothing(hosted: "Hosted") -> None:
    answer = hosted.anonymous.get("/docs")
    loaded: list[str] = []

    class Loaded(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            loaded.extend(value or "" for name, value in attrs if name == "src" or (tag == "link" and name == "href"))

    Loaded().feed(answer.text)
    assert loaded == []
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    document = hosted.anonymous.get("/openapi.json").json()
    assert all(re.search(re.escape(path), answer.text) for path in document["paths"])
    assert hosted.anonymous.get("/redoc").text == answer.text


def test_numbers_are_for_administrators_and_programs_beside_the_server(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(worker_secret="a-secret-of-workers")
    assert hosted.anonymous.get("/metrics").status_code == 200
    assert hosted.anonymous.get("/metrics", headers=BESIDE).status_code == 401
    assert hosted.member("ada").get("/metrics", headers=BESIDE).status_code == 403
    assert hosted.admin().get("/metrics", headers=BESIDE).status_code == 200
    secret = {**BESIDE, "Authorization": "Bearer a-secret-of-workers"}
    assert hosted.anonymous.get("/metrics", headers=secret).status_code == 200


def test_numbers_tell_of_the_queue(hosted: "Hosted") -> None:
    ordered(hosted, at=time.time() - 50)
    ordered(hosted, "claimed")
    text = hosted.anonymous.get("/metrics").text
    assert "mesocosm_queue_length 1.0" in text
    assert 'mesocosm_orders{status="claimed"} 1.0' in text
    age = re.search(r"mesocosm_queue_age_seconds ([0-9.]+)", text)
    assert age is not None
    assert 49 < float(age[1]) < 200


def test_numbers_tell_an_autoscaler_what_waits_and_how_busy_the_workers_are(hosted: "Hosted") -> None:
    ordered(hosted)
    ordered(hosted, "claimed")
    now = time.time()
    workers = hosted.service.store.workers
    workers.add(Worker("busy", this_process(), "1.0", 4, 1, now - 60, now, slots=8, busy=6))
    workers.add(Worker("silent", this_process(), "1.0", 4, 1, now - 600, now - 500, slots=8, busy=8))
    text = hosted.anonymous.get("/metrics").text
    for line in (
        'mesocosm_queue_depth{kind="environment"} 1.0',
        'mesocosm_queue_depth{kind="rollout"} 0.0',
        "mesocosm_worker_slots 8.0",
        "mesocosm_worker_slots_busy 6.0",
        "mesocosm_helpers 0.0",
        "mesocosm_seats_free 0.0",
    ):
        assert line in text


def test_numbers_tell_how_long_a_worker_was_not_heard_of(hosted: "Hosted") -> None:
    began = time.time()
    for name, silent in (("lively", 1.0), ("hanging", 50.0)):
        hosted.service.store.workers.add(Worker(name, this_process(), "1.0", 4, 1, began - 60, began - silent))
    found = re.search(r"mesocosm_worker_silence_seconds ([0-9.]+)", hosted.anonymous.get("/metrics").text)
    assert found is not None
    assert 49 < float(found[1]) < 200


def test_the_state_is_for_administrators(hosted: "Hosted") -> None:
    assert hosted.anonymous.get("/api/admin/status").status_code == 401
    assert hosted.guest().get("/api/admin/status").status_code == 403
    assert hosted.member("ada").get("/api/admin/status").status_code == 403


def test_the_state_has_the_runs_that_failed_last_first(hosted: "Hosted") -> None:
    first = ordered(hosted, "ended", status=RunStatus.FAILED, at=3.0)
    second = ordered(hosted, "cancelled", status=RunStatus.STOPPED, at=5.0)
    ordered(hosted, "ended", status=RunStatus.FINISHED, at=7.0)
    told = hosted.admin().get("/api/admin/status").json()
    assert [(found["run_id"], found["status"]) for found in told["recent_failures"]] == [
        (second, "cancelled"),
        (first, "failed"),
    ]
    assert told["recent_failures"][1]["reason"] == "the sky fell"
    assert told["counts"]["orders"] == {"cancelled": 1, "ended": 2}
    assert told["counts"]["runs"] == {"cancelled": 1, "completed": 1, "failed": 1}


def test_the_state_counts_runs_in_the_words_of_their_documents(hosted: "Hosted") -> None:
    ordered(hosted)
    at_a_budget = ordered(hosted, "ended", status=RunStatus.STOPPED)
    ordered(hosted, "cancelled", status=RunStatus.FINISHED)
    told = hosted.admin().get("/api/admin/status").json()
    assert told["counts"]["runs"] == {"completed": 1, "failed": 1, "pending": 1}
    assert [found["run_id"] for found in told["recent_failures"]] == [at_a_budget]


def test_the_state_says_which_workers_live(hosted: "Hosted") -> None:
    me, now = this_process(), time.time()
    gone = LeaseOwner(me.host, 2**22 + 1, me.started, me.boot)
    for holder in (me, gone):
        hosted.service.store.workers.add(Worker(new_id(), holder, "1", 8, 2, now, now))
    told = hosted.admin().get("/api/admin/status").json()
    assert {worker["pid"]: worker["alive"] for worker in told["workers"]} == {me.pid: True, gone.pid: False}
    assert told["in_flight"]["sandbox_reachable"] is True


def test_a_slash_too_many_is_unknown_whatever_the_method(hosted: "Hosted") -> None:
    for method, path in (("GET", "/health/"), ("GET", "/api/runs/"), ("POST", "/api/runs/"), ("GET", "/api")):
        answer = hosted.anonymous.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (method, path)
        assert "; /openapi.json lists" in answer.json()["detail"]


def test_a_method_that_a_path_does_not_have_is_told_with_those_that_it_has(hosted: "Hosted") -> None:
    answer = hosted.anonymous.request("PUT", "/v1/runs", headers={"X-Mesocosm": "1"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
