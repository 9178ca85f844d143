"""Reviews on a laptop: the reviewer is the user of the machine, or who they say they are."""

from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.server.permissions import review_verdicts
from mesocosm.server.runs.published_runs import PublishedRuns
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient


MARK = {"X-Mesocosm": "1"}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_verdicts, "_machine_user", lambda: "Ada")


@pytest.fixture
def run_id(changing: Store) -> str:
    """The id of a run of six episodes."""
    return str(next(run.id for run in changing.runs.list().items if run.counts.done == 6))


def post(client: "ApiClient", path: str, body: Any = None, status: int = 201) -> Any:
    answer = client.request("POST", path, json=body, headers=MARK)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_verdict_on_the_grader_says_what_the_answer_is(writer: "ApiClient", run_id: str) -> None:
    episode = writer.get(f"/api/runs/{run_id}/episodes").json()["items"][0]
    path = f"/api/episodes/{episode['id']}/verdicts"

    found = post(writer, path, {"grader": "wrong", "labels": {"lucky": True}, "note": "**not** earned"})

    passed = found["graders"][0]["passed"]
    assert found["mine"]["answer"] == ("wrong" if passed else "right")
    assert (found["mine"]["author"], found["reviewer"]) == ("Ada", {"name": "Ada", "changeable": True})
    assert found["labels"] == ["lucky"]
    corrected = post(writer, path, {"grader": "wrong", "answer": "faulty", "after": found["last"]})
    assert [one["current"] for one in corrected["items"]] == [False, True]
    assert corrected["mine"]["answer"] == "faulty"
    post(writer, path, {"grader": "right", "after": found["last"]}, status=409)

    empty = post(writer, path, {"after": corrected["last"]})
    assert (empty["mine"], len(empty["items"]), empty["items"][-1]["withdrawn"]) == (None, 3, True)


def test_another_name_is_another_person(writer: "ApiClient", run_id: str) -> None:
    episode = writer.get(f"/api/runs/{run_id}/episodes").json()["items"][0]["id"]
    post(writer, f"/api/episodes/{episode}/verdicts", {"grader": "right"})

    found = post(writer, f"/api/episodes/{episode}/verdicts", {"grader": "wrong", "reviewer": " Ben  Bo "})

    assert [(one["author"], one["mine"]) for one in found["items"]] == [("Ada", False), ("Ben Bo", True)]


def test_a_round_on_a_laptop_goes_from_its_filter_to_the_scores(writer: "ApiClient", run_id: str) -> None:
    made = post(writer, "/api/reviews", {"runs": [run_id], "sample": 4, "seed": 7, "reviews": 2})
    path = f"/api/reviews/{made['id']}"
    assert (made["items"], made["random"], made["drawn"]) == (4, True, "4 of 6 drawn at random")
    assert made["labels"][0]["name"] == "cause"

    missing = post(writer, f"{path}/items/1/verdicts", {"answer": "wrong"}, status=400)
    assert "'cause' is required" in missing["detail"]
    for name in ("Ada", "Ben"):
        for _ in range(4):
            number = post(writer, f"{path}/next?reviewer={name}", status=200)["item"]["number"]
            post(writer, f"{path}/items/{number}/verdicts", {"answer": "right", "reviewer": name})
        assert post(writer, f"{path}/next?reviewer={name}", status=200)["item"] is None

    found = writer.get(f"{path}/agreement").json()
    assert (found["round"]["done"], found["round"]["complete"], found["over"]) == (8, 4, 4)
    (pair,) = found["pairs"]
    assert (pair["n"], pair["observed"], pair["kappa"]) == (4, 1.0, None)
    assert pair["why"].startswith("κ does not exist")
    assert found["alpha"] is None
    assert all(not judge["fit"] for judge in found["judges"])
    (taken,) = post(writer, f"{path}/scores", status=200)["runs"]
    assert (taken["value"], taken["n"]) == (1.0, 4)
    metrics = {one["name"]: one["primary"] for one in writer.get(f"/api/runs/{run_id}").json()["metrics"]}
    assert metrics["human"] is False


def test_the_same_seed_draws_the_same_and_a_filter_is_no_random_draw(writer: "ApiClient", run_id: str) -> None:
    body = {"runs": [run_id], "sample": 3, "seed": 1, "blind": False}
    first, second = (post(writer, "/api/reviews", body) for _ in range(2))

    def items(made: Any) -> list[str]:
        path = f"/api/reviews/{made['id']}/items"
        return [writer.get(f"{path}/{number}").json()["question"] for number in (1, 2, 3)]

    assert items(first) == items(second)
    filtered = post(writer, "/api/reviews", {"runs": [run_id], "filter": {"state": ["completed"]}})
    assert filtered["random"] is False
    nothing = post(writer, "/api/reviews", {"runs": [run_id], "filter": {"q": "nowhere"}}, status=400)
    assert "no episode matches" in nothing["detail"]


def test_skipping_and_undoing_bring_an_item_back(writer: "ApiClient", run_id: str) -> None:
    path = f"/api/reviews/{post(writer, '/api/reviews', {'runs': [run_id], 'sample': 2, 'reviews': 1})['id']}"

    assert post(writer, f"{path}/next", status=200)["item"]["number"] == 1
    assert post(writer, f"{path}/items/1/skip", status=200)["item"]["number"] == 2
    post(writer, f"{path}/items/2/verdicts", {"answer": "right"})
    assert post(writer, f"{path}/next", status=200)["item"]["number"] == 1
    assert writer.request("DELETE", f"{path}/items/2/verdicts", headers=MARK).json()["item"]["number"] == 2


def test_what_others_have_before_them_is_told(writer: "ApiClient", run_id: str) -> None:
    path = f"/api/reviews/{post(writer, '/api/reviews', {'runs': [run_id], 'sample': 1, 'reviews': 1})['id']}"
    post(writer, f"{path}/next", status=200)

    turn = post(writer, f"{path}/next?reviewer=Ben", status=200)

    assert (turn["item"], turn["with_others"]) == (None, 1)


def test_secrets_in_a_note_are_redacted(writer: "ApiClient", run_id: str) -> None:
    episode = writer.get(f"/api/runs/{run_id}/episodes").json()["items"][0]["id"]
    key = "sk-" + "k" * 30

    found = post(writer, f"/api/episodes/{episode}/verdicts", {"note": f"with {key}", "labels": {key: True}})

    assert key not in str(found)


def test_unknown_items_and_rounds_are_named(writer: "ApiClient", run_id: str) -> None:
    path = f"/api/reviews/{post(writer, '/api/reviews', {'runs': [run_id], 'sample': 1})['id']}"

    assert "has no item 9" in writer.get(f"{path}/items/9").json()["detail"]
    assert writer.get("/api/reviews/ffff").status_code == 404
    assert post(writer, "/api/reviews", {"runs": ["ffff"]}, status=404)["detail"].startswith("there is no run")


def test_a_published_copy_has_the_score_of_people_without_their_names(
    writer: "ApiClient", changing: Store, run_id: str
) -> None:
    made = post(writer, "/api/reviews", {"runs": [run_id], "sample": 1, "reviews": 1})
    path = f"/api/reviews/{made['id']}"
    number = post(writer, f"{path}/next", status=200)["item"]["number"]
    post(writer, f"{path}/items/{number}/verdicts", {"answer": "right", "note": "bleached"})
    post(writer, f"{path}/scores", status=200)

    with PublishedRuns(changing, [changing.runs.get(run_id)]).copied() as (granted, _):
        run = granted.run(run_id)
        episodes = list(run.all_episodes())
        told = [score for episode in episodes for score in episode.scores if score.name == "human"]
        assert [(score.value, score.explanation) for score in told] == [(1.0, "")]
        assert "human" in {metric.name for metric in run.record.metrics}
        assert granted.rounds().list().items == []
        assert all(granted.reviews_of(episode.id).document().items == [] for episode in episodes)
