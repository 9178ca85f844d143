"""What breaks silently with the published program when a server is not careful."""

import subprocess

import pytest
from tests.osmosis.conftest import MODEL, Program
from tests.server.workers.conftest import eventually

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


def test_an_address_with_a_path_works_for_requests_and_for_bytes(osmosis: Program) -> None:
    below = f"{osmosis.server.url}/bench"
    osmosis.variables |= {"OSMOSIS_PLATFORM_URL": below, "OSMOSIS_TOKEN_PLATFORM_URL": below}
    name = f"below-{osmosis.release.replace('.', '-')}"
    path = osmosis.rows(name, "0", "1", "2", "3")
    osmosis("dataset", "upload", path, "--yes")
    eventually(lambda: osmosis("dataset", "info", name)["data"]["status"] == "uploaded")
    osmosis("dataset", "download", name, "-o", str(osmosis.home / "saved.jsonl"))
    assert (osmosis.home / "saved.jsonl").read_bytes() == (osmosis.folder / path).read_bytes()
    run = osmosis("eval", "submit", osmosis.configure("below", name, "limit = 1"), "--yes")["resource"]["name"]
    eventually(lambda: osmosis("eval", "info", run)["data"]["eval_run"]["status"] == "finished")
    assert osmosis("eval", "download", run, "--type", "all")["status"] == "success"


def test_a_large_file_is_sent_in_parts(osmosis: Program) -> None:
    name = f"large-{osmosis.release.replace('.', '-')}"
    path = osmosis.rows(name, *(f"{number} {'x' * 2_000_000}" for number in range(6)))
    osmosis("dataset", "upload", path, "--yes")
    eventually(lambda: osmosis("dataset", "info", name)["data"]["status"] == "uploaded")
    osmosis("dataset", "download", name, "-o", str(osmosis.home / "saved.jsonl"))
    assert (osmosis.home / "saved.jsonl").read_bytes() == (osmosis.folder / path).read_bytes()


def test_values_that_came_with_a_run_are_asked_for_again_when_it_is_retried(osmosis: Program) -> None:
    name = f"values-{osmosis.release.replace('.', '-')}"
    osmosis("dataset", "upload", osmosis.rows(name, "0", "1", "2", "3"), "--yes")
    eventually(lambda: osmosis("dataset", "info", name)["data"]["status"] == "uploaded")
    # With a secret of such a name the rollout asks what the model does not answer before it is released.
    config = osmosis.configure("values", name, "limit = 1", '["ACC_TRAP"]')
    assert "ACC_TRAP" in osmosis.call("eval", "submit", config, "--yes").error["message"]
    osmosis.server.release.clear()
    try:
        run = osmosis("eval", "submit", config, "--yes", ACC_TRAP="sw0rdfish")["resource"]["name"]
        osmosis("eval", "stop", run, "--yes")
        eventually(lambda: osmosis("eval", "info", run)["data"]["eval_run"]["status"] == "stopped")
        assert "ACC_TRAP" in osmosis.call("eval", "retry", run, "--yes").error["message"]
        assert osmosis("eval", "retry", run, "--yes", ACC_TRAP="sw0rdfish")["resource"]["name"] == run
    finally:
        osmosis.server.release.set()
    eventually(lambda: osmosis("eval", "info", run)["data"]["eval_run"]["status"] == "finished")


def test_a_run_is_submitted_with_a_workspace_by_name(osmosis: Program) -> None:
    name = f"named-{osmosis.release.replace('.', '-')}"
    osmosis("dataset", "upload", osmosis.rows(name, "0", "1", "2", "3"), "--yes")
    eventually(lambda: osmosis("dataset", "info", name)["data"]["status"] == "uploaded")
    config = osmosis.folder / osmosis.configure("named", name, "limit = 1")
    run = osmosis("--workspace", "Reef", "eval", "submit", str(config), "--yes")["resource"]["name"]
    eventually(lambda: osmosis("eval", "info", run)["data"]["eval_run"]["status"] == "finished")


@pytest.mark.parametrize(
    ("evaluation", "key"),
    [("n = true", "evaluation.n"), ("batch_size = -1", "evaluation.batch_size"), ("pass_threshold = nan", "threshold")],
)
def test_values_that_the_program_does_not_check_are_refused_one_by_one(
    osmosis: Program, evaluation: str, key: str
) -> None:
    error = osmosis.call("eval", "submit", osmosis.configure("wrong", "any", evaluation), "--yes").error
    assert error["code"] == "VALIDATION"
    assert any(key in issue["key"] for issue in error["details"]["issues"])


def test_a_branch_that_is_not_there_is_named_when_the_command_is_repeated(osmosis: Program) -> None:
    config = osmosis.folder / osmosis.configure("branch", "any", "limit = 1")
    branch = f"nope-{osmosis.release}"
    config.write_text(config.read_text().replace("[experiment]\n", f'[experiment]\nbranch = "{branch}"\n'))
    words: list[str] = []

    def told() -> bool:
        words.append(osmosis.call("eval", "submit", str(config), "--yes").error["message"])
        return f"has no branch '{branch}'" in words[-1]

    eventually(told)
    assert "is being synced" in words[0]
