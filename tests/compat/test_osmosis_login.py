"""`/api/cli`: how the `osmosis` command line logs in, and its first steps."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from tests.compat.osmosis_client import OsmosisClient
from tests.compat.test_osmosis_platform import Team, connect, refused, team
from tests.server.routes.conftest import ADDRESS, cheap_passwords, hosted, open_hosted

from mesocosm.server.permissions import authentication
from mesocosm.store.tenancy import device_logins

__all__ = ["cheap_passwords", "hosted", "open_hosted", "team"]


def begun(team: Team) -> dict[str, Any]:
    """Return the answer to a program that wants to log in."""
    return team.client.call("POST", "/device/authorize", {"deviceName": "laptop"}, scoped=False, token=False)


def polled(team: Team, code: str) -> dict[str, Any]:
    """Return the answer to a program that asks for its token."""
    return team.client.call("POST", "/device/token", {"device_code": code}, scoped=False, token=False)


def word(team: Team, code: str) -> str:
    """Return what a program is told that gets no token: the word in `error`, with status 400."""
    path, body = "/device/token", {"device_code": code}
    error = refused(team.client, "POST", path, body, scoped=False, token=False)
    assert error.code == "VALIDATION"
    assert set(error.details) == {"error", "code"}
    return error.message


def decide(team: Team, code: str, *, approve: bool = True) -> None:
    """Decide as the owner of the workspace."""
    assert team.owner.request("PUT", f"/api/auth/device/{code}", json={"approve": approve}).status_code == 200


def test_a_program_logs_in_through_a_browser_and_out_again(team: Team) -> None:
    start = begun(team)
    assert (start["interval"], 595 < start["expires_in"] <= 600) == (5, True)
    assert start["verification_uri"] == f"{ADDRESS}/device"
    assert start["verification_uri_complete"] == f"{ADDRESS}/device?code={start['user_code']}"
    assert word(team, start["device_code"]) == "authorization_pending"
    decide(team, start["user_code"])
    login = polled(team, start["device_code"])
    assert login["user"] == {"id": str(team.owner.user_id), "email": "ana", "name": "ana"}
    lasting = datetime.fromisoformat(login["expires_at"]) - datetime.now(UTC)
    assert abs(lasting - timedelta(days=90)) < timedelta(minutes=1)
    client = OsmosisClient(team.hosted, login["token"])
    verified = client.call("GET", "/verify")
    assert {name: verified[name] for name in ("token_id", "expires_at", "user")} == {
        name: login[name] for name in ("token_id", "expires_at", "user")
    }
    assert team.owner.get("/api/tokens").json()[0]["name"] == "osmosis-cli/0.3.7 on laptop"
    assert client.call("DELETE", f"/tokens/{login['token_id']}", scoped=False) == {}
    assert refused(client, "GET", "/verify").code == "AUTH_REQUIRED"


def test_the_words_of_the_standard_tell_a_program_what_to_do(team: Team) -> None:
    start = begun(team)
    assert [word(team, start["device_code"]) for _ in range(2)] == ["authorization_pending", "slow_down"]
    decide(team, start["user_code"], approve=False)
    assert [word(team, start["device_code"]) for _ in range(2)] == ["access_denied", "expired_token"]
    other = begun(team)
    team.hosted.service.store.database.execute(update(device_logins).values(expires_at=1.0))
    assert [word(team, other["device_code"]), word(team, "of nobody")] == ["expired_token"] * 2


def test_the_page_is_where_people_reach_the_server(open_hosted: Any) -> None:
    hosted = open_hosted(public_url="https://bench.example.org/reef")
    client = OsmosisClient(hosted, "")
    start = client.call("POST", "/device/authorize", {"deviceName": "x"}, scoped=False, token=False)
    assert start["verification_uri"] == "https://bench.example.org/reef/device"


def test_who_has_too_many_tokens_is_told_so(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "MAX_TOKENS", 0)
    start = begun(team)
    decide(team, start["user_code"])
    body = {"device_code": start["device_code"]}
    error = refused(team.client, "POST", "/device/token", body, scoped=False, token=False)
    assert (error.code, "delete one first" in error.message) == ("CONFLICT", True)


def test_a_token_without_an_end_is_not_said_to_end_in_90_days(team: Team) -> None:
    token = team.owner.post("/api/tokens", {"name": "ci", "days": None}).json()["token"]
    ends = datetime.fromisoformat(OsmosisClient(team.hosted, token).call("GET", "/verify")["expires_at"])
    assert (ends.year, ends.tzinfo) == (9999, UTC)


def test_an_access_token_is_said_to_end_when_it_does(team: Team) -> None:
    ends = datetime.fromisoformat(team.client.call("GET", "/verify")["expires_at"])
    assert ends - datetime.now(UTC) < timedelta(hours=2)


def test_without_accounts_a_program_is_told_that_it_needs_no_login(open_hosted: Any) -> None:
    hosted = open_hosted(auth_disabled=True)
    client = OsmosisClient(hosted, "")
    error = refused(client, "POST", "/device/authorize", {"deviceName": "x"}, scoped=False, token=False)
    assert (error.code, "takes any word" in error.message) == ("CONFLICT", True)


def test_quickstart_finds_a_workspace_and_its_repository(team: Team) -> None:
    store = team.hosted.service.store
    made = store.workspaces.add("Cove", team.owner.user_id)
    assert made is not None
    query: dict[str, Any] = {"organizationId": made.id}
    assert team.client.call("GET", "/quickstart", scoped=False, **query)["repo"] == {
        "connected": False,
        "full_name": None,
    }
    connect(team.hosted, made.id, "github.com/acme/Cove")
    found = team.client.call("GET", "/quickstart", scoped=False, **query)
    assert found["repo"] == {"connected": True, "full_name": "acme/Cove"}
    assert (found["billing_ready"], found["completed"]) == (True, False)
    assert team.client.call("POST", "/quickstart", {**query, "intent": "eval"}, scoped=False) == {}


def test_quickstart_does_not_clone_a_namesake_at_another_host(team: Team) -> None:
    error = refused(team.client, "GET", "/quickstart", scoped=False, organizationId=team.workspace_id)
    assert error.code == "CONFLICT"
    assert "git.example.org/Acme/evals" in error.message
    assert "git remote set-url origin https://github.com/Acme/evals.git" in error.message


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_quickstart_knows_no_workspace_of_others(team: Team, method: str) -> None:
    other = team.of(team.hosted.member("eve"))
    scope = {"organizationId": team.workspace_id}
    given: dict[str, Any] = scope if method == "GET" else {}
    body = {**scope, "intent": "eval"} if method == "POST" else None
    error = refused(other, method, "/quickstart", body, scoped=False, **given)
    assert error.code == "NOT_FOUND"
    assert "Reef" not in json.dumps(error.details)
