"""Reviews on a server: who judges, who sees what, and when."""

import asyncio
import csv
import io
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.event import Kind
from mesocosm.core.score import Score
from mesocosm.store.run_requests import PRIVATE, PUBLIC, RunRequest

if TYPE_CHECKING:
    from tests.server.routes.conftest import Hosted, Person

QUESTION = "Why did the reef turn white?"
EVENTS = [
    (0, Kind.MESSAGE, {"index": 0, "role": "user", "content": QUESTION}),
    (1, Kind.MODEL_CALL, {"model": "secret-model", "text": "It was too warm.", "messages": [[0, 0]]}),
    (1, Kind.SCORE, {"name": "solved", "value": 1.0, "explanation": "as the key says"}),
]


class Team:
    """A workspace with a run of three episodes: Ada owns it, Ben works in it, Cid looks on, Dee is outside."""

    def __init__(self, hosted: "Hosted", records: Any) -> None:
        self.hosted = hosted
        self.ada, self.ben, self.cid, self.dee = map(hosted.member, ("ada", "ben", "cid", "dee"))
        self.place = str(self.ada.post("/api/workspaces", {"name": "Reefs"}).json()["id"])
        assert self.ben.user_id is not None
        assert self.cid.user_id is not None
        hosted.service.store.workspaces.add_member(self.place, self.ben.user_id, "member")
        hosted.service.store.workspaces.add_member(self.place, self.cid.user_id, "viewer")
        self.run, self.episodes = self.played(records, workspace_id=self.place)

    def played(self, records: Any, **given: Any) -> tuple[str, list[str]]:
        """Store a run of three episodes; return its id, and theirs."""
        run = records.run(model="secret-model")
        scores = [(Score("solved", float(value), explanation="as the key says"),) for value in (1, 1, 0)]
        episodes = [records.episode(run, index=index, scores=one) for index, one in enumerate(scores)]
        asyncio.run(records.write(self.hosted.service.store, run, episodes, EVENTS))
        fields: dict[str, Any] = {
            "actor": f"user:{self.ada.user_id}",
            "actor_name": "ada",
            "domain_id": "d",
            "vow_version": "1",
        }
        fields |= {"model": "secret-model", "visibility": PRIVATE, "state": "ended", "created_at": 1.0, "config": {}}
        self.hosted.service.store.run_requests.add(RunRequest(run_id=run.id, **{**fields, **given}))
        return run.id, [episode.id for episode in episodes]

    def open(self, who: "Person", **given: Any) -> str:
        """Create a round of one verdict each, or of other numbers; return its path."""
        body = {"runs": [self.run], "reviews": 1, "labels": [], **given}
        found = who.post("/api/reviews", body)
        assert found.status_code == 201, found.text
        return f"/api/reviews/{found.json()['id']}"


def judge(person: "Person", path: str, answer: str = "right", **given: Any) -> Any:
    """Take the next item and judge it; return what was saved."""
    item = person.post(f"{path}/next").json()["item"]
    found = person.post(f"{path}/items/{item['number']}/verdicts", {"answer": answer, **given})
    assert found.status_code == 201, found.text
    return found.json()


@pytest.fixture
def team(hosted: "Hosted", records: Any) -> Team:
    return Team(hosted, records)


def test_an_item_shows_neither_model_nor_grader_until_the_person_has_judged(team: Team) -> None:
    path = team.open(team.ada, reviews=2)

    turn = team.ben.post(f"{path}/next")

    item = turn.json()["item"]
    assert item["question"] == QUESTION
    assert [(line["role"], line["text"]) for line in item["lines"]] == [
        ("user", QUESTION),
        ("assistant", "It was too warm."),
    ]
    for word in ("secret-model", "as the key says", team.run, *team.episodes):
        assert word not in turn.text
    saved = judge(team.ben, path)
    assert saved["verdict"]["author"] == "ben"
    assert [(one["name"], one["passed"], one["explanation"]) for one in saved["graders"]] == [
        ("solved", True, "as the key says")
    ]


def test_others_see_a_verdict_of_a_blind_round_when_the_item_has_all_of_them(team: Team) -> None:
    path = team.open(team.ada, reviews=2)
    judge(team.ben, path, note="bleached")

    one = team.ada.get(f"/api/episodes/{team.episodes[0]}/verdicts").json()
    assert (one["items"], one["hidden"]) == ([], 1)
    assert team.ada.get(f"{path}/items/1").json()["verdicts"] == []
    assert "bleached" not in team.ada.get(f"{path}/agreement").text + team.ada.get(f"{path}/export").text
    assert "bleached" in team.ben.get(f"{path}/export").text

    judge(team.ada, path, "wrong")
    found = team.ada.get(f"{path}/agreement").json()
    assert [item["disputed"] for item in found["items"]] == [True]
    assert found["items"][0]["episode_id"] is None
    assert found["over"] == 1
    assert team.ada.get(f"/api/episodes/{team.episodes[0]}/verdicts").json()["hidden"] == 0

    assert team.ada.request("PATCH", path, json={"closed": True}).json()["runs"] == [team.run]
    assert team.ada.get(f"{path}/agreement").json()["items"][0]["episode_id"] == team.episodes[0]


def test_a_viewer_of_the_workspace_looks_on_and_does_not_judge(team: Team) -> None:
    path = team.open(team.ada)

    assert team.cid.get(path).json()["may_judge"] is False
    assert team.cid.get(f"{path}/agreement").status_code == 200
    refusals = [
        team.cid.post("/api/reviews", {"runs": [team.run]}),
        team.cid.post(f"{path}/next"),
        team.cid.post(f"{path}/items/1/verdicts", {"answer": "right"}),
        team.cid.post(f"/api/episodes/{team.episodes[0]}/verdicts", {"grader": "right"}),
        team.cid.request("PATCH", path, json={"closed": True}),
        team.cid.post(f"{path}/scores"),
    ]
    assert [answer.status_code for answer in refusals] == [403] * 6
    assert team.cid.get(f"/api/episodes/{team.episodes[0]}/verdicts").json()["may_judge"] is False


def test_outsiders_and_guests_learn_nothing(team: Team) -> None:
    path = team.open(team.ada)
    judge(team.ben, path, note="bleached")

    for who, listed in ((team.dee, 200), (team.hosted.guest(), 403), (team.hosted.anonymous, 401)):
        answer = who.get("/api/reviews")
        assert answer.status_code == listed
        assert listed != 200 or answer.json()["items"] == []
        for one in ("", "/agreement", "/export", "/items/1"):
            assert who.get(f"{path}{one}").status_code in {401, 403, 404}
        assert who.post(f"{path}/next").status_code in {401, 403, 404}


def test_reviews_of_a_public_run_are_for_those_who_own_it(team: Team, records: Any) -> None:
    run, episodes = team.played(records, visibility=PUBLIC)
    path = team.open(team.ada, runs=[run])
    judge(team.ada, path, note="bleached")
    assert team.ada.post(f"{path}/scores").status_code == 200

    shown = [team.dee.get(f"/api/episodes/{episodes[0]}"), team.hosted.anonymous.get(f"/api/runs/{run}")]
    assert [answer.status_code for answer in shown] == [200, 200]
    assert not any(word in answer.text for answer in shown for word in ("bleached", "ada: right"))
    assert team.dee.get(f"/api/episodes/{episodes[0]}/verdicts").status_code == 403
    assert team.dee.get(path).status_code == 404
    assert team.hosted.guest().get(f"/api/episodes/{episodes[0]}/verdicts").status_code == 403


def test_a_person_changes_only_their_own_verdict(team: Team) -> None:
    path = team.open(team.ada, blind=False)
    judge(team.ada, path, reviewer="ben")

    undone = team.ben.request("DELETE", f"{path}/items/1/verdicts")
    assert (undone.status_code, undone.json()["detail"].split(";")[1]) == (409, " nothing was undone")
    assert [one["author"] for one in team.ben.get(f"{path}/items/1").json()["verdicts"]] == ["ada"]
    assert team.ada.request("DELETE", f"{path}/items/1/verdicts").json()["round"]["done"] == 0


def test_a_round_is_changed_by_its_creator_and_by_who_may_change_its_runs(team: Team) -> None:
    path = team.open(team.ben)

    assert team.ben.request("PATCH", path, json={"name": "first"}).json()["name"] == "first"
    assert team.ada.request("PATCH", path, json={"closed": True}).json()["closed_at"]
    closed = team.ben.post(f"{path}/items/1/verdicts", {"answer": "right"})
    assert (closed.status_code, "closed" in closed.json()["detail"]) == (409, True)
    assert team.ben.post(f"{path}/scores").status_code == 403
    assert team.ada.request("DELETE", path).status_code == 204
    assert team.ada.get(path).status_code == 404


def test_a_disputed_item_is_settled_and_becomes_a_score(team: Team) -> None:
    path = team.open(team.ada, reviews=2, labels=[])
    judge(team.ada, path, "right")
    early = team.ben.post(f"{path}/items/1/verdicts", {"answer": "wrong", "settles": True})
    judge(team.ben, path, "wrong")

    settled = team.ben.post(f"{path}/items/1/verdicts", {"answer": "wrong", "settles": True, "note": "see the key"})

    assert (early.status_code, settled.status_code) == (409, 201)
    item = team.ada.get(f"{path}/agreement").json()["items"][0]
    assert (item["called"], item["settled"], item["disputed"], item["against"]) == ("wrong", True, False, ["solved"])
    assert len(item["verdicts"]) == 3
    scores = team.ada.post(f"{path}/scores").json()["runs"]
    assert [(one["run_id"], one["value"], one["n"]) for one in scores] == [(team.run, 0.0, 1)]
    episode = team.ada.get(f"/api/episodes/{team.episodes[0]}").json()
    assert {one["name"]: one["value"] for one in episode["scores"]} == {"human": 0.0, "solved": 1.0}
    assert episode["score"] == 1.0
    human = next(one for one in episode["scores"] if one["name"] == "human")
    assert human["explanation"] == "ben: wrong (settled), ada: right, ben: wrong"


def test_an_official_run_takes_no_scores(team: Team, records: Any) -> None:
    run, _ = team.played(records, visibility=PUBLIC, protocol=1)
    path = team.open(team.ada, runs=[run])
    judge(team.ada, path)

    answer = team.ada.post(f"{path}/scores")

    assert (answer.status_code, "official" in answer.json()["detail"]) == (409, True)


def test_an_export_has_a_line_for_each_verdict_and_no_formula(team: Team) -> None:
    path = team.open(team.ada, blind=False, labels=[{"name": "clear", "kind": "flag"}])
    judge(team.ada, path, note='=HYPERLINK("http://evil")', labels={"clear": True})
    judge(team.ada, path, "wrong")
    team.ada.request("DELETE", f"{path}/items/2/verdicts")

    rows = list(csv.DictReader(io.StringIO(team.ada.get(f"{path}/export").text)))

    assert [(row["item"], row["answer"], row["withdrawn"], row["current"]) for row in rows] == [
        ("1", "right", "no", "yes"),
        ("2", "wrong", "no", "no"),
        ("2", "", "yes", "no"),
    ]
    assert rows[0]["note"] == '\'=HYPERLINK("http://evil")'
    assert (rows[0]["label_clear"], rows[0]["episode"]) == ("yes", team.episodes[0])
    lines = team.ada.get(f"{path}/export", params={"format": "jsonl"}).text.splitlines()
    assert len(lines) == 3


def test_rounds_over_runs_that_one_may_not_see_are_unknown(team: Team, records: Any) -> None:
    alone, _ = team.played(records)
    path = team.open(team.ada, runs=[team.run, alone])

    assert team.ben.get(path).status_code == 404
    assert team.ben.get("/api/reviews").json()["items"] == []
    assert team.ben.post("/api/reviews", {"runs": [alone]}).status_code == 404


def test_reading_tokens_do_not_judge(team: Team) -> None:
    token = team.ada.post("/api/tokens", {"name": "t", "scope": "read"})
    path = team.open(team.ada)
    headers = {"Authorization": f"Bearer {token.json().get('token')}"}

    answer = team.hosted.request("POST", f"{path}/next", headers=headers)

    assert answer.status_code in {401, 403}
