"""`mesocosm team …` against a platform: output lines, exit codes, the active team."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.client.credentials import read

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke
    from tests.cli.remote.conftest import Platform


@pytest.fixture
def team(platform: "Platform") -> dict[str, str]:
    """A team of ada's."""
    platform.is_now("ada")
    made = platform("team", "create", "--name", "Red pandas", "--json").document
    return {"id": made["team_id"], "code": made["join_code"]}


def test_a_new_team_prints_its_id_and_its_code(platform: "Platform") -> None:
    platform.is_now("ada")

    seen = platform("team", "create", "--name", "Red pandas")

    assert (seen.code, seen.err) == (0, "")
    first, second = seen.out.splitlines()
    assert re.fullmatch(r"team_id=[0-9a-f-]{36}", first)
    assert re.fullmatch(r"join_code=[A-Z0-9]{4,8}  \(1/4 members\)", second)
    assert read().active_team_id == ""


def test_a_new_team_can_be_used_at_once(platform: "Platform") -> None:
    platform.is_now("ada")

    seen = platform("team", "create", "--name", "Red pandas", "--use")

    assert seen.out.splitlines()[0] == f"team_id={read().active_team_id}"


def test_a_code_lets_in_whatever_its_case(platform: "Platform", team: dict[str, str]) -> None:
    platform.is_now("grace")

    seen = platform("team", "join", team["code"].lower())

    assert (seen.code, seen.out) == (0, f"Joined Red pandas (2/4) team_id={team['id']}\n")


def test_a_wrong_code_is_refused_in_words(platform: "Platform") -> None:
    platform.is_now("grace")

    short = platform("team", "join", "z-z")
    assert (short.code, short.err) == (
        2,
        "error: 'z-z' is not a code of a team: that has 4 to 8 letters and digits; ask its owner for it\n",
    )
    seen = platform("team", "join", "ZZZZZZZZ")

    assert (seen.code, seen.out) == (1, "")
    assert seen.err.startswith("error: no team has this join code")


def test_the_list_shows_codes_of_teams_that_one_owns(platform: "Platform", team: dict[str, str]) -> None:
    heads, row = platform("team", "list").out.splitlines()
    assert heads.split() == ["id", "name", "members", "role", "code"]
    assert row.split() == [team["id"], "Red", "pandas", "1/4", "owner", team["code"]]
    platform.is_now("grace")
    platform("team", "join", team["code"])
    assert platform("team", "list").out.splitlines()[1].split()[3:] == ["2/4", "member", "–"]


@pytest.mark.parametrize("words", [("team", "show"), ("team", "code", "show")])
def test_a_team_is_shown_as_json(platform: "Platform", team: dict[str, str], words: tuple[str, ...]) -> None:
    seen = platform(*words, team["id"])

    assert seen.code == 0
    assert seen.out.startswith('{\n  "')
    assert (seen.document["team_id"], seen.document["join_code"]) == (team["id"], team["code"])
    assert seen.document["created_at"].endswith("+00:00")


def test_a_new_code_takes_the_place_of_the_old_one(platform: "Platform", team: dict[str, str]) -> None:
    seen = platform("team", "code", "regenerate", team["id"])

    assert re.fullmatch(r"join_code=[A-Z0-9]{8}\n", seen.out)
    assert team["code"] not in seen.out


def test_the_active_team_is_chosen_before_any_login(platform: "Platform", alone: Path) -> None:
    alone.unlink()

    assert platform("team", "use", "some-team").out == "Active team set to some-team\n"
    assert json.loads(alone.read_text()) == {"active_team_id": "some-team"}
    assert platform("team", "clear").out == "Active team cleared (solo default).\n"
    assert json.loads(alone.read_text()) == {}


def test_members_are_removed_by_name_or_number(platform: "Platform", team: dict[str, str]) -> None:
    for name in ("grace", "hedy"):
        platform.is_now(name)
        platform("team", "join", team["code"])
    platform.is_now("ada")
    members = platform("team", "members", "list", team["id"]).out.splitlines()
    number = next(line.split()[0] for line in members if "hedy" in line)
    assert members[0].split() == ["id", "name", "role"]
    assert members[1].split()[1:] == ["ada", "owner"]

    assert platform("team", "members", "remove", team["id"], "--user-id", "Grace").out == "Member removed.\n"
    assert platform("team", "members", "remove", team["id"], "--user-id", number).out == "Member removed.\n"
    assert len(platform("team", "members", "list", team["id"], "--json").document) == 1


def test_who_is_not_in_the_team_cannot_be_removed(platform: "Platform", team: dict[str, str]) -> None:
    seen = platform("team", "members", "remove", team["id"], "--user-id", "nobody")

    assert seen.code == 2
    assert "no member of this team is called 'nobody'; members are: ada" in seen.err


def test_a_team_changes_hands_and_ends(platform: "Platform", team: dict[str, str]) -> None:
    platform.is_now("grace")
    platform("team", "join", team["code"])
    platform.is_now("ada")
    platform("team", "use", team["id"])

    assert platform("team", "leave", team["id"]).code == 1
    assert platform("team", "transfer", team["id"], "--user-id", "grace").out == "Ownership transferred.\n"
    assert platform("team", "leave", team["id"]).out == "Left team.\n"
    assert read().active_team_id == ""
    platform.is_now("grace")
    assert platform("team", "delete", team["id"]).out == "Team deleted.\n"
    listed = platform("team", "list")
    assert (listed.code, listed.out) == (0, "")
    assert "mesocosm team join CODE" in listed.err


@pytest.mark.parametrize(
    "words",
    [
        ("team", "create", "--name", "x"),
        ("team", "join", "ABCD"),
        ("team", "list"),
        ("team", "show", "x"),
        ("team", "runs", "x"),
        ("team", "code", "show", "x"),
        ("team", "code", "regenerate", "x"),
        ("team", "members", "list", "x"),
        ("team", "members", "remove", "x", "--user-id", "1"),
        ("team", "transfer", "x", "--user-id", "1"),
        ("team", "leave", "x"),
        ("team", "delete", "x"),
        ("env", "submit", "--name", "x", "--github-url", "a/b"),
        ("env", "list"),
        ("env", "show", "x"),
        ("env", "logs", "x"),
        ("env", "retry", "x"),
        ("env", "delete", "x"),
        ("auth", "token", "create", "x"),
        ("auth", "token", "list"),
        ("auth", "token", "revoke", "x"),
    ],
)
def test_nobody_and_guests_are_told_to_log_in(
    mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    nobody = mesocosm(*words)
    monkeypatch.setenv("SWECC_BENCH_GUEST_TOKEN", "g")
    guest = mesocosm(*words)

    assert (nobody.code, nobody.out) == (1, "")
    assert "Not authenticated. Run: mesocosm auth login" in nobody.err
    assert (guest.code, guest.out) == (1, "")
    assert "requires a member account. Run: mesocosm auth login" in guest.err


def test_a_saved_guest_does_not_stand_in_the_way_of_a_token(
    platform: "Platform", monkeypatch: pytest.MonkeyPatch, alone: Path
) -> None:
    alone.write_text(json.dumps({"mode": "guest", "token": "g", "bench_url": platform.url}))
    assert platform("team", "list").code == 1

    monkeypatch.setenv("SWECC_BENCH_TOKEN", platform.add("ada"))

    assert platform("team", "list").code == 0


def test_runs_of_a_team_are_json(platform: "Platform", team: dict[str, str]) -> None:
    assert platform("team", "runs", team["id"]).document == []


@pytest.mark.parametrize("words", [("run", "list", "--team", "nope"), ("team", "show", "nope")])
def test_a_name_in_place_of_an_id_is_told(platform: "Platform", team: dict[str, str], words: tuple[str, ...]) -> None:
    told = platform(*words)
    assert told.code == 2
    assert "'nope' is not a team id; mesocosm team list shows the ids of yours" in told.err
