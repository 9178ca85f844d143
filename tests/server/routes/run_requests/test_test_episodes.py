"""Test episodes and benches: played at once, waited for, for those whose domain it is."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import update
from tests.server.routes.run_requests.conftest import DOMAIN, Runs
from tests.server.routes.run_requests.test_asking import environment

from mesocosm.server import adapters
from mesocosm.server.workers.cleanup import clean
from mesocosm.server.workers.worker import work
from mesocosm.store.run_requests import RunRequestFilter
from mesocosm.store.tenancy import batch_runs, requests

OpenRuns = Callable[..., Runs]
SECRET = "the secret of the workers"


class Worker:
    """A worker in a thread of this process."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        self._loop.run_until_complete(work(self._runs.service, stop=self._stop))
        self._loop.close()

    def end(self) -> None:
        """Let it end, and wait for that."""
        self._runs.world.release.set()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        adapters.bind(self._runs.service)


@pytest.fixture
def worked(runs: Runs) -> Iterator[Runs]:
    """A platform with a worker."""
    worker = Worker(runs)
    yield runs
    worker.end()


def asked(runs: Runs, **given: Any) -> dict[str, Any]:
    """Return the body of a test episode."""
    body = runs.body(**given)
    del body["num_episodes"]
    return body


def test_the_owner_of_a_domain_plays_an_episode_and_gets_it(worked: Runs) -> None:
    answer = worked.ann.post("/v1/test/episode", asked(worked, seed=7))
    assert answer.status_code == 200, answer.text
    episode = answer.json()
    assert (episode["seed"], episode["status"], episode["total_reward"]) == (7, "completed", 1.0)
    detail = worked.ann.get(f"/api/episodes/{episode['id']}").json()
    assert (detail["state"], detail["terminal_info"]) == ("completed", episode["terminal_info"])
    (order,) = worked.service.store.run_requests.list(RunRequestFilter(actor=f"user:{worked.ann.user_id}"))
    assert (order.purpose, order.visibility) == ("test", "private")
    assert worked.ann.get("/v1/runs").json() == []
    assert worked.cid.get(f"/api/episodes/{episode['id']}").status_code == 404


def test_an_episode_that_fails_comes_back_with_its_reason(worked: Runs) -> None:
    worked.world.failing.add(0)
    episode = worked.ann.post("/v1/test/episode", asked(worked)).json()
    assert (episode["status"], episode["failure"]["cause"]) == ("failed", "environment_error")
    assert "acct-4711" in str(episode["failure"])
    assert episode["terminal_info"]["error"]


def test_an_episode_that_takes_too_long_goes_on_and_is_named(open_runs: OpenRuns) -> None:
    runs = open_runs(test_episode_s=0.2)
    answer = runs.ann.post("/v1/test/episode", asked(runs))
    assert answer.status_code == 504
    (order,) = runs.service.store.run_requests.list()
    assert f"`mesocosm run watch {order.run_id}` follows its run" in answer.json()["detail"]
    runs.play()
    assert runs.ann.get(f"/v1/runs/{order.run_id}").json()["status"] == "completed"


def test_test_episodes_are_for_those_whose_domain_it_is(runs: Runs) -> None:
    people = (runs.cid, runs.hosted.guest(), runs.hosted.anonymous)
    assert [person.post("/v1/test/episode", asked(runs)).status_code for person in people] == [403, 403, 401]
    assert runs.ann.post("/v1/test/episode", asked(runs, domain_id="no-domain")).status_code == 404
    assert runs.service.store.run_requests.count(RunRequestFilter()) == 0


def test_an_address_of_ones_own_is_checked(open_runs: OpenRuns) -> None:
    runs = open_runs(private_env_urls=False)
    for url in ("http://127.0.0.1:1", "http://2130706433/", "http://localhost./", "file:///etc/passwd"):
        answer = runs.ann.post("/v1/test/episode", asked(runs, env_url=url))
        assert (answer.status_code, "URL" in answer.text) == (422, True), answer.text


def bench(open_runs: OpenRuns) -> Runs:
    """Return a platform with two models for full benches, and an environment."""
    models = [
        {"name": "builtin/random", "full_bench": True},
        {"name": "builtin/oracle", "full_bench": True},
        {"name": "builtin/empty"},
    ]
    runs = open_runs(models=models, full_bench_episodes=2, worker_secret=SECRET, cooldown_s=60.0)
    runs.domain("built-game", endpoint={"mode": "sandbox", "url": None})
    environment(runs, "env-1", "built-game")
    return runs


def test_a_full_bench_asks_for_a_run_of_each_model_in_ones_own_name(open_runs: OpenRuns) -> None:
    runs = bench(open_runs)
    answer = runs.ann.post("/api/batch-runs", {"env_id": "env-1"})
    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert (job["status"], job["env_id"], job["domain_id"]) == ("queued", "env-1", "built-game")
    assert [result["model"] for result in job["model_results"]] == ["builtin/random", "builtin/oracle"]
    for result in job["model_results"]:
        run = runs.ann.get(f"/v1/runs/{result['run_id']}").json()
        assert (run["purpose"], run["planned"], run["requester_id"]) == ("full_bench", 2, str(runs.ann.user_id))
    assert runs.ann.get("/api/batch-runs").json() == [job]
    assert runs.ann.get("/api/batch-runs?status=failed").json() == []
    assert runs.cid.get("/api/batch-runs").json() == []
    assert runs.cid.get(f"/api/batch-runs/{job['id']}").status_code == 404
    assert runs.cid.post("/api/batch-runs", {"env_id": "env-1"}).status_code == 404
    # The cooldown counts the job once.
    assert runs.ann.post("/api/batch-runs", {"env_id": "env-1"}).status_code == 429


def test_a_job_ends_with_its_runs(open_runs: OpenRuns) -> None:
    runs = bench(open_runs)
    job = runs.ann.post("/api/batch-runs", {"env_id": "env-1"}).json()
    for result in job["model_results"]:
        runs.ann.post(f"/api/runs/{result['run_id']}/stop")
    after = runs.ann.get(f"/api/batch-runs/{job['id']}").json()
    assert (after["status"], [result["status"] for result in after["model_results"]]) == ("failed", ["cancelled"] * 2)


def test_a_program_with_the_secret_carries_a_bench_out(open_runs: OpenRuns) -> None:
    runs = bench(open_runs)
    job = runs.ann.post("/api/batch-runs", {"env_id": "env-1"}).json()
    path = f"/api/batch-runs/{job['id']}"
    worker = {"Authorization": f"Bearer {SECRET}"}
    nobody = runs.hosted.anonymous

    def change(what: str, headers: dict[str, str]) -> Any:
        body = {"model_results": [{"model": "a", "mean": 1.0}]} if what == "complete" else None
        return nobody.request("POST", f"{path}/{what}", json=body, headers=headers)

    assert [item["id"] for item in nobody.get("/api/batch-runs", headers=worker).json()] == [job["id"]]
    assert nobody.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert nobody.get(path).status_code == 401
    assert change("claim", {"Authorization": "Bearer wrong"}).status_code == 401
    assert change("complete", worker).status_code == 409
    assert change("claim", worker).json()["status"] == "running"
    assert change("claim", worker).status_code == 409
    assert runs.service.store.run_requests.count(RunRequestFilter(states=("queued", "claimed"))) == 0
    done = change("complete", worker).json()
    assert (done["status"], done["model_results"][0]["model"]) == ("completed", "a")
    assert change("complete", worker).status_code == 409
    assert nobody.request("POST", "/api/batch-runs/no-job/claim", headers=worker).status_code == 404


def counted(runs: Runs) -> dict[str, int]:
    """Return how many full benches there are by where they stand, as administrators are told."""
    return runs.service.store.counts.take(60.0).batch_runs


def claimed_long_ago(runs: Runs) -> str:
    """Return the path of a full bench that a program outside claimed yesterday."""
    job = runs.ann.post("/api/batch-runs", {"env_id": "env-1"}).json()
    path = f"/api/batch-runs/{job['id']}"
    headers = {"Authorization": f"Bearer {SECRET}"}
    assert runs.hosted.anonymous.request("POST", f"{path}/claim", headers=headers).status_code == 200
    assert runs.service.store.batch_runs.take_back(3600.0) == 0
    database, before = runs.service.store.database, time.time() - 86_400
    database.write(lambda connection: connection.execute(update(requests).values(ended_at=before)))
    database.write(lambda connection: connection.execute(update(batch_runs).values(created_at=before)))
    return path


def test_a_bench_whose_program_outside_never_reports_goes_back_to_the_workers(open_runs: OpenRuns) -> None:
    runs = bench(open_runs)
    path = claimed_long_ago(runs)
    assert counted(runs) == {"running": 1}
    assert clean(runs.service).benches_taken_back == 1
    job = runs.ann.get(path).json()
    assert (job["status"], [result["status"] for result in job["model_results"]]) == ("queued", ["pending"] * 2)
    assert counted(runs) == {"queued": 1}
    assert runs.service.store.queue.claim("worker", 30.0, 9) is not None
    assert runs.ann.get(path).json()["status"] == "running"
    assert counted(runs) == {"running": 1}


def test_a_bench_that_was_taken_back_can_be_claimed_again(open_runs: OpenRuns) -> None:
    runs = bench(open_runs)
    path, headers = claimed_long_ago(runs), {"Authorization": f"Bearer {SECRET}"}
    assert runs.hosted.anonymous.request("POST", f"{path}/claim", headers=headers).json()["status"] == "running"
    assert runs.service.store.run_requests.count(RunRequestFilter(states=("queued", "claimed"))) == 0
    body = {"model_results": [{"model": "a"}]}
    done = runs.hosted.anonymous.request("POST", f"{path}/complete", json=body, headers=headers).json()
    assert done["status"] == "completed"
    assert counted(runs) == {"completed": 1}


def test_a_bench_that_nobody_can_carry_out_any_more_fails_with_the_reason(open_runs: OpenRuns) -> None:
    runs = bench(open_runs)
    path = claimed_long_ago(runs)
    for result in runs.ann.get(path).json()["model_results"]:
        assert runs.ann.request("DELETE", f"/api/runs/{result['run_id']}").status_code in {200, 204}
    assert runs.service.store.batch_runs.take_back(1.0) == 1
    job = runs.ann.get(path).json()
    assert job["status"] == "failed"
    assert all("did not report" in result["error"] for result in job["model_results"])
    assert counted(runs) == {"failed": 1}


def test_without_a_secret_no_program_carries_benches_out(runs: Runs) -> None:
    answer = runs.hosted.anonymous.request("POST", "/api/batch-runs/x/claim", headers={"Authorization": "Bearer x"})
    assert answer.status_code == 503
    assert runs.hosted.anonymous.get("/api/batch-runs", headers={"Authorization": "Bearer x"}).status_code == 401
    assert runs.ann.post("/api/batch-runs", {"env_id": DOMAIN}).status_code == 404


def test_a_program_with_the_secret_may_claim_where_accounts_are_disabled(open_hosted: Any) -> None:
    anonymous = open_hosted(auth_disabled=True, worker_secret=SECRET).anonymous
    path = "/api/batch-runs/no-batch/claim"
    assert anonymous.post(path, headers={"Authorization": f"Bearer {SECRET}", "X-Mesocosm": "1"}).status_code == 404
    assert anonymous.post(path, headers={"X-Mesocosm": "1"}).status_code == 401
