"""What has ended is asked for again by its tag, what moves is never kept, and large answers are packed."""

import json
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.run import RunStatus
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, Records


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/{run}",
        "/api/runs/{run}/series",
        "/api/episodes/{episode}",
        "/api/episodes/{episode}/steps",
        "/api/episodes/{episode}/events?step=1",
        "/api/episodes/{episode}/events?q=the",
    ],
)
def test_what_has_ended_is_sent_once(client: "ApiClient", run_id: str, episode_id: str, path: str) -> None:
    place = path.format(run=run_id, episode=episode_id)
    first = client.get(place)
    assert first.headers["cache-control"] == "private, no-cache"
    again = client.get(place, headers={"If-None-Match": f'"other", {first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert client.get(place, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", ["/api/runs", "/api/runs/facets", "/api/runs/{run}/episodes", "/api/health"])
def test_lists_are_never_kept(client: "ApiClient", run_id: str, path: str) -> None:
    answer = client.get(path.format(run=run_id))
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers


async def test_the_tag_of_a_run_changes_with_it(writer: "ApiClient", changing: Store, run_id: str) -> None:
    before = writer.get(f"/api/runs/{run_id}").headers["etag"]
    changing.runs.set_tags(run_id, ["new"])
    after = writer.get(f"/api/runs/{run_id}", headers={"If-None-Match": before})
    assert after.status_code == 200
    assert after.json()["tags"] == ["new"]


async def test_what_goes_on_is_never_kept(writer: "ApiClient", changing: Store, records: "Records") -> None:
    run = records.run(status=RunStatus.RUNNING, ended_at=None, metrics=())
    episode = records.episode(run, status=EpisodeStatus.RUNNING, ended_at=None, scores=())
    await records.write(changing, run, [episode], [(0, Kind.LOG, {"a": 1})])
    for path in (f"/api/runs/{run.id}", f"/api/runs/{run.id}/series"):
        assert writer.get(path).headers["cache-control"] == "no-store"


def test_the_tag_of_a_trace_is_known_without_reading_it(
    client: "ApiClient", store: Store, episode_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = client.get(f"/api/episodes/{episode_id}/events").headers["etag"]
    for name in ("chunks", "pieces", "find", "first_event_of_step"):
        monkeypatch.setattr(store.traces, name, None)
    assert client.get(f"/api/episodes/{episode_id}/events", headers={"If-None-Match": tag}).status_code == 304


def test_large_answers_are_packed(client: "ApiClient", episode_id: str) -> None:
    path = f"/api/episodes/{episode_id}/events?limit=1000"
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    whole = client.get(path, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert int(packed.headers["content-length"]) < len(whole.content) / 4
    assert packed.content == whole.content
    assert "content-encoding" not in whole.headers


def test_small_answers_stay_as_they_are(client: "ApiClient") -> None:
    answer = client.get("/api/health", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in answer.headers
    assert json.loads(answer.content)["status"] == "ok"
