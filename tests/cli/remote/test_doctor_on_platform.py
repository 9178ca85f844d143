"""`mesocosm doctor` against a platform: the login, the active team, the clocks; and where it looks for the platform."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.cli.doctor import DoctorReport
from mesocosm.cli.remote.login_check import clock
from mesocosm.client.credentials import Credentials, choose_team, choose_workspace, write

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Platform


def test_a_login_that_holds_is_told_with_its_end(platform: "Platform") -> None:
    platform.is_now("ada")

    seen = platform("doctor")

    assert seen.code == 0
    document = seen.document
    assert (document["ok"], document["base_url"], document["issues"]) == (True, platform.url, [])
    login: dict[str, Any] = document["login"]
    assert (login["mode"], login["from"], login["valid"], login["username"]) == ("member", "saved", True, "ada")
    assert datetime.fromisoformat(login["expires_at"]) > datetime.now(UTC)
    assert document["clock_skew_s"] == pytest.approx(0, abs=30)


def test_without_a_login_the_platform_is_fine(platform: "Platform") -> None:
    seen = platform("doctor")

    assert seen.code == 0
    assert any("not logged in" in note for note in seen.document["notes"])


@pytest.mark.parametrize(("mode", "remedy"), [("member", "mesocosm auth login"), ("guest", "mesocosm auth guest")])
def test_a_login_that_does_not_hold_is_an_issue(platform: "Platform", mode: str, remedy: str) -> None:
    write(Credentials(mode, "nonsense", platform.url, platform.url))

    seen = platform("doctor")

    assert (seen.code, seen.document["ok"], seen.document["login"]["valid"]) == (1, False, False)
    assert seen.document["issues"] == [f"the login is unknown to this server: {remedy}"]


def test_an_expired_login_is_called_so(platform: "Platform") -> None:
    write(Credentials("member", platform.expired("ada"), platform.url, platform.url))

    assert platform("doctor").document["issues"] == ["the login has expired: mesocosm auth login"]


def test_an_active_team_that_one_is_not_in_is_an_issue(platform: "Platform") -> None:
    platform.is_now("ada")
    choose_team("elsewhere")

    seen = platform("doctor")

    assert seen.code == 1
    assert seen.document["active_team"] == {"team_id": "elsewhere", "name": None, "exists": False}
    platform("team", "create", "--name", "Reefs", "--use")
    assert platform("doctor").document["active_team"]["name"] == "Reefs"


def test_an_active_workspace_that_one_is_not_in_is_an_issue(platform: "Platform") -> None:
    platform.is_now("ada")
    choose_workspace("elsewhere")

    seen = platform("doctor")

    assert seen.code == 1
    assert seen.document["active_workspace"] == {"id": "elsewhere", "name": None, "exists": False}
    assert "mesocosm workspace clear" in seen.document["issues"][0]
    platform("workspace", "create", "Reefs", "--use")
    assert platform("doctor").document["active_workspace"]["name"] == "Reefs"


@pytest.mark.parametrize("named", [True, False])
def test_a_damaged_login_is_an_issue(
    platform: "Platform", alone: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    alone.write_text("[")
    monkeypatch.setattr("mesocosm.client.urls.PRODUCTION", platform.url)

    seen = platform("doctor", *(("--base-url", platform.url) if named else ()))

    assert seen.code == 1
    (issue,) = seen.document["issues"]
    assert "remove it and log in again" in issue


@pytest.mark.parametrize(("seconds", "word"), [(100, "behind"), (-100, "ahead of")])
def test_clocks_that_differ_are_an_issue(seconds: int, word: str) -> None:
    report = DoctorReport()

    clock(report, datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"))

    assert word in report.issues[0]
    assert abs(report.probes["clock_skew_s"] + seconds) <= 2


def test_a_date_that_is_none_says_nothing_of_clocks() -> None:
    report = DoctorReport()

    clock(report, "yesterday")

    assert (report.probes, report.issues) == ({}, [])
