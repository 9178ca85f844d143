"""Whatever was recorded comes out as valid JSON: scripts, control characters, half characters, depth, size."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.event import Kind
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.run import Counts
from mesocosm.core.score import Score
from mesocosm.server.schemas.episode import EpisodeDetail, EventPageDocument
from mesocosm.server.schemas.run import RunDetail, RunPage
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, Records

HOSTILE = "</script><script>alert(1)</script> ' \" \\ \x00\x01\x1f\x7f\u2028\u2029\ud800 \U0001f600 \u202e {{x}} ${x}"
"""What a name may hold; the store replaces NUL and half characters."""


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = {"a": [value]}
    return value


@pytest.fixture
async def hostile(changing: Store, records: "Records") -> tuple[str, str]:
    """A run and an episode that are hostile in every field."""
    clean = HOSTILE.replace("\ud800", "")
    run = records.run(
        name=HOSTILE,
        benchmark_title=clean,
        model=HOSTILE,
        agent=HOSTILE,
        error=HOSTILE,
        warnings=(clean,),
        tags=(clean,),
        counts=Counts(planned=1, failed=1),
        info={"metrics": [], "about": clean, "deep": nested(200), "big": 2**60},
        provenance={"command": [clean]},
    )
    episode = records.episode(
        run,
        task_id=HOSTILE,
        failure=Failure(Cause.ENVIRONMENT_ERROR, Boundary.ENVIRONMENT, clean, clean, clean),
        terminal_info={"deep": nested(200), clean: clean},
        scores=(Score("solved", 1.0, explanation=HOSTILE),),
        seed=2**64 - 1,
    )
    events = [(0, Kind.OBSERVATION, {"data": clean}), (1, Kind.ACTION, {"action": clean}), (1, Kind.LOG, nested(300))]
    await records.write(changing, run, [episode], events)
    return run.id, episode.id


async def test_hostile_runs_come_out_as_documents(writer: "ApiClient", hostile: tuple[str, str]) -> None:
    run_id, _episode_id = hostile
    page = RunPage.model_validate_json(writer.get("/api/runs").content)
    assert "<script>alert(1)</script>" in next(item.name for item in page.items if item.id == run_id)
    detail = RunDetail.model_validate_json(writer.get(f"/api/runs/{run_id}").content)
    assert detail.info["big"] == 2**60
    (failed,) = detail.failures
    assert (failed.cause, failed.count) == (Cause.ENVIRONMENT_ERROR, 1)
    assert "<script>" in failed.message


async def test_hostile_episodes_come_out_as_documents(writer: "ApiClient", hostile: tuple[str, str]) -> None:
    _run_id, episode_id = hostile
    answer = writer.get(f"/api/episodes/{episode_id}")
    detail = EpisodeDetail.model_validate_json(answer.content)
    assert detail.seed == str(2**64 - 1)
    assert detail.failure is not None
    assert "<script>" in detail.failure.stderr
    assert "bottom" in json.dumps(detail.terminal_info)


async def test_hostile_events_come_out_as_documents(writer: "ApiClient", hostile: tuple[str, str]) -> None:
    _run_id, episode_id = hostile
    answer = writer.get(f"/api/episodes/{episode_id}/events", params={"limit": 2})
    page = EventPageDocument.model_validate_json(answer.content)
    assert page.items[0].payload == {"data": HOSTILE.replace("\ud800", "")}
    deep = writer.get(f"/api/episodes/{episode_id}/events", params={"from": 2})
    assert "bottom" in json.dumps(json.loads(deep.content))
    steps = writer.get(f"/api/episodes/{episode_id}/steps").json()["items"]
    assert "\n" not in steps[1]["action"]
    assert len(steps[1]["action"]) <= 160


async def test_ten_megabytes_in_one_event_pass_through(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    run = records.run()
    episode = records.episode(run)
    await records.write(changing, run, [episode], [(0, Kind.OBSERVATION, {"data": "é" * 5_000_000})])
    (event,) = writer.get(f"/api/episodes/{episode.id}/events").json()["items"]
    assert len(event["payload"]["data"]) == 5_000_000
    assert writer.get(f"/api/episodes/{episode.id}/steps").status_code == 200


async def test_numbers_that_json_does_not_know_are_null(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    run = records.run()
    episode = records.episode(run, total_reward=float("nan"), scores=(Score("solved", float("inf")),))
    await records.write(changing, run, [episode])
    answer = writer.get(f"/api/runs/{run.id}/episodes")
    (item,) = json.loads(answer.content, parse_constant=pytest.fail)["items"]
    assert item["total_reward"] is None
    assert item["score"] is None


@pytest.mark.parametrize("name", [HOSTILE.replace("\ud800", ""), "x" * 60_000, "../../etc/passwd", "%", "\ud800"])
def test_hostile_names_in_addresses_are_unknown(client: "ApiClient", name: str) -> None:
    from urllib.parse import quote

    answer = client.get(f"/api/runs/{quote(name.encode('utf-8', 'surrogatepass'), safe='')}")
    assert answer.status_code == 404
    json.loads(answer.content.decode())


@pytest.mark.parametrize("query", ["limit=%ff%fe", "q=%00", "q=%ed%a0%80", "state=%3Cscript%3E", "sort=%F0%9F%98%80"])
def test_hostile_questions_are_answered_in_json(client: "ApiClient", query: str) -> None:
    answer = client.get(f"/api/runs?{query}")
    assert answer.status_code in {200, 422}
    assert answer.headers["content-type"] in {"application/json", "application/problem+json"}
    json.loads(answer.content.decode())
