"""`mesocosm workspace …` against a server: output lines, exit codes, the active workspace."""

import re
from typing import TYPE_CHECKING

import pytest

from mesocosm.client.credentials import read

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Open, Platform


@pytest.fixture
def reefs(platform: "Platform") -> str:
    """The id of a workspace of ada's, who is not using it."""
    platform.is_now("ada")
    found: str = platform("workspace", "create", "Reefs", "--json").document["id"]
    return found


def test_a_new_workspace_can_be_used_at_once(platform: "Platform") -> None:
    platform.is_now("ada")

    seen = platform("workspace", "create", "Reefs")
    assert re.fullmatch(r"Created the workspace Reefs\. id=[0-9a-f-]{36}\n", seen.out)
    assert (seen.code, seen.err, read().active_workspace_id) == (0, "", "")

    used = platform("workspace", "create", "Dunes", "--use", "--json").document
    assert read().active_workspace_id == used["id"]

    lines = [line.split() for line in platform("workspace", "list").out.splitlines()]
    assert [line[:4] for line in lines[1:]] == [["*", "Dunes", "owner", "1"], ["Reefs", "owner", "1", lines[2][3]]]


def test_a_name_that_cannot_be_is_refused_before_it_is_sent(platform: "Platform") -> None:
    platform.is_now("ada")
    seen = platform("workspace", "create", "a/b")
    assert (seen.code, "slash" in seen.err) == (2, True)


def test_the_workspace_is_the_given_one_then_the_variable_then_the_active_one(
    platform: "Platform", reefs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Dunes", "Tides"):
        platform("workspace", "create", name)

    several = platform("workspace", "show")
    assert several.code == 2
    assert "several workspaces (Tides, Dunes, Reefs)" in several.err
    assert "mesocosm workspace use" in several.err

    assert platform("workspace", "use", "rEEFS").out == "Active workspace set to Reefs.\n"
    assert read().active_workspace_id == reefs
    assert platform("workspace", "show").document["name"] == "Reefs"
    monkeypatch.setenv("MESOCOSM_WORKSPACE", "Dunes")
    assert platform("workspace", "show").document["name"] == "Dunes"
    assert platform("workspace", "show", "Tides").document["name"] == "Tides"
    monkeypatch.delenv("MESOCOSM_WORKSPACE")

    assert platform("workspace", "clear").out == "Active workspace cleared.\n"
    assert platform("workspace", "show").code == 2


def test_the_only_workspace_needs_no_choice_but_is_named(platform: "Platform", reefs: str) -> None:
    seen = platform("workspace", "show")
    use = "to choose it: mesocosm workspace use Reefs"
    assert (seen.document["id"], seen.err) == (
        reefs,
        f"note: in the workspace 'Reefs', the only one you are in; {use}\n",
    )
    assert platform("workspace", "use", "Reefs").code == 0
    assert platform("workspace", "show").err == ""


def test_without_a_workspace_the_error_says_how_to_create_one(platform: "Platform") -> None:
    platform.is_now("ada")
    seen = platform("workspace", "members")
    assert (seen.code, "mesocosm workspace create" in seen.err) == (2, True)
    assert "mesocosm workspace create" in platform("workspace", "list").err
    assert platform("workspace", "list", "--json").document == []


def test_a_workspace_that_one_is_not_in_cannot_be_used(platform: "Platform", reefs: str) -> None:
    platform.is_now("grace")
    for reference in ("Reefs", reefs, "None"):
        seen = platform("workspace", "use", reference)
        assert (seen.code, seen.out) == (1, "")
        assert f"you are in no workspace '{reference}'" in seen.err
    assert read().active_workspace_id == ""


def test_members_come_and_go_by_name(platform: "Platform", reefs: str) -> None:
    for name in ("grace", "joan"):
        platform.add(name)
    platform("workspace", "use", reefs)

    assert platform("workspace", "add", "grace").out == "grace is a member of Reefs.\n"
    assert platform("workspace", "add", "joan", "--role", "admin").out == "joan is an admin of Reefs.\n"
    assert platform("workspace", "role", "GRACE", "viewer").out == "grace is a viewer of Reefs.\n"
    lines = [line.split()[1:] for line in platform("workspace", "members").out.splitlines()[1:]]
    assert lines == [["ada", "owner"], ["joan", "admin"], ["grace", "viewer"]]

    missing = platform("workspace", "remove", "nix")
    assert missing.err == "error: no member is called 'nix'; members are: ada, joan, grace\n"
    assert platform("workspace", "remove", "joan").out == "Removed joan from Reefs.\n"
    refused = platform("workspace", "leave", "Reefs")
    assert (refused.code, "make another member an owner first" in refused.err) == (1, True)

    platform.is_now("grace")
    assert platform("workspace", "use", "Reefs").code == 0
    refused = platform("workspace", "add", "joan", "--workspace", "Reefs")
    assert "your role in the workspace 'Reefs' is viewer, and this needs admin" in refused.err
    assert platform("workspace", "leave", "Reefs").out == "Left Reefs.\n"
    assert read().active_workspace_id == ""


def test_deleting_asks_first(platform: "Platform", reefs: str) -> None:
    platform("workspace", "use", "Reefs")

    unasked = platform("workspace", "delete", "Reefs")
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    assert platform("workspace", "delete", "Reefs", stdin="n\n").code == 1
    assert read().active_workspace_id == reefs

    assert platform("workspace", "delete", "Reefs", "--yes").out == "Deleted Reefs.\n"
    assert read().active_workspace_id == ""
    assert platform("workspace", "list", "--json").document == []


def test_a_server_without_accounts_is_used_without_a_login(
    open_platform: "Open", monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = open_platform(auth_disabled=True)
    monkeypatch.setenv("BENCH_AUTH_DISABLED", "1")
    monkeypatch.setenv("MESOCOSM_BASE_URL", platform.url)
    assert platform("workspace", "create", "Reefs").code == 0
    assert platform("workspace", "show").document["role"] == "owner"
    assert platform("workspace", "delete", "Reefs", "--yes").code == 0


def test_a_renamed_workspace_stays_the_active_one(platform: "Platform", reefs: str) -> None:
    platform("workspace", "use", "Reefs")
    assert platform("workspace", "rename", "Tide pools").out == "Renamed Reefs to Tide pools.\n"
    assert platform("workspace", "show").document["name"] == "Tide pools"
    platform("workspace", "create", "Dunes")
    taken = platform("workspace", "rename", "dunes")
    assert (taken.code, "choose another" in taken.err) == (1, True)
    bad = platform("workspace", "rename", "a/b")
    assert (bad.code, "slash" in bad.err) == (2, True)
    assert read().active_workspace_id == reefs


def test_a_budget_is_shown_to_members_and_set_by_administrators(platform: "Platform", reefs: str) -> None:
    seen = platform("workspace", "budget")
    assert seen.out == "Reefs: no limit; $0.0000 spent in the last 24 hours\n"
    refused = platform("workspace", "budget", "2.50")
    assert (refused.code, "only administrators of the server" in refused.err) == (1, True)
    for amount in ("much", "-1", "nan", "inf"):
        bad = platform("workspace", "budget", "--", amount)
        assert (bad.code, "is no amount" in bad.err) == (2, True), amount

    platform.add("root", role="admin")
    platform.is_now("root")
    assert (
        platform("workspace", "budget", "2.50", "--workspace", reefs).out == "Reefs: $2.50 left of $2.50 for 24 hours\n"
    )
    assert platform("workspace", "budget", "--workspace", reefs, "--json").document == {
        "limit_usd": 2.5,
        "spent_usd": 0.0,
        "left_usd": 2.5,
    }
    assert platform("workspace", "budget", "default", "--workspace", reefs).out.startswith("Reefs: no limit")
