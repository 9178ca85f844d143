"""The published client `swecc-mesocosm` 0.2.15 against our platform: unchanged, and told by variables only."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.compat.published_client import Done, Forking, PublishedClient, Unavailable, install, until

from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME

EXAMPLE = Path(__file__).parents[2] / "examples" / "word-game"
PASSWORD = "correct horse battery staple"

DOMAIN = """
from bench_common.core.binding_vow import BindingVow
from bench_common.core.domain import EnvironmentEndpoint
from bench_common.core.scoring import ScoringConfig
from bench_common.env_sdk.registration import DomainConfig

DOMAIN_CONFIG = DomainConfig(
    id="far-away",
    name="Far away",
    binding_vow=BindingVow(
        id="far-away-v1", version="1.0.0", domain_id="far-away", description="", tier="tier1",
        observation_space={"type": "json"}, action_space={"type": "text"},
        reward={"type": "binary", "min": 0.0, "max": 1.0}, episode={"max_steps": 3},
    ),
    endpoint=EnvironmentEndpoint(mode="remote", url="https://93.184.215.14"),
    scoring=ScoringConfig(
        metrics=[{"name": "accuracy", "type": "episode_reward", "aggregation": "pass_rate"}],
        primary_metric="accuracy",
    ),
)
"""
TWICE = f"""
{DOMAIN}
from bench_common.env_sdk.registration import publish_domain, register_domain

print(register_domain(DOMAIN_CONFIG)["id"])
print(register_domain(DOMAIN_CONFIG)["id"])
print(publish_domain("far-away")["status"])
"""


@dataclass
class Platform:
    """A served platform with two members, and the published client of each."""

    url: str
    login_url: str
    folder: Path
    client: Path
    repository: Path
    forking: Forking

    def of(self, home: Path, **variables: str) -> PublishedClient:
        """Return the client of somebody who keeps their login in `home`."""
        home.mkdir(exist_ok=True)
        known = {"MESOCOSM_BASE_URL": self.url, "SWECC_SERVER_URL": self.login_url}
        return PublishedClient(self.client, home, self.forking, {**known, **variables})


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, forked: None) -> Iterator[Platform]:
    """A platform with a worker, and a repository that it may fetch."""
    folder = tmp_path_factory.mktemp("published")
    client = folder / "client"
    try:
        install(client)
    except Unavailable as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the published client cannot be installed here: {reason}")
    repository = shutil.copytree(EXAMPLE, folder / "repository", ignore=shutil.ignore_patterns("__pycache__"))
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    data = folder / "data"
    store = open_store(data / DATABASE_NAME)
    for name in ("ann", "bob"):
        Service(read_settings(data_dir=data), store).accounts.add_user(name, PASSWORD)
    store.close()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MESOCOSM_")}
    settings = {"MESOCOSM_LOCAL_GIT": "1", "MESOCOSM_COOLDOWN_S": "0", "MESOCOSM_DEMO_DOMAINS": ""}
    command = [sys.executable, "-m", "mesocosm", "serve", "--json", "--port", "0", "--login-port", "0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(data)],
        env={**kept, **settings},
        stdout=subprocess.PIPE,
        stderr=(folder / "log").open("w"),
        text=True,
    )
    forking = Forking(client)
    try:
        told = _told(process)
        yield Platform(told["url"], told["login_url"], folder, client, repository, forking)
    finally:
        forking.end()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def _told(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line == "}\n":
            break
    found = json.loads("".join(lines))
    assert isinstance(found, dict)
    return found


def logged_in(platform: Platform, home: Path, name: str) -> PublishedClient:
    """Return the client of a member, after its login."""
    client = platform.of(home)
    done = client.run("auth", "login", stdin=f"{name}\n{PASSWORD}\n")
    assert done.code == 0, done.text
    return client


def good(done: Done) -> str:
    """Return what a command printed that did what it should."""
    assert done.code == 0, done.text
    assert "Traceback" not in done.err, done.text
    return done.out


def document(done: Done) -> Any:
    """Return the JSON that a command printed."""
    return json.loads(good(done))


@pytest.fixture(scope="module")
def ann(platform: Platform) -> PublishedClient:
    """The client of Ann, logged in."""
    return logged_in(platform, platform.folder / "ann", "ann")


@pytest.fixture(scope="module")
def domain(platform: Platform, ann: PublishedClient) -> str:
    """The domain of an environment that Ann submitted."""
    words = ("--name", "Word", "--github-url", str(platform.repository), "--solo")
    row = document(ann.run("env", "submit", *words))
    assert (row["status"], row["domain_id"], row["scope"]) == ("pending", None, "solo")
    token = good(ann.run("auth", "token")).strip()
    path = f"{platform.url}/api/environments/{row['id']}/poll"

    def poll() -> dict[str, Any]:
        answer = httpx.get(path, headers={"Authorization": f"Bearer {token}"}, trust_env=False).json()
        assert answer["status"] != "failed", answer
        return dict(answer)

    until(lambda: poll()["status"] == "ready", "the environment is built")
    return str(poll()["domain_id"])


def test_a_member_logs_in_and_is_known(ann: PublishedClient) -> None:
    me = document(ann.run("auth", "whoami"))
    assert (me["type"], me["username"]) == ("member", "ann")
    token = good(ann.run("auth", "token")).strip()
    assert token.count(".") == 2
    assert document(ann.run("auth", "whoami", SWECC_BENCH_CREDENTIALS="/none", SWECC_BENCH_TOKEN=token)) == me


def test_a_wrong_password_is_refused_in_words(platform: Platform, tmp_path: Path) -> None:
    done = platform.of(tmp_path).run("auth", "login", stdin="ann\nnot this one\n")
    assert done.code == 1
    assert "Traceback" not in done.err


def test_a_guest_is_known(platform: Platform, tmp_path: Path) -> None:
    guest = platform.of(tmp_path)
    good(guest.run("auth", "guest"))
    assert document(guest.run("auth", "whoami"))["type"] == "guest"
    good(guest.run("auth", "logout"))
    assert guest.run("auth", "whoami").code == 1


def test_two_members_work_in_a_team(platform: Platform, tmp_path: Path) -> None:
    ann, bob = logged_in(platform, tmp_path / "ann", "ann"), logged_in(platform, tmp_path / "bob", "bob")
    made = good(ann.run("team", "create", "--name", "Reefs", "--use")).split()
    team = made[0].removeprefix("team_id=")
    code = made[1].removeprefix("join_code=")
    assert "(1/4 members)" in " ".join(made)
    assert good(bob.run("team", "join", code.lower())).startswith(f"Joined Reefs (2/4) team_id={team}")
    assert good(bob.run("team", "list")).startswith(f"{team}  Reefs  (2/4)  member")
    assert document(bob.run("team", "show", team))["join_code"] is None
    assert document(ann.run("team", "code", "show", team))["join_code"] == code
    assert good(ann.run("team", "code", "regenerate", team)).strip() != f"join_code={code}"
    assert bob.run("team", "join", code).code == 1
    assert document(ann.run("team", "runs", team)) == []
    good(ann.run("team", "clear"))
    good(ann.run("team", "use", team))
    bobs = str(document(bob.run("auth", "whoami"))["user_id"])
    anns = str(document(ann.run("auth", "whoami"))["user_id"])
    good(ann.run("team", "transfer", team, "--user-id", bobs))
    good(bob.run("team", "members", "remove", team, "--user-id", anns))
    assert good(ann.run("team", "list")).strip() == ""
    good(bob.run("team", "delete", team))
    assert good(bob.run("team", "list")).strip() == ""


def test_a_member_leaves_a_team(platform: Platform, tmp_path: Path) -> None:
    ann, bob = logged_in(platform, tmp_path / "ann", "ann"), logged_in(platform, tmp_path / "bob", "bob")
    team, code = (word.partition("=")[2] for word in good(ann.run("team", "create", "--name", "Tide")).split()[:2])
    good(bob.run("team", "join", code))
    good(bob.run("team", "leave", team))
    assert good(bob.run("team", "list")).strip() == ""
    good(ann.run("team", "delete", team))


def test_a_run_is_started_looked_at_and_exported(ann: PublishedClient, domain: str, tmp_path: Path) -> None:
    words = ("--domain", domain, "--vow-version", "1.0.0", "--model", "builtin/random", "--episodes", "3", "--solo")
    run = document(ann.run("run", "create", *words, "--parallel", "2", "--visibility", "private"))
    assert (run["config"]["num_episodes"], run["config"]["agent_config"]["max_tokens"]) == (3, 512)
    until(lambda: document(ann.run("run", "get", run["id"]))["run"]["status"] == "completed", "the run is over")
    got = document(ann.run("run", "get", run["id"]))
    assert set(got["aggregate_scores"]) == {"solve_rate", "mean_guesses", "mean_reward"}
    assert [episode["seed"] for episode in got["episodes"]] == [0, 1, 2]
    episodes = document(ann.run("run", "episodes", run["id"], "--traces"))
    assert set(episodes["traces_by_episode"]) == {episode["id"] for episode in episodes["episodes"]}
    assert f"Wrote {tmp_path / 'show' / 'replay.json'}" in good(
        ann.run("run", "export", run["id"], "-o", str(tmp_path / "show" / "replay.json"))
    )
    replay = json.loads((tmp_path / "show" / "replay.json").read_text())
    assert (replay["schema_version"], len(replay["replay"])) == ("1", 3)


def test_a_run_that_cannot_work_is_refused_at_once(ann: PublishedClient, domain: str) -> None:
    words = ("--domain", domain, "--vow-version", "1.0.0", "--solo")
    done = ann.run("run", "create", *words, "--model", "openai/gpt-9")
    assert done.code == 1
    assert "422" in done.text
    assert "gpt-9" in done.text


def test_an_episode_is_tried_and_an_evaluation_begun(ann: PublishedClient, domain: str) -> None:
    words = ("--domain-id", domain, "--model", "builtin/random")
    episode = document(ann.run("eval", "test", *words, "--seed", "42"))
    assert (episode["seed"], episode["status"]) == (42, "completed")
    run = document(ann.run("eval", "run", *words, "--num-episodes", "2", "--seed-set", "[5,6]"))
    assert run["config"]["seed_set"] == [5, 6]
    until(lambda: document(ann.run("run", "get", run["id"]))["run"]["status"] == "completed", "it is over")


def test_environments_are_listed_and_deleted(platform: Platform, tmp_path: Path) -> None:
    bob = logged_in(platform, tmp_path / "bob", "bob")
    row = document(bob.run("env", "submit", "--name", "Mine", "--github-url", "https://github.com/nobody/nothing"))
    assert f"{row['id']}  " in good(bob.run("env", "list", "--solo"))
    good(bob.run("env", "delete", row["id"]))
    assert row["id"] not in good(bob.run("env", "list", "--solo"))


def test_a_domain_is_registered_twice_and_published(ann: PublishedClient) -> None:
    lines = good(ann.script(TWICE)).splitlines()
    assert [line for line in lines if not line.startswith("[register]")] == ["far-away", "far-away", "published"]


def test_the_program_registers_a_file_again_and_again(ann: PublishedClient, tmp_path: Path) -> None:
    file = tmp_path / "domain.py"
    file.write_text(DOMAIN.replace("far-away", "farther"))
    for _ in range(2):
        good(ann.run("register", str(file), "--publish"))


def test_doctor_finds_nothing_and_validate_says_so(platform: Platform, ann: PublishedClient) -> None:
    # The document is made at the first request, which takes a busy machine longer than this client waits.
    assert httpx.get(f"{platform.url}/openapi.json", timeout=120, trust_env=False).status_code == 200
    found = document(ann.run("doctor"))
    assert (found["ok"], found["issues"]) == (True, [])
    assert document(ann.run("validate", str(platform.repository / "benchanything.json")))["ok"] is True
