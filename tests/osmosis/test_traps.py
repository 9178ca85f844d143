"""What breaks silently with the published program when a server is not careful."""

import subprocess

import pytest
from tests.osmosis.conftest import MODEL, Program

MISSING = (
    ("eval", "info"),
    ("eval", "logs"),
    ("eval", "stop", "--yes"),
    ("eval", "retry", "--yes"),
    ("dataset", "info"),
)


@pytest.mark.parametrize("name", ["a/b c", "../workspaces", "nope/metrics", "ü%2F", "."])
def test_names_that_need_escapes_reach_the_right_route(osmosis: Program, name: str) -> None:
    for first, second, *rest in MISSING:
        error = osmosis.call(first, second, name, *rest).error
        assert error["code"] == "NOT_FOUND", (first, second, error)
        assert "this server has nothing at" not in error["message"], (first, second, error)


def test_a_model_with_a_slash_is_found(osmosis: Program) -> None:
    assert MODEL in str(osmosis("model", "list")["base_models"])
    assert MODEL in str(osmosis("model", "info", MODEL)["data"])


def test_deleting_a_secret_sends_its_name(osmosis: Program) -> None:
    for name in ("TRAP_A", "TRAP_B"):
        osmosis("secret", "set", name, "--env", "GIVEN", GIVEN="sw0rdfish")
    osmosis("secret", "delete", "TRAP_A", "-y")
    names = {one["name"] for one in osmosis("secret", "list", "--all")["items"]}
    assert "TRAP_B" in names
    assert "TRAP_A" not in names
    osmosis("secret", "delete", "TRAP_B", "-y")


def test_a_read_only_token_is_told_what_it_may(osmosis: Program) -> None:
    server = osmosis.server
    osmosis.token = server.request("POST", "/api/tokens", {"name": "r", "scope": "read"})["token"]
    assert "items" in osmosis("eval", "list")
    error = osmosis.call("secret", "set", "X", "--env", "GIVEN", GIVEN="v").error
    assert (error["code"], "may only read" in error["message"]) == ("PLATFORM_ERROR", True)


def test_a_clone_of_an_unknown_repository_names_it(osmosis: Program) -> None:
    new = "https://github.com/somebody/else.git"
    subprocess.run(["git", "remote", "set-url", "origin", new], cwd=osmosis.folder, check=True)
    error = osmosis.call("eval", "list").error
    assert error["details"]["platform_code"] == "GIT_SCOPE_HEADER_ACCESS_DENIED"
    assert osmosis("--workspace", "Reef", "eval", "list")["workspace"]["name"] == "Reef"
