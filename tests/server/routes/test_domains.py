"""Domains, as their authors register, change and show them."""

import copy
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.server.auth import passwords
from mesocosm.store.run_requests import RunRequest

if TYPE_CHECKING:
    from tests.server.conftest import Records
    from tests.server.routes.conftest import Hosted, OpenHosted, Person

VOW: dict[str, Any] = {
    "version": "1.0.0",
    "tier": "tier1",
    "observation_space": {"type": "json"},
    "action_space": {"type": "text"},
    "reward": {"type": "binary", "range": {"low": 0, "high": 1}},
    "episode": {"max_steps": 10},
}
SCORING: dict[str, Any] = {
    "primary_metric": "solved",
    "metrics": [{"name": "solved", "type": "episode_reward", "aggregation": "pass_rate"}],
}


def config(**given: Any) -> dict[str, Any]:
    """Return what registers a domain."""
    sound = {
        "id": "guess",
        "name": "Guess",
        "binding_vow": copy.deepcopy(VOW),
        "endpoint": {"mode": "remote", "url": "https://8.8.8.8/env"},
        "scoring": copy.deepcopy(SCORING),
    }
    return {**sound, **given}


def created(person: "Person", **given: Any) -> dict[str, Any]:
    answer = person.post("/api/domains", config(**given))
    assert answer.status_code == 201, answer.text
    return answer.json()  # type: ignore[no-any-return]


def changed(person: "Person", body: dict[str, Any], domain_id: str = "guess") -> Any:
    return person.request("PATCH", f"/api/domains/{domain_id}", json=body)


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords at next to no cost: nobody signs in here."""
    monkeypatch.setattr(passwords, "MEMORY_KIB", 64)
    monkeypatch.setattr(passwords, "PASSES", 1)


Play = Callable[..., None]


@pytest.fixture
def play(hosted: "Hosted", records: "Records") -> Play:
    """Return what says that the first member has run by a version of the vow."""

    def played(version: str = "1.0.0", purpose: str = "run") -> None:
        hosted.service.store.runs.add(records.run(id="r1", benchmark="guess"))
        hosted.service.store.run_requests.add(
            RunRequest(
                run_id="r1",
                actor="user:1",
                domain_id="guess",
                vow_version=version,
                model="m",
                visibility="gallery_public",
                purpose=purpose,
                config={"domain_id": "guess", "binding_vow_version": version, "agent_config": {"model": "m"}},
                state="ended",
                created_at=1.0,
            )
        )

    return played


def test_a_registered_domain_is_published_and_belongs_to_who_registered_it(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    domain = created(ada, owner_id="999")
    assert domain["status"] == "published"
    assert domain["owner_id"] == str(ada.user_id)
    assert domain["binding_vow"]["domain_id"] == "guess"
    assert domain["version_history"][0]["version"] == "1.0.0"
    assert hosted.anonymous.get("/api/domains/guess").json() == domain


def test_registering_the_same_again_and_again_succeeds(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    first = created(ada)
    assert ada.post("/api/domains", config()).status_code == 409
    body = {name: value for name, value in config(version_history=[]).items() if name != "id"}
    for _ in range(2):
        again = changed(ada, body)
        assert (again.status_code, again.json()) == (200, first)
        published = ada.post("/api/domains/guess/publish")
        assert (published.status_code, published.json()) == (200, first)


WRONG: list[tuple[dict[str, Any], list[Any]]] = [
    ({"binding_vow": {**VOW, "version": "banana"}}, ["body", "binding_vow", "version"]),
    ({"binding_vow": {**VOW, "domain_id": "other"}}, ["body", "binding_vow", "domain_id"]),
    ({"binding_vow": {**VOW, "episode": {"max_steps": 0}}}, ["body", "binding_vow", "episode", "max_steps"]),
    (
        {"binding_vow": {**VOW, "techniques": [{"technique_id": "memory", "version": "x"}]}},
        ["body", "binding_vow", "techniques", 0, "version"],
    ),
    ({"scoring": {**SCORING, "primary_metric": "none"}}, ["body", "scoring", "primary_metric"]),
    ({"scoring": {"primary_metric": "a", "metrics": []}}, ["body", "scoring", "metrics"]),
    ({"endpoint": {"mode": "remote", "url": "ftp://8.8.8.8/"}}, ["body", "endpoint", "url"]),
    ({"endpoint": {"mode": "elsewhere"}}, ["body", "endpoint", "mode"]),
    ({"id": "a/b"}, ["body", "id"]),
    ({"id": ""}, ["body", "id"]),
    ({"name": " "}, ["body", "name"]),
]


def test_what_is_wrong_with_a_domain_is_told_with_its_place(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    for given, place in WRONG:
        refused = ada.post("/api/domains", config(**given))
        assert refused.status_code == 422
        assert ".".join(map(str, place)) in [problem["path"] for problem in refused.json()["problems"]]
    assert hosted.anonymous.get("/api/domains").json() == []


INSIDE = (
    *("http://127.0.0.1:8000/", "http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://localhost./"),
    *("http://[::1]/", "http://[::ffff:10.0.0.1]/", "http://169.254.169.254/latest", "http://100.64.0.1/"),
    *("http://user:word@8.8.8.8/", "http://", "//8.8.8.8/"),
)


@pytest.mark.parametrize("mode", ["remote", "sandbox"])
def test_an_address_inside_the_network_is_refused(hosted: "Hosted", mode: str) -> None:
    ada = hosted.member("ada")
    refused = {url: ada.post("/api/domains", config(endpoint={"mode": mode, "url": url})) for url in INSIDE}
    assert {url: answer.status_code for url, answer in refused.items()} == dict.fromkeys(INSIDE, 422)
    assert all(answer.json()["problems"][0]["path"] == "body.endpoint.url" for answer in refused.values())


def test_addresses_inside_the_network_are_fine_where_the_operator_says_so(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(private_env_urls=True)
    created(hosted.member("ada"), endpoint={"mode": "remote", "url": "http://127.0.0.1:8765"})


def test_a_later_address_is_checked_as_the_first(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    created(ada)
    assert changed(ada, {"endpoint": {"mode": "remote", "url": "http://10.0.0.1/"}}).status_code == 422
    moved = changed(ada, {"endpoint": {"mode": "remote", "url": "https://1.1.1.1/env"}})
    assert moved.json()["endpoint"]["url"] == "https://1.1.1.1/env"


@pytest.mark.parametrize("metadata", [{"text": "\\ud800"}, {"deep": "x" * 2**20}])
def test_what_cannot_be_kept_is_wrong_input(hosted: "Hosted", metadata: dict[str, Any]) -> None:
    body = json.dumps(config(binding_vow={**VOW, "metadata": metadata})).replace("\\\\ud800", "\\ud800")
    headers = {"Content-Type": "application/json"}
    refused = hosted.member("ada").request("POST", "/api/domains", content=body, headers=headers)
    assert refused.status_code == 422, refused.text[:300]


def test_only_whose_it_is_may_change_a_domain(hosted: "Hosted") -> None:
    created(hosted.member("ada"))
    eve = hosted.member("eve")
    assert changed(eve, {"name": "Hers"}).status_code == 403
    for action in ("publish", "unpublish", "archive"):
        assert eve.post(f"/api/domains/guess/{action}").status_code == 403
        assert hosted.guest().post(f"/api/domains/guess/{action}").status_code == 403
        assert hosted.anonymous.post(f"/api/domains/guess/{action}").status_code == 401
        assert eve.post(f"/api/domains/none/{action}").status_code == 404
    assert changed(hosted.admin(), {"name": "Mended"}).json()["name"] == "Mended"


def test_guests_and_strangers_register_nothing(hosted: "Hosted") -> None:
    assert hosted.guest().post("/api/domains", config()).status_code == 403
    assert hosted.anonymous.post("/api/domains", config()).status_code == 401


def test_a_draft_is_seen_only_by_whose_it_is(hosted: "Hosted") -> None:
    ada, eve = hosted.member("ada"), hosted.member("eve")
    created(ada)
    assert ada.post("/api/domains/guess/unpublish").json()["status"] == "draft"
    assert ada.post("/api/domains/guess/unpublish").status_code == 409
    paths = ["", "/protocols", "/usage"]
    for path in paths:
        assert eve.get(f"/api/domains/guess{path}").status_code == 404
        assert ada.get(f"/api/domains/guess{path}").status_code == 200
    assert [one["id"] for one in ada.get("/api/domains").json()] == ["guess"]
    assert eve.get("/api/domains").json() == hosted.anonymous.get("/api/domains").json() == []
    assert len(hosted.admin().get("/api/domains").json()) == 1
    assert eve.get("/api/leaderboards/guess").status_code == 404


def test_an_archived_domain_is_found_by_its_id_and_its_runs_are_private(hosted: "Hosted", play: Play) -> None:
    ada = hosted.member("ada")
    created(ada)
    play()
    public = {"domain_id": "guess", "sort": "newest"}
    assert len(hosted.anonymous.get("/api/gallery/runs", params=public).json()) == 1
    for _ in range(2):
        assert ada.post("/api/domains/guess/archive").json()["status"] == "archived"
    assert hosted.anonymous.get("/api/domains/guess").json()["status"] == "archived"
    assert hosted.anonymous.get("/api/gallery/runs", params=public).json() == []
    assert hosted.anonymous.get("/api/domains").json() == []
    listed = hosted.anonymous.get("/api/domains", params={"include_archived": True}).json()
    assert [one["id"] for one in listed] == ["guess"]
    assert changed(ada, {"name": "New"}).status_code == 409
    assert ada.post("/api/domains/guess/publish").json()["status"] == "published"


def test_a_draft_that_was_never_shown_is_not_shown_by_archiving_it(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    created(ada)
    row = hosted.service.store.domains.get("guess")
    assert row is not None
    hidden = {**row.document, "published_at": None}
    hosted.service.store.domains.replace(msgspec.structs.replace(row, status="draft", document=hidden))
    ada.post("/api/domains/guess/archive")
    assert hosted.anonymous.get("/api/domains/guess").status_code == 404
    assert hosted.anonymous.get("/api/domains", params={"include_archived": True}).json() == []
    assert ada.get("/api/domains/guess").status_code == 200


def test_what_is_left_out_of_a_change_stays(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    before = created(ada, tags=["a"], detail="words", image_url="https://example.org/a.png")
    after = changed(ada, {"tags": ["b"], "image_url": None, "name": None}).json()
    assert (after["tags"], after["image_url"], after["name"], after["detail"]) == (["b"], None, "Guess", "words")
    assert after["binding_vow"] == before["binding_vow"]


def test_rules_may_change_while_nobody_has_run_by_them(hosted: "Hosted", play: Play) -> None:
    ada = hosted.member("ada")
    created(ada)
    play(purpose="test")
    assert changed(ada, {"binding_vow": {**VOW, "description": "other words"}}).status_code == 200


def test_rules_that_somebody_has_run_by_are_fixed_for_their_version(hosted: "Hosted", play: Play) -> None:
    ada = hosted.member("ada")
    created(ada)
    play()
    refused = changed(ada, {"binding_vow": {**VOW, "description": "other words"}})
    assert refused.status_code == 409
    assert "new version" in refused.json()["detail"]
    other = copy.deepcopy(SCORING)
    other["metrics"][0]["pass_threshold"] = 0.5
    assert changed(ada, {"scoring": other}).status_code == 409
    assert changed(ada, {"binding_vow": {**VOW, "metadata": {"note": "no rule"}}}).status_code == 200
    newer = changed(ada, {"binding_vow": {**VOW, "version": "1.1.0"}, "scoring": other})
    assert newer.status_code == 200
    assert [entry["version"] for entry in newer.json()["version_history"]] == ["1.0.0", "1.1.0"]
    assert changed(ada, {"binding_vow": VOW}).status_code == 409


def test_a_history_keeps_versions_that_a_change_does_not_name(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    created(ada)
    given = [{"version": "0.9.0", "date": "2026-01-01", "changes": "before"}]
    found = changed(ada, {"version_history": given}).json()["version_history"]
    assert [entry["version"] for entry in found] == ["1.0.0", "0.9.0"]


def test_an_id_cannot_change(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    created(ada)
    assert changed(ada, {"id": "other"}).status_code == 422
    assert changed(ada, {"id": "guess"}).status_code == 200


def test_domains_are_listed_newest_first_in_pages_or_at_once(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    names = [f"guess-{number}" for number in range(5)]
    for name in names:
        created(ada, id=name)
    everything = [one["id"] for one in hosted.anonymous.get("/api/domains").json()]
    assert everything == names[::-1]
    pages: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while page := [one["id"] for one in hosted.anonymous.get("/api/domains", params=query).json()]:
        assert len(page) <= 2
        pages += page
        query["cursor"] = page[-1]
    assert pages == everything
    assert hosted.anonymous.get("/api/domains", params={"cursor": "none"}).status_code == 422
    assert hosted.anonymous.get("/api/domains", params={"limit": 101}).status_code == 422


def test_lists_say_what_is_published(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    created(ada, id="shown")
    created(ada, id="hidden")
    ada.post("/api/domains/hidden/unpublish")
    for published, wanted in ((True, ["shown"]), (False, ["hidden"]), (None, ["hidden", "shown"])):
        query = {} if published is None else {"published": published}
        assert [one["id"] for one in ada.get("/api/domains", params=query).json()] == wanted


def test_own_and_public_runs_of_a_domain_are_listed(hosted: "Hosted", play: Play) -> None:
    ada = hosted.member("ada")
    created(ada)
    play()
    at = "/api/runs?benchmark=guess"
    assert [(run["id"], run["mine"]) for run in ada.get(at).json()["items"]] == [("r1", True)]
    for other in (hosted.guest(), hosted.anonymous):
        assert [(run["id"], run["mine"]) for run in other.get(at).json()["items"]] == [("r1", False)]


def test_somebody_has_only_so_many_domains(hosted: "Hosted", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesocosm.server.domains.changes.MOST_DOMAINS", 1)
    ada = hosted.member("ada")
    created(ada)
    assert ada.post("/api/domains", config(id="second")).status_code == 409
    assert hosted.member("ben").post("/api/domains", config(id="second")).status_code == 201


def test_without_accounts_a_domain_belongs_to_nobody(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(auth_disabled=True)
    assert created(hosted.anonymous)["owner_id"] == ""
    assert changed(hosted.anonymous, {"name": "New"}).json()["name"] == "New"


ODD = ("%00", "%2e%2e", "a%2Fb", "%ED%A0%80", "x" * 300, "'; drop", "%F0%9F%90%BC")


def test_odd_ids_are_unknown(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    for name in ODD:
        for path in ("", "/protocols", "/usage"):
            assert ada.get(f"/api/domains/{name}{path}").status_code in {404, 422}
        assert ada.post(f"/api/domains/{name}/publish").status_code in {404, 405, 422}
