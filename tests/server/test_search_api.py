"""Searches of what was said, over HTTP."""

from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.event import Kind
from mesocosm.core.score import Score
from mesocosm.server.schemas.search import SearchPage
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, OpenClient, Records


@pytest.fixture
async def client(changing: Store, records: "Records", open_client: "OpenClient") -> Any:
    """A client of a store with a run of three episodes: two refuse, one of these passes."""
    run = records.run(id="019a0000-0000-7000-8000-00000000abcd", name="refusals", model="a/b")
    texts = ("I cannot 🟩 help", "Sure", "Cannot help")
    scores = (Score("solved", 1.0), Score("solved", 1.0), Score("solved", 0.0))
    episodes = [records.episode(run, index=index, scores=(score,)) for index, score in enumerate(scores)]
    traces = [[(1, Kind.MODEL_CALL, {"text": text}), (1, Kind.ACTION, {"action": "none"})] for text in texts]
    await records.write_each(changing, run, episodes, traces)
    changing.search.index.update()
    return open_client(changing)


RUN = "/api/runs/019a0000-0000-7000-8000-00000000abcd/search"


def search(client: "ApiClient", path: str = RUN, **query: Any) -> SearchPage:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return SearchPage.model_validate_json(answer.content)


def test_hits_of_a_run_are_a_measured_set(client: "ApiClient") -> None:
    page = search(client, text="cannot in:reply")

    assert page.matching is not None
    assert page.searched is not None
    assert page.places is not None
    assert (page.matching.episodes, page.matching.passed, page.matching.not_passed) == (2, 1, 1)
    assert page.matching.accuracy == 0.5
    assert (page.searched.episodes, page.finished, page.complete) == (3, 3, True)
    assert {place for place, count in page.places.items() if count} == {"reply"}


def test_a_hit_can_be_opened_and_highlighted(client: "ApiClient") -> None:
    hit = search(client, text="cannot").items[0]

    assert client.get(f"/api/episodes/{hit.episode_id}").json()["index"] == hit.index == 0
    event = client.get(f"/api/episodes/{hit.episode_id}/events", params={"from": hit.event, "limit": 1}).json()
    assert event["items"][0]["kind"] == "model_call"
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["cannot"]
    assert (hit.run_name, hit.benchmark, hit.model, hit.verdict, hit.place) == (
        *("refusals", "Word game", "a/b", "passed", "reply"),
    )


def test_the_second_page_continues_without_counts(client: "ApiClient") -> None:
    first = search(client, text="cannot", limit=1)
    second = search(client, text="cannot", limit=1, cursor=first.cursor)

    assert [hit.index for hit in (*first.items, *second.items)] == [0, 2]
    assert (second.matching, second.searched, second.places, second.cursor) == (None, None, None, None)


def test_all_runs_of_a_filter_are_searched(client: "ApiClient") -> None:
    assert [hit.index for hit in search(client, "/api/search", text="cannot", model="a/b").items] == [0, 2]
    assert search(client, "/api/search", text="cannot", model="none").items == []
    assert [hit.index for hit in search(client, "/api/search", text="cannot", verdict="not_passed").items] == [2]


@pytest.mark.parametrize("query", [{"text": "in:nowhere x"}, {"text": "-x"}, {"text": "x", "cursor": "old"}])
def test_a_search_that_cannot_be_answered_is_refused_with_the_reason(
    client: "ApiClient", query: dict[str, str]
) -> None:
    answer = client.get(RUN, params=query)

    assert answer.status_code == 400
    assert answer.json()["detail"]
