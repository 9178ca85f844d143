"""Teams, as people use them."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from mesocosm.server.auth import passwords
from mesocosm.store.teams import CODE_LENGTH, LETTERS, Teams, slug_of
from mesocosm.store.tenancy import teams as teams_table

if TYPE_CHECKING:
    from tests.server.routes.conftest import Hosted, OpenHosted, Person

NOWHERE = str(uuid.UUID(int=1))


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords at next to no cost: nobody signs in here."""
    monkeypatch.setattr(passwords, "MEMORY_KIB", 64)
    monkeypatch.setattr(passwords, "PASSES", 1)


def made(owner: "Person", name: str = "Red pandas", **given: Any) -> dict[str, Any]:
    answer = owner.post("/api/teams", {"name": name, **given})
    assert answer.status_code == 201, answer.text
    return answer.json()  # type: ignore[no-any-return]


def joined(person: "Person", team: dict[str, Any]) -> dict[str, Any]:
    answer = person.post("/api/teams/join", {"code": team["join_code"]})
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


def test_a_new_team_has_its_maker_as_owner_and_a_code(hosted: "Hosted") -> None:
    team = made(hosted.member("ada"))
    assert team["slug"] == "red-pandas"
    assert (team["role"], team["member_count"], team["max_members"]) == ("owner", 1, 4)
    assert len(team["join_code"]) == CODE_LENGTH
    assert set(team["join_code"]) <= set(LETTERS)
    assert team["created_at"].endswith(("+00:00", "Z"))


def test_teams_of_one_name_get_different_slugs(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    assert [made(ada)["slug"] for _ in range(3)] == ["red-pandas", "red-pandas-1", "red-pandas-2"]
    assert made(ada, "日本")["slug"] == "team"


def test_a_slug_has_at_most_fifty_characters_with_its_number(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    slugs = [made(ada, "x" * 80)["slug"] for _ in range(2)]
    assert slugs == ["x" * 50, "x" * 48 + "-1"]


def test_a_slug_that_is_taken_is_a_conflict(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    made(ada, slug="pandas")
    again = ada.post("/api/teams", {"name": "Others", "slug": "Pandas"})
    assert again.status_code == 409
    assert "pandas" in again.json()["detail"]


def test_a_name_that_cannot_be_is_refused(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    for body in ({"name": ""}, {"name": "   "}, {"name": "x" * 256}, {}, {"name": "x", "slug": ""}, {"name": 3}):
        assert ada.post("/api/teams", body).status_code == 422


def test_a_code_lets_people_in_without_regard_to_case(hosted: "Hosted") -> None:
    team = made(hosted.member("ada"))
    found = hosted.member("ben").post("/api/teams/join", {"code": f" {team['join_code'].lower()} "})
    assert found.status_code == 200
    answer = {"team_id": team["team_id"], "name": "Red pandas", "member_count": 2, "max_members": 4, "role": "member"}
    assert found.json() == answer


def test_codes_of_four_characters_of_older_teams_still_work(hosted: "Hosted") -> None:
    team = made(hosted.member("ada"))
    older = update(teams_table).where(teams_table.c.id == team["team_id"]).values(join_code="AB0O")
    hosted.service.store.database.write(lambda connection: connection.execute(older))
    assert joined(hosted.member("ben"), {"join_code": "ab0o"})["member_count"] == 2


def test_what_is_no_code_is_wrong_input(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    for code in ("", "ABC", "ABCDEFGHJ", "AB-CD", "ABCDÉFGH", None, 1234):
        assert ada.post("/api/teams/join", {"code": code}).status_code == 422


def test_joining_again_changes_nothing(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    team = made(ada)
    assert joined(ada, team)["role"] == "owner"
    assert joined(ada, team)["member_count"] == 1


def test_a_full_team_lets_nobody_in(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(team_size=2)
    team = made(hosted.member("ada"))
    joined(hosted.member("ben"), team)
    refused = hosted.member("cyd").post("/api/teams/join", {"code": team["join_code"]})
    assert refused.status_code == 409
    assert "full" in refused.json()["detail"]


def test_many_who_join_at_once_do_not_overfill_a_team(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(team_size=3)
    team = made(hosted.member("ada"))
    people = [hosted.member(f"person{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda one: one.post("/api/teams/join", {"code": team["join_code"]}), people))
    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [409] * 6
    assert len(hosted.service.store.teams.members(team["team_id"])) == 3


def test_a_new_code_ends_the_old_one_at_once(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    code = ada.post(f"/api/teams/{team['team_id']}/join-code/regenerate").json()["join_code"]
    assert code != team["join_code"]
    assert ben.post("/api/teams/join", {"code": team["join_code"]}).status_code == 404
    assert ben.post("/api/teams/join", {"code": code}).status_code == 200


def test_who_guesses_codes_has_to_wait_even_with_the_right_one(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(joins_per_hour=3)
    team = made(hosted.member("ada"))
    mallory = hosted.member("mallory")
    wrong = [mallory.post("/api/teams/join", {"code": f"WRONG22{digit}"}).status_code for digit in "2345"]
    assert wrong == [404, 404, 404, 429]
    refused = mallory.post("/api/teams/join", {"code": team["join_code"]})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 2 * 3600
    assert joined(hosted.member("ben"), team)["member_count"] == 2


def test_many_accounts_at_one_address_cannot_guess_for_ever(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(joins_per_hour=1)
    people = [hosted.member(f"mallory{number}") for number in range(6)]
    tried = [one.post("/api/teams/join", {"code": "WRONG222"}).status_code for one in people]
    assert tried == [404] * 5 + [429]


def test_right_codes_are_not_counted(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(joins_per_hour=1)
    team, ben = made(hosted.member("ada")), hosted.member("ben")
    for _ in range(3):
        joined(ben, team)
    assert ben.post("/api/teams/join", {"code": "WRONG222"}).status_code == 404


def test_teams_are_listed_newest_first_and_codes_only_to_owners(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    first, second = made(ada, "First"), made(ben, "Second")
    joined(ada, second)
    made(ben, "Not hers")
    listed = ada.get("/api/teams").json()
    assert [team["name"] for team in listed] == ["Second", "First"]
    assert [team["join_code"] for team in listed] == [None, first["join_code"]]
    assert [(team["role"], team["member_count"]) for team in listed] == [("member", 2), ("owner", 1)]


def test_a_team_of_others_answers_as_one_that_does_not_exist(hosted: "Hosted") -> None:
    team = made(hosted.member("ada"))
    eve = hosted.member("eve")
    for path in ("", "/members"):
        theirs = eve.get(f"/api/teams/{team['team_id']}{path}")
        none = eve.get(f"/api/teams/{NOWHERE}{path}")
        assert (theirs.status_code, none.status_code) == (403, 403)
        assert theirs.json()["detail"].replace(team["team_id"], NOWHERE) == none.json()["detail"]
    for method, path in (("DELETE", ""), ("POST", "/join-code/regenerate"), ("DELETE", "/members/1")):
        assert eve.request(method, f"/api/teams/{team['team_id']}{path}").status_code == 403
        assert eve.request(method, f"/api/teams/{NOWHERE}{path}").status_code == 403
    assert eve.request("PATCH", f"/api/teams/{team['team_id']}", json={"name": "Hers"}).status_code == 403


def test_an_id_that_is_none_is_wrong_input(hosted: "Hosted") -> None:
    assert hosted.member("ada").get("/api/teams/banana").status_code == 422


def test_guests_and_strangers_have_no_teams(hosted: "Hosted") -> None:
    team = made(hosted.member("ada"))
    for path in ("/api/teams", f"/api/teams/{team['team_id']}", f"/api/teams/{team['team_id']}/members"):
        assert hosted.guest().get(path).status_code == 403
        assert hosted.anonymous.get(path).status_code == 401
    assert hosted.guest().post("/api/teams/join", {"code": team["join_code"]}).status_code == 403
    assert hosted.anonymous.post("/api/teams", {"name": "x"}).status_code == 401


def test_teams_are_listed_in_pages(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    ids = [made(ada, f"Team {number}")["team_id"] for number in range(5)][::-1]
    pages, cursor = [], ""
    while page := [team["team_id"] for team in ada.get(f"/api/teams?limit=2{cursor}").json()]:
        pages.append(page)
        cursor = f"&cursor={page[-1]}"
    assert pages == [ids[:2], ids[2:4], ids[4:]]
    assert [team["team_id"] for team in ada.get("/api/teams").json()] == ids
    assert ada.get("/api/teams?cursor=nothing").json() == []
    assert ada.get("/api/teams?limit=0").status_code == 422


def test_members_are_listed_with_ids_the_owner_first(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    joined(ben, team)
    found = ben.get(f"/api/teams/{team['team_id']}/members").json()
    assert [(one["user_id"], one["username"], one["role"]) for one in found] == [
        (ada.user_id, "ada", "owner"),
        (ben.user_id, "ben", "member"),
    ]


def test_a_plain_member_may_not_do_what_owners_do(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    joined(ben, team)
    where = f"/api/teams/{team['team_id']}"
    assert ben.get(where).json()["join_code"] is None
    assert ben.post(f"{where}/join-code/regenerate").status_code == 403
    assert ben.request("DELETE", f"{where}/members/{ada.user_id}").status_code == 403
    assert ben.post(f"{where}/transfer", {"new_owner_user_id": ben.user_id}).status_code == 403
    assert ben.request("PATCH", where, json={"name": "Bens"}).status_code == 403
    assert ben.request("DELETE", where).status_code == 403


def test_the_owner_removes_a_member(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    joined(ben, team)
    where = f"/api/teams/{team['team_id']}/members"
    assert ada.request("DELETE", f"{where}/{ben.user_id}").json() == {"detail": "removed"}
    assert ben.get(f"/api/teams/{team['team_id']}").status_code == 403
    assert ada.request("DELETE", f"{where}/{ben.user_id}").status_code == 404
    assert ada.request("DELETE", f"{where}/{ada.user_id}").status_code == 404
    assert ada.request("DELETE", f"{where}/{2**40}").status_code == 422


def test_members_leave_and_the_owner_cannot(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    joined(ben, team)
    where = f"/api/teams/{team['team_id']}/members/me"
    assert ben.request("DELETE", where).json() == {"detail": "left"}
    assert ben.request("DELETE", where).status_code == 409
    refused = ada.request("DELETE", where)
    assert refused.status_code == 409
    assert "transfer" in refused.json()["detail"]


def test_a_transfer_makes_the_old_owner_a_member(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    where = f"/api/teams/{team['team_id']}"
    assert ada.post(f"{where}/transfer", {"new_owner_user_id": ben.user_id}).status_code == 422
    joined(ben, team)
    assert ada.post(f"{where}/transfer", {"new_owner_user_id": ben.user_id}).json() == {"detail": "transferred"}
    assert ben.get(where).json()["role"] == "owner"
    assert ada.get(where).json()["role"] == "member"
    assert [one["role"] for one in ben.get(f"{where}/members").json()] == ["owner", "member"]


def test_two_transfers_at_once_leave_one_owner(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    team = made(ada)
    others = [hosted.member(name) for name in ("ben", "cyd", "dan")]
    for other in others:
        joined(other, team)
    where = f"/api/teams/{team['team_id']}/transfer"
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda one: ada.post(where, {"new_owner_user_id": one.user_id}), others))
    assert [one.role for one in hosted.service.store.teams.members(team["team_id"])].count("owner") == 1


def test_the_owner_renames_a_team_and_its_slug_stays(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    team = made(ada)
    renamed = ada.request("PATCH", f"/api/teams/{team['team_id']}", json={"name": "Blue whales"}).json()
    assert (renamed["name"], renamed["slug"]) == ("Blue whales", "red-pandas")


def test_only_administrators_set_a_budget(hosted: "Hosted") -> None:
    ada, root = hosted.member("ada"), hosted.admin()
    where = f"/api/teams/{made(ada)['team_id']}"
    assert ada.request("PATCH", where, json={"budget_usd": 100}).status_code == 403
    assert root.request("PATCH", where, json={"budget_usd": -1}).status_code == 422
    assert root.request("PATCH", where, json={"budget_usd": 2.5}).json()["budget_usd"] == 2.5
    assert ada.get(where).json()["budget_usd"] == 2.5
    assert root.request("PATCH", where, json={"budget_usd": None}).json()["budget_usd"] is None


def test_administrators_see_and_mend_teams_that_they_are_not_in(hosted: "Hosted") -> None:
    team, root = made(hosted.member("ada")), hosted.admin()
    where = f"/api/teams/{team['team_id']}"
    seen = root.get(where).json()
    assert (seen["role"], seen["member_count"], seen["join_code"]) == ("admin", 1, None)
    assert root.get(f"/api/teams/{NOWHERE}").status_code == 404
    assert root.get("/api/teams").json() == []
    assert root.request("DELETE", where).status_code == 204


def test_a_deleted_team_is_gone_for_everybody_in_it(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    joined(ben, team)
    assert ada.request("DELETE", f"/api/teams/{team['team_id']}").status_code == 204
    assert ada.get("/api/teams").json() == ben.get("/api/teams").json() == []
    assert ada.request("DELETE", f"/api/teams/{team['team_id']}").status_code == 403


def test_without_accounts_there_are_no_teams(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(auth_disabled=True)
    assert hosted.anonymous.get("/api/teams").json() == []
    refused = hosted.anonymous.post("/api/teams", {"name": "x"})
    assert refused.status_code == 409
    assert "account" in refused.json()["detail"]


def test_what_was_done_to_a_team_is_noted(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    joined(ben, team)
    where = f"/api/teams/{team['team_id']}"
    ada.request("DELETE", f"{where}/members/{ben.user_id}")
    noted = [entry for entry in hosted.service.store.audit.list(None, 20) if entry.target == f"team:{team['team_id']}"]
    assert [(entry.action, entry.actor) for entry in noted] == [
        ("team.remove", f"user:{ada.user_id}"),
        ("team.join", f"user:{ben.user_id}"),
        ("team.create", f"user:{ada.user_id}"),
    ]


def test_the_store_says_what_somebody_is_in_a_team(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = made(ada)
    store: Teams = hosted.service.store.teams
    assert ada.user_id is not None
    assert ben.user_id is not None
    assert store.role(team["team_id"], ada.user_id) == "owner"
    assert store.role(team["team_id"], ben.user_id) is None
    assert store.role("\0", ada.user_id) is None
    assert store.new_code(NOWHERE) is None


@pytest.mark.parametrize(
    ("name", "slug"), [("Red Pandas!", "red-pandas"), ("--a  b--", "a-b"), ("éé", ""), ("x" * 60, "x" * 50)]
)
def test_a_slug_is_made_of_letters_digits_and_hyphens(name: str, slug: str) -> None:
    assert slug_of(name) == slug
