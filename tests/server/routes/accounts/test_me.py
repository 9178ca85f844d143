"""Who asks, and what is theirs."""

import time
from typing import Any

import pytest
from sqlalchemy import insert

from mesocosm.core.ids import new_id
from mesocosm.store.tenancy import environments, memberships, teams


def _team(hosted: Any, members: dict[int, str], name: str = "Pandas") -> str:
    team_id = new_id()
    row = {"id": team_id, "name": name, "slug": team_id, "join_code": team_id[-8:], "code_at": 0.0, "created_at": 0.0}
    rows = [
        {"team_id": team_id, "user_id": user_id, "role": role, "joined_at": time.time()}
        for user_id, role in members.items()
    ]

    def work(connection: Any) -> None:
        connection.execute(insert(teams).values(row))
        connection.execute(insert(memberships).values(rows))

    hosted.service.store.database.write(work)
    return team_id


def _environment(hosted: Any, holder_key: str, deleted_at: float | None = None) -> None:
    words = ("name", "description", "source", "ref", "folder", "status", "error")
    row: dict[str, Any] = {
        "id": new_id(),
        "holder_key": holder_key,
        **dict.fromkeys(words, "x"),
        "domain_history": "[]",
    }
    row |= {"version": 1, "created_at": 0.0, "deleted_at": deleted_at}
    hosted.service.store.database.write(lambda connection: connection.execute(insert(environments).values(row)))


def test_nobody_is_anonymous_and_that_is_no_error(hosted: Any) -> None:
    answer = hosted.anonymous.get("/api/me")
    assert answer.status_code == 200
    known = ("type", "user_id", "username", "guest_session_id", "context")
    assert [answer.json()[name] for name in known] == ["anonymous", None, None, None, None]
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_member_without_anything_has_nothing(hosted: Any) -> None:
    context = hosted.member("ada").get("/api/me/context").json()
    assert context == {"solo": {"env_count": 0, "run_count": 0}, "teams": []}


def test_environments_count_where_they_belong_and_while_they_are_there(hosted: Any) -> None:
    ada = hosted.member("ada")
    team_id = _team(hosted, {ada.user_id: "member"})
    for holder in (f"user:{ada.user_id}", f"team:{team_id}", f"team:{team_id}", "user:4711"):
        _environment(hosted, holder)
    _environment(hosted, f"user:{ada.user_id}", deleted_at=1.0)
    context = ada.get("/api/me/context").json()
    assert context["solo"]["env_count"] == 1
    assert [team["env_count"] for team in context["teams"]] == [2]


@pytest.mark.parametrize(("role", "sees"), [("owner", True), ("member", False)])
def test_teams_are_told_with_their_code_for_owners_alone(hosted: Any, role: str, sees: bool) -> None:
    ada, eve = hosted.member("ada"), hosted.member("eve")
    team_id = _team(hosted, {ada.user_id: role, eve.user_id: "member"})
    (team,) = ada.get("/api/me", params={"include": "context"}).json()["context"]["teams"]
    assert (team["team_id"], team["name"], team["role"]) == (team_id, "Pandas", role)
    assert (team["member_count"], team["max_members"]) == (2, 4)
    assert (team["join_code"] is not None) is sees


def test_context_is_for_members(hosted: Any) -> None:
    assert hosted.anonymous.get("/api/me/context").status_code == 401
    assert hosted.guest().get("/api/me/context").status_code == 403
    assert hosted.guest().get("/api/me", params={"include": "context"}).json()["context"] is None
