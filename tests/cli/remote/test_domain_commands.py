"""`mesocosm domain|gallery|models|register …` and the Python ways to register, against a platform."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.remote.conftest import domain_of

from bench_common.env_sdk.register import main as register_program
from bench_common.env_sdk.registration import register_domain
from mesocosm.client import ApiError, Client
from mesocosm.server.schemas.leaderboard import LeaderboardEntry
from swecc_mesocosm import BenchClient

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Open, Platform

URL = "https://kiln.example"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A domain.py in a directory called kiln."""
    place = tmp_path / "kiln" / "domain.py"
    place.parent.mkdir()
    place.write_text(f"DOMAIN_CONFIG = {domain_of(URL, 'smelter')!r}")
    return place


@pytest.fixture
def platform(open_platform: "Open") -> "Platform":
    """A platform on which ada is logged in; it resolves no addresses."""
    opened = open_platform(private_env_urls=True)
    opened.nobody()
    opened.is_now("ada")
    return opened


def test_a_file_is_registered_and_the_second_time_updated(platform: "Platform", script: Path) -> None:
    first = platform("register", script)
    second = platform("register", script)

    assert (first.code, first.out) == (0, f"registered domain smelter (The word game) at {platform.url}\n")
    assert (second.code, second.out) == (0, f"updated domain smelter (The word game) at {platform.url}\n")


def test_a_file_is_registered_under_the_name_of_its_directory_and_published(
    platform: "Platform", script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(script.parent)

    seen = platform("register", "domain.py", "--auto-id", "--publish")

    assert seen.code == 0
    assert seen.out.splitlines()[1] == f"published domain kiln at {platform.url}"
    domain = platform("domain", "show", "kiln").document
    assert (domain["id"], domain["status"], domain["binding_vow"]["domain_id"]) == ("kiln", "published", "kiln")


def test_what_is_registered_by_somebody_else_is_theirs(platform: "Platform", script: Path) -> None:
    platform("register", script)
    platform.is_now("grace")

    seen = platform("register", script)

    assert (seen.code, seen.out) == (1, "")
    assert "HTTP" not in seen.err


def test_a_file_without_a_domain_is_named(platform: "Platform", tmp_path: Path) -> None:
    (tmp_path / "domain.py").write_text("")

    seen = platform("register", "domain.py")

    assert seen.code == 2
    assert "defines no DOMAIN_CONFIG" in seen.err


def test_domains_are_listed_with_version_and_status(platform: "Platform", script: Path) -> None:
    platform("register", script)

    heads, row = platform("domain", "list").out.splitlines()
    assert heads.split() == ["id", "vow", "status", "name"]
    assert row.split() == ["smelter", "1.0.0", "published", "The", "word", "game"]
    Client().domains.unpublish("smelter")
    assert platform("domain", "list", "--drafts").out.splitlines()[1].split()[2] == "draft"
    assert platform("domain", "list", "--published", "--json").document == []
    Client().domains.archive("smelter")
    assert platform("domain", "list").out == ""
    assert "archived" in platform("domain", "list", "--archived").out


def test_domains_are_seen_without_a_login(platform: "Platform", script: Path) -> None:
    platform("register", script)
    platform.nobody()

    assert "\nsmelter  " in platform("domain", "list").out
    assert platform("domain", "show", "smelter").document["name"] == "The word game"
    board = platform("domain", "leaderboard", "smelter")
    assert (board.code, board.out) == (0, "")
    assert "this leaderboard is empty" in board.err
    assert platform("gallery").code == 0


def test_a_board_says_why_an_entry_has_no_place_and_which_versions_cannot_be_compared(
    platform: "Platform", monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = {"custom_prompt": False, "techniques": [], "temperature": 0.0, "max_tokens": 4096}
    known: dict[str, Any] = dict.fromkeys(("primary", "primary_score", "cost_usd", "rank", "rank_last"))
    known |= {"all_scores": {}, "missing": {}, "metrics": [], "run_ids": [], "agent": agent, "reference": ""}
    known |= dict.fromkeys(("num_episodes", "runs", "actors", "n_tasks", "n_scored", "n_planned"), 4)
    known |= {"run_id": "r", "domain_id": "d", "model": "m", "binding_vow_version": "1.0.0", "tied": True}
    placed = {"rank": 1, "rank_last": 2, "uncompared": 1, "environment_version": 3}
    ends: list[dict[str, Any]] = [placed, {"tied": False, "unranked": "nothing was scored"}]
    found = [LeaderboardEntry.model_validate({**known, **end}) for end in ends]
    monkeypatch.setattr("mesocosm.client.boards.LeaderboardsResource.get", lambda *_: found)

    board = platform("domain", "leaderboard", "smelter")

    assert [line.split()[0] for line in board.out.splitlines()] == ["rank", "1–2", "–"]
    assert board.out.splitlines()[1].split()[-3:] == ["3", "–", "r"]
    assert board.out.splitlines()[2].endswith("nothing was scored")
    assert "cannot be compared" in board.err


def test_an_unknown_domain_is_told_in_words_and_for_programs(platform: "Platform") -> None:
    seen = platform("domain", "show", "a/b", "--json")

    assert seen.code == 1
    assert (seen.document["error"], seen.document["status_code"]) == ("http_error", 404)
    assert "a/b" in seen.err


def test_models_are_listed(platform: "Platform") -> None:
    assert "builtin/random" in platform("models").out
    names = [model["name"] for model in platform("models", "--json").document["models"]]
    assert names[0] == "builtin/random"


def test_registering_from_python_twice_is_fine(
    platform: "Platform", capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    register_domain(domain_of(URL))
    monkeypatch.setenv("SWECC_BENCH_TOKEN", platform.add("ada"))
    register_domain(domain_of(URL), api_url=platform.url)

    assert capsys.readouterr().out.splitlines() == [
        f"registered domain word-game (The word game) at {platform.url}",
        f"updated domain word-game (The word game) at {platform.url}",
    ]
    with pytest.raises(ApiError, match=r"\w"):
        register_domain(domain_of(URL), update_if_exists=False)


def test_the_older_register_program_works(platform: "Platform", script: Path) -> None:
    for _ in range(2):
        assert register_program([str(script), "--api", platform.url, "--publish"]) == 0


async def test_the_older_client_works(platform: "Platform") -> None:
    async with BenchClient() as client:
        made = await client.upsert_domain(domain_of(URL))
        again = await client.upsert_domain(domain_of(URL))
        listed = await client.list_domains(published_only=True)
        found = await client.get_domain("word-game")

    assert client.base_url == platform.url
    assert made["id"] == again["id"] == found["id"] == listed[0]["id"] == "word-game"


async def test_the_older_client_takes_a_token(platform: "Platform") -> None:
    token = platform.add("ada")
    platform.nobody()

    await BenchClient(platform.url, token).create_domain(domain_of(URL))

    assert (await BenchClient(platform.url).get_domain("word-game"))["owner_id"]


def test_what_a_protocol_fixes_is_refused_on_the_command_line(platform: "Platform", script: Path) -> None:
    platform("register", script)
    platform("domain", "declare", "smelter")
    words = ("run", "create", "--domain", "smelter", "--model", "builtin/random", "--official")

    assert "leave seed_set out" in platform(*words, "--seeds", "1").err
    assert "temperature of an official run is 0.0" in platform(*words, "--temperature", "1").err
    assert platform(*words[:-1]).code == 2
