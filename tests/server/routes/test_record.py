"""The record of runs, read by people who may see all, some or none of it."""

import io
import json
import re
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, update
from tests.server.routes.conftest import Hosted, OpenHosted, Person

from mesocosm.core.ids import new_id
from mesocosm.server.auth.principal import NOBODY, Kind, Principal
from mesocosm.server.auth.redaction import MARK
from mesocosm.server.permissions.grant import grant
from mesocosm.server.permissions.visible_runs import all_runs
from mesocosm.server.runs.run_list import summaries
from mesocosm.server.schemas.run import RunChange
from mesocosm.store.domains import DomainRow
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.schema import runs

SECRET = "swordfish-in-a-prompt"


class World:
    """Three recorded runs: private of Ann, of Ann's team, and public of Ann; and people around them."""

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        self.ann, self.bob, self.cid = hosted.member("ann"), hosted.member("bob"), hosted.member("cid")
        self.root, self.guest, self.nobody = hosted.admin(), hosted.guest(), hosted.anonymous
        teams = hosted.service.store.teams
        assert self.ann.user_id is not None
        assert self.bob.user_id is not None
        team = teams.add("Reefs", self.ann.user_id)
        assert team is not None
        teams.join(team.join_code, self.bob.user_id, 4)
        recorded = hosted.service.store.runs.list(sort="created_at").items
        self.private, self.team, self.public = (run.id for run in recorded)
        for run_id, team_id, visibility in (
            (self.private, None, "private"),
            (self.team, team.id, "private"),
            (self.public, None, "gallery_public"),
        ):
            hosted.service.store.run_requests.add(
                RunRequest(
                    run_id=run_id,
                    actor=f"user:{self.ann.user_id}",
                    actor_name="ann",
                    team_id=team_id,
                    domain_id="word-game",
                    vow_version="1.0.0",
                    model="builtin/asked",
                    visibility=visibility,
                    state="ended",
                    created_at=time.time(),
                    config={"num_episodes": 6, "agent_config": {"model": "builtin/asked", "system_prompt": SECRET}},
                )
            )

    def episode(self, run_id: str) -> str:
        """Return the id of the first episode of a run."""
        return str(self.hosted.service.store.episodes.list(run_id).items[0].id)


@pytest.fixture
def world(recorded: Path, tmp_path: Path, open_hosted: OpenHosted) -> World:
    """Three runs and people around them."""
    shutil.copytree(recorded, tmp_path / "results")
    return World(open_hosted())


def listed(person: Person) -> set[str]:
    """Return the runs that somebody is shown."""
    answer = person.get("/api/runs")
    assert answer.status_code == 200, answer.text
    return {run["id"] for run in answer.json()["items"]}


def test_everybody_lists_what_they_may_see(world: World) -> None:
    everything = {world.private, world.team, world.public}
    assert listed(world.ann) == listed(world.root) == everything
    assert listed(world.bob) == {world.team, world.public}
    for person in (world.cid, world.guest, world.nobody):
        assert listed(person) == {world.public}


def test_the_values_of_filters_count_only_what_is_seen(world: World) -> None:
    def models(person: Person) -> int:
        return sum(item["count"] for item in person.get("/api/runs/facets").json()["model"])

    assert (models(world.ann), models(world.bob), models(world.nobody)) == (3, 2, 1)


@pytest.mark.parametrize(
    "path", ["", "/episodes", "/series", "/results", "/slices?by=task", "/export", "/episodes.csv", "/live"]
)
def test_a_run_of_somebody_else_does_not_exist(world: World, path: str) -> None:
    for person in (world.cid, world.guest, world.nobody):
        answer = person.get(f"/api/runs/{world.private}{path}")
        assert answer.status_code == 404, (path, answer.text)
        assert world.private not in answer.json()["detail"] or "you may see" in answer.json()["detail"]


def test_the_same_words_for_what_is_hidden_and_what_is_not_there(world: World) -> None:
    hidden = world.cid.get(f"/api/runs/{world.private}").json()["detail"].replace(world.private, "ID")
    absent = new_id()
    assert world.cid.get(f"/api/runs/{absent}").json()["detail"].replace(absent, "ID") == hidden


def test_beginnings_of_ids_lead_nowhere(world: World) -> None:
    answer = world.ann.get(f"/api/runs/{world.private[:12]}")
    assert answer.status_code == 404
    assert world.private not in answer.text


@pytest.mark.parametrize("path", ["", "/events", "/steps", "/neighbours", "/calls/1"])
def test_an_episode_of_somebody_else_does_not_exist(world: World, path: str) -> None:
    episode = world.episode(world.private)
    assert world.ann.get(f"/api/episodes/{episode}{path}").status_code in {200, 404}
    for person in (world.bob, world.cid, world.guest, world.nobody):
        assert person.get(f"/api/episodes/{episode}{path}").status_code == 404


def test_episodes_are_compared_only_by_those_who_may_see_both(world: World) -> None:
    own, hidden = world.episode(world.public), world.episode(world.private)
    found = world.ann.get(f"/api/episodes/{own}/against/{hidden}").json()
    assert found["finding"] in {"same", "action", "environment", "ended"}
    for person in (world.bob, world.nobody):
        for pair in ((own, hidden), (hidden, own)):
            assert person.get("/api/episodes/{}/against/{}".format(*pair)).status_code == 404


def test_what_was_said_is_hidden_from_those_outside(world: World) -> None:
    episode = world.episode(world.public)
    own = world.ann.get(f"/api/episodes/{episode}/events", params={"limit": 100}).json()["items"]
    seen = world.nobody.get(f"/api/episodes/{episode}/events", params={"limit": 100}).json()["items"]
    assert [event["kind"] for event in seen] == [event["kind"] for event in own]

    def said(events: list[dict[str, Any]]) -> set[str]:
        return {event["payload"]["text"] for event in events if event["kind"] == "model_call"}

    assert MARK not in said(own)
    assert said(seen) == {MARK}


def test_a_search_does_not_find_what_is_hidden(world: World) -> None:
    episode = world.episode(world.public)
    (call, *_) = world.ann.get(f"/api/episodes/{episode}/events", params={"kind": "model_call"}).json()["items"]
    words = {"q": call["payload"]["text"][:30], "kind": "model_call"}
    assert world.ann.get(f"/api/episodes/{episode}/events", params=words).json()["items"]
    assert not world.nobody.get(f"/api/episodes/{episode}/events", params=words).json()["items"]
    refused = world.nobody.get(f"/api/runs/{world.public}/episodes", params={"q": "seed"})
    assert refused.status_code == 403


def test_nothing_about_the_server_is_told(world: World, tmp_path: Path) -> None:
    for person in (world.ann, world.nobody):
        document = person.get(f"/api/runs/{world.public}").text
        assert str(tmp_path) not in document
        assert "results-dir" not in document
        assert json.loads(document)["model"] == "builtin/asked"


def put_domain(world: World, vow_version: str) -> None:
    """Let the domain of the runs have a version of its vow."""
    domains, now = world.hosted.service.store.domains, time.time()
    document = {"binding_vow": {"version": vow_version}}
    row = DomainRow("word-game", None, None, "published", "Word game", document, now, now)
    assert domains.replace(row) if domains.get(row.id) else domains.add(row)


def test_the_command_that_repeats_a_run_is_for_those_inside(world: World) -> None:
    put_domain(world, "1.0.0")
    own = world.ann.get(f"/api/runs/{world.public}").json()["commands"]
    assert own["repeat"].startswith("mesocosm run create --domain word-game --vow-version 1.0.0 --model builtin/asked")
    assert SECRET in own["repeat"]
    assert world.cid.get(f"/api/runs/{world.public}").json()["commands"]["repeat"] is None
    put_domain(world, "1.1.0")
    assert world.ann.get(f"/api/runs/{world.public}").json()["commands"]["repeat"] is None


def test_a_run_that_goes_on_or_owes_nothing_has_no_command_that_resumes_it(world: World) -> None:
    def resume(person: Person) -> str | None:
        found = person.get(f"/api/runs/{world.public}").json()["commands"]["resume"]
        return None if found is None else str(found)

    assert resume(world.ann) is None
    database, runs_of = world.hosted.service.store.database, update(runs).where(runs.c.id == world.public)
    database.write(lambda connection: connection.execute(runs_of.values(planned=100, status="stopped")))
    assert resume(world.ann) == f"mesocosm run resume {world.public}"
    world.hosted.service.store.queue.reopen(world.public)
    assert resume(world.ann) is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "/stop", None), ("POST", "/resume", None), ("PATCH", "", {"tags": ["x"]}), ("DELETE", "", None)],
)
def test_a_public_run_can_only_be_looked_at(world: World, method: str, path: str, body: Any) -> None:
    place = f"/api/runs/{world.public}{path}"
    assert world.cid.request(method, place, json=body).status_code == 403
    assert world.guest.request(method, place, json=body).status_code in {401, 403}
    assert world.nobody.request(method, place, json=body).status_code == 401
    assert world.ann.get(f"/api/runs/{world.public}").json()["tags"] == []


def test_a_team_mate_tags_and_deletes_a_run_of_the_team(world: World) -> None:
    answer = world.bob.request("PATCH", f"/api/runs/{world.team}", json={"tags": ["seen"]})
    assert answer.json()["tags"] == ["seen"]
    assert world.bob.request("DELETE", f"/api/runs/{world.team}").status_code == 204
    assert listed(world.bob) == {world.public}


def test_a_comparison_needs_both_runs(world: World) -> None:
    both = {"run": [world.public, world.private]}
    assert world.ann.get("/api/compare", params=both).status_code == 200
    assert world.cid.get("/api/compare", params=both).status_code == 404


def test_a_listener_is_told_of_what_they_may_see(world: World) -> None:
    service = world.hosted.service
    everybody = {
        "ann": Principal(Kind.MEMBER, world.ann.user_id, "ann"),
        "bob": Principal(Kind.MEMBER, world.bob.user_id, "bob"),
        "nobody": NOBODY,
    }
    runs = all_runs(service)
    change = RunChange(runs=summaries(runs, runs.page().items), deleted=[])
    told = {name: grant(service, who).runs().seen(change) for name, who in everybody.items()}
    seen = {name: set() if news is None else {run.id for run in news.runs} for name, news in told.items()}
    assert seen == {
        "ann": {world.private, world.team, world.public},
        "bob": {world.team, world.public},
        "nobody": {world.public},
    }


def rows(person: Person, **query: str) -> dict[str, dict[str, Any]]:
    """Return the rows of the list that somebody is shown, by run."""
    answer = person.get("/api/runs", params=query)
    assert answer.status_code == 200, answer.text
    return {run["id"]: run for run in answer.json()["items"]}


def test_a_list_tells_whose_runs_are(world: World) -> None:
    told = rows(world.ann)
    assert {run["owner"] for run in told.values()} == {"ann"}
    assert all(run["mine"] for run in told.values())
    assert told[world.team]["team_id"] is not None
    assert told[world.public]["visibility"] == "gallery_public"
    assert told[world.private]["domain_id"] == "word-game"


def test_a_team_mate_is_told_the_owner_and_others_only_that_it_is_a_member(world: World) -> None:
    told = rows(world.bob)
    assert (told[world.team]["owner"], told[world.team]["mine"]) == ("ann", False)
    assert told[world.team]["team_id"] is not None
    for person in (world.bob, world.cid, world.guest, world.nobody):
        public = rows(person)[world.public]
        assert (public["owner"], public["mine"], public["team_id"]) == ("member", False, None)


def test_one_run_tells_whose_it_is_as_the_list_does(world: World) -> None:
    fields = ("owner", "visibility", "team_id", "domain_id", "mine")
    for person in (world.ann, world.bob, world.root):
        listed_run, run = rows(person)[world.team], person.get(f"/api/runs/{world.team}").json()
        assert [run[field] for field in fields] == [listed_run[field] for field in fields]


def test_a_list_is_narrowed_to_own_runs_those_of_teams_and_public_ones(world: World) -> None:
    everything = {world.private, world.team, world.public}
    assert set(rows(world.ann, whose="mine")) == everything
    assert set(rows(world.ann, whose="team")) == set(rows(world.bob, whose="team")) == {world.team}
    assert set(rows(world.bob, whose="mine")) == set()
    for person in (world.ann, world.root, world.nobody):
        assert set(rows(person, whose="public")) == {world.public}
    assert set(rows(world.nobody, whose="mine")) == set(rows(world.nobody, whose="team")) == set()
    assert world.ann.get("/api/runs", params={"whose": "all"}).status_code == 422


def test_a_list_asks_no_more_of_the_store_for_more_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    service = world.hosted.service

    def alone(*_: Any) -> None:
        raise AssertionError("one question for each run")

    monkeypatch.setattr(service.store.run_requests, "get", alone)
    monkeypatch.setattr(service.store.teams, "role", alone)
    assert len(rows(world.bob)) == 2


def test_changes_tell_whose_runs_are_as_lists_do(world: World) -> None:
    service = world.hosted.service
    runs = all_runs(service)
    change = RunChange(runs=summaries(runs, [runs.get(world.team)]), deleted=[])
    assert world.bob.user_id is not None
    bob = Principal(Kind.MEMBER, world.bob.user_id, "bob")
    told = grant(service, bob).runs().seen(change)
    assert told is not None
    assert (told.runs[0].owner, told.runs[0].mine) == ("ann", False)
    assert told.runs[0].team_id == rows(world.bob)[world.team]["team_id"]


@pytest.mark.parametrize("query", ["", "whose=mine", "whose=team", "whose=public", "sort=-score", "q=word"])
def test_what_is_read_for_a_list_does_not_grow_with_the_orders_of_others(world: World, query: str) -> None:
    database, asked = world.hosted.service.store.database, list[tuple[str, Any]]()

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        assert world.ann.get(f"/api/runs?limit=2&{query}").status_code == 200
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
    lists = [one for one in asked if one[0].startswith("SELECT") and "orders" in one[0]]
    assert lists
    with database.once() as connection:
        for statement, parameters in lists:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            assert not [row for row in plan if row[3].startswith("SCAN orders")], statement


CANARY = "canary-of-a-right-answer"


def read(content: bytes) -> str:
    """Return the text of an answer, of a bundle that of everything inside."""
    if not content.startswith(b"PK"):
        return content.decode("utf-8", "replace")
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        return "".join(bundle.read(name).decode("utf-8", "replace") for name in bundle.namelist())


def test_the_public_never_sees_what_a_task_asks_or_its_right_answer(world: World) -> None:
    store = world.hosted.service.store
    (episode, other, *_) = store.episodes.list(world.public).items
    episode.input, episode.target, episode.reference = f"{CANARY}?", CANARY, [CANARY]
    episode.why, episode.mistake = f"expected {CANARY}", f"not {CANARY}"
    store.episodes.save_assessments(world.public, [episode])
    pages = [
        *(
            f"/api/runs/{world.public}{path}"
            for path in ("/episodes?info=true", "/export", "/episodes.csv", "/results")
        ),
        f"/api/export?run={world.public}",
        f"/api/episodes/{episode.id}",
        f"/api/episodes/{episode.id}/replay",
        f"/api/episodes/{episode.id}/against/{other.id}",
        f"/api/benchmarks/{store.runs.get(world.public).benchmark}/tasks/{episode.task_digest}",
        f"/api/runs/{world.public}/wrong-answers",
        f"/api/runs/{world.public}/episodes?mistake=not%20{CANARY}",
    ]
    assert all(CANARY in read(world.ann.get(page).content) for page in (pages[0], f"/api/export?run={world.public}"))
    for person in (world.bob, world.guest, world.nobody):
        for page in pages:
            answer = person.get(page)
            assert CANARY not in read(answer.content), page
    assert world.nobody.get(f"/api/runs/{world.public}/wrong-answers").status_code == 401
    assert world.bob.get(f"/api/runs/{world.public}/wrong-answers").status_code == 403
    assert world.ann.get(f"/api/runs/{world.public}/wrong-answers").status_code == 200


def test_no_answer_tells_the_public_whether_a_word_is_hidden(world: World) -> None:
    store = world.hosted.service.store
    episode = store.episodes.list(world.public).items[0]
    episode.input, episode.target, episode.behaviour = f"{CANARY}?", CANARY, CANARY
    episode.why, episode.mistake = f"expected {CANARY}", CANARY
    store.episodes.save_assessments(world.public, [episode])
    assert store.search.index.update()

    def answers(person: Person, word: str) -> list[tuple[int, str]]:
        asked = [
            *(f"/api/runs/{world.public}/episodes?{name}={word}" for name in ("mistake", "behaviour", "task", "label")),
            *(f"/api/{path}?text={word}" for path in ("search", f"runs/{world.public}/search")),
            f"/api/runs?q={word}",
            f"/api/episodes/{episode.id}/neighbours?task={word}",
        ]
        found = [person.get(path) for path in asked]
        place: int | None = 0
        while place is not None:  # a request stops after a while, sooner on a busy machine
            part = person.get(f"/api/episodes/{episode.id}/events?q={word}&from={place}")
            place = part.json().get("next")
            found += [part] if part.status_code != 200 or part.json()["items"] else []
        return [(one.status_code, re.sub(r"\d+\.\d+", "N", one.text.replace(word, "WORD"))) for one in found]

    for person in (world.bob, world.guest, world.nobody):
        assert answers(person, CANARY) == answers(person, "a-word-that-is-nowhere")
    assert answers(world.ann, CANARY) != answers(world.ann, "a-word-that-is-nowhere")
