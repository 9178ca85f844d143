"""`mesocosm env …` against a platform with a worker that builds: submit, follow, list, logs, retry, delete, test."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.remote.conftest import working

from mesocosm.cli.env import added

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome
    from tests.cli.remote.conftest import Open, Platform

GIT = ("git", "-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


@pytest.fixture
def repository(scaffolded: Path, tmp_path: Path) -> Path:
    """A repository with the scaffold."""
    place = tmp_path / "word-game"
    place.mkdir()
    for file in ("benchanything.json", "adapter.py", "env.py"):
        (place / file).write_bytes((scaffolded / file).read_bytes())
    commit(place)
    return place


def commit(place: Path) -> None:
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "--allow-empty", "-m", "one more")):
        subprocess.run([*GIT, *words], cwd=place, check=True)


@pytest.fixture
def platform(open_platform: "Open") -> "Platform":
    """A platform that takes repositories of this machine; ada is logged in, and nobody builds."""
    opened = open_platform(local_git=True, sandbox="plain", unsafe_sandbox=True)
    opened.nobody()
    opened.is_now("ada")
    return opened


def submit(platform: "Platform", repository: Path, *words: str) -> "Outcome":
    return platform("env", "submit", "--name", "My env", "--github-url", str(repository), *words)


def test_a_submission_prints_its_row(platform: "Platform", repository: Path) -> None:
    seen = submit(platform, repository, "--description", "about words", "--ref", "main", "--folder", ".")

    assert (seen.code, seen.err) == (0, "")
    assert seen.out.startswith('{\n  "id": ')
    row = seen.document
    assert (row["name"], row["description"], row["scope"], row["team_id"]) == ("My env", "about words", "solo", None)
    assert (row["status"], row["domain_id"], row["submission_version"], row["ref"]) == ("pending", None, 1, "main")


def test_a_submission_belongs_to_the_active_team_unless_told_otherwise(platform: "Platform", repository: Path) -> None:
    team = platform("team", "create", "--name", "Reefs", "--use", "--json").document["team_id"]

    ours = submit(platform, repository).document
    mine = submit(platform, repository, "--solo").document

    assert (ours["scope"], ours["team_id"]) == ("team", team)
    assert (mine["scope"], mine["team_id"]) == ("solo", None)
    heads, row = platform("env", "list").out.splitlines()
    assert heads.split() == ["id", "status", "scope", "name", "domain", "check"]
    assert row.split() == [ours["id"], "pending", "team", "My", "env", "–", "–"]
    assert mine["id"] in platform("env", "list", "--solo").out
    assert platform("env", "list", "--team", team, "--json").document[0]["id"] == ours["id"]


def test_what_is_no_repository_is_refused(platform: "Platform") -> None:
    seen = submit(platform, Path("ftp://x/y"))

    assert (seen.code, seen.out) == (1, "")
    assert "ftp: URLs are not supported" in seen.err


def test_a_build_is_followed_to_its_domain(platform: "Platform", repository: Path) -> None:
    with working(platform.service):
        seen = submit(platform, repository, "--wait")

    assert seen.code == 0, seen.err
    row = seen.document
    assert (row["status"], row["stage"]) == ("ready", "ready")
    assert f"ready; its domain is {row['domain_id']}\n" in seen.err
    assert f"\n{row['domain_id']}  1.0.0  published  " in platform("domain", "list").out
    listed = platform("env", "list").out.splitlines()[1]
    assert listed.startswith(f"{row['id']}  ready   solo   {row['name']}")
    assert row["domain_id"] in listed
    shown = platform("env", "show", row["id"]).document
    assert (shown["domain_id"], shown["usage"]["total_runs"]) == (row["domain_id"], 0)
    log, _, adapter = platform("env", "logs", row["id"]).out.partition("\nadapter, last lines:\n")
    assert log.startswith("== cloning\n")
    assert all(line in seen.err for line in log.splitlines())
    assert adapter


def test_a_build_that_fails_tells_its_author_why(platform: "Platform", repository: Path) -> None:
    (repository / "benchanything.json").unlink()
    (repository / "README").write_text("nothing here")
    subprocess.run([*GIT, "commit", "-qam", "without"], cwd=repository, check=True)

    with working(platform.service):
        seen = submit(platform, repository, "--wait")
        again = platform("env", "retry", seen.document["id"], "--wait")

    assert seen.code == 1
    assert seen.document["status"] == "failed"
    assert seen.document["error_message"]
    assert f"the build failed: {seen.document['error_message']}" in seen.err
    assert (again.code, again.document["submission_version"]) == (1, 2)
    logs = platform("env", "logs", seen.document["id"], "--version", "1", "--json").document
    assert (logs["version"], logs["state"]) == (1, "failed")


def test_an_environment_is_deleted(platform: "Platform", repository: Path) -> None:
    row = submit(platform, repository).document

    assert platform("env", "delete", row["id"]).out == "Environment deleted.\n"
    listed = platform("env", "list")
    assert (listed.code, listed.out) == (0, "")
    assert "submit one with: mesocosm env submit" in listed.err
    assert platform("env", "show", row["id"]).code == 1


def test_what_is_somebody_elses_is_not_seen(platform: "Platform", repository: Path) -> None:
    row = submit(platform, repository).document
    platform.is_now("grace")

    for words in (("show",), ("logs",), ("retry",), ("delete",)):
        seen = platform("env", *words, row["id"])
        assert (seen.code, seen.out) == (1, "")
        assert "no environment" in seen.err


def test_the_adapter_of_a_folder_is_tried(mesocosm: "Invoke", repository: Path) -> None:
    seen = mesocosm("env", "test", "--manifest", repository / "benchanything.json", "--steps", "3")

    assert seen.code == 0, seen.err
    assert "answers health, reset," in seen.out
    assert "✓ reset" in seen.err


def test_an_adapter_that_ends_at_once_fails_the_test(mesocosm: "Invoke", repository: Path) -> None:
    (repository / "adapter.py").write_text("raise SystemExit('no env today')\n")

    seen = mesocosm("env", "test", "--manifest", repository / "benchanything.json", "--json")

    assert seen.code == 1
    assert (seen.document["ok"], seen.document["done"]) == (False, [])
    assert "no env today" in seen.document["error"]


def test_a_folder_without_a_manifest_is_told(mesocosm: "Invoke", tmp_path: Path) -> None:
    seen = mesocosm("env", "test")

    assert seen.code == 2
    assert "benchanything.json" in seen.err


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("", "a\n", "a\n"),
        ("a\n", "a\nb\n", "b\n"),
        ("a\nb\n", "a\nb\n", ""),
        ("x" * 300 + "y" * 500, "y" * 450 + "z", "z"),
        ("a\n", "…\nq\n", "…\nq\n"),
    ],
)
def test_a_log_is_continued_where_it_was_left(before: str, now: str, new: str) -> None:
    assert added(before, now) == new
