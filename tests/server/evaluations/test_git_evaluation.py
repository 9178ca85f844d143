"""An evaluation from a private repository, as a folder of it, at a branch or commit; and what its host is told."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.git_host import PEM, TOKEN, served
from tests.server.builds.conftest import Repository
from tests.server.evaluations.conftest import FILES, OpenTeam, Team

from mesocosm.sandboxes.bubblewrap import available

pytestmark = [
    pytest.mark.usefixtures("forked_checks"),
    pytest.mark.skipif(not available(), reason="there is no bubblewrap"),
]


class GitTeam:
    """A team whose workspace is the folder `evals` of a private repository."""

    def __init__(self, team: Team, host: str, known: Repository, statuses: list[tuple[str, Any]]) -> None:
        self.team = team
        self.known = known
        self.statuses = statuses
        self.path = f"/api/workspaces/{team.workspace}"
        url = f"https://{host}/private/.git"
        body = {"url": url, "folder": "evals", "credentials": {"token": TOKEN}}
        answer = team.owner.request("PUT", f"{self.path}/repository", json=body)
        assert answer.status_code == 201, answer.text

    def told(self) -> list[tuple[str, str, str]]:
        """Return commit, state and description of each status at the host."""
        return [(path.rpartition("/")[2], body["state"], body["description"]) for path, body in self.statuses]


@pytest.fixture
def git_team(open_team: OpenTeam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitTeam]:
    monkeypatch.setenv("GIT_SSL_CAINFO", str(PEM))
    known = Repository(tmp_path / "host" / "private")
    known.commit({f"evals/{name}": text for name, text in FILES.items()})
    statuses: list[tuple[str, Any]] = []
    with served(tmp_path / "host", statuses) as host:
        team = open_team(git_hosts=(host,), git_host_kinds=(f"{host}=gitea",))
        yield GitTeam(team, host, known, statuses)


def test_a_commit_of_a_private_repository_is_evaluated_and_its_host_told(git_team: GitTeam) -> None:
    team, commit = git_team.team, git_team.known.git("rev-parse", "HEAD")
    # The first sync is waiting, so the answer says which one to wait for.
    waits = team.submit(branch="main")
    assert (waits.status_code, "sync" in waits.json()) == (409, True), waits.text
    team.work()
    run = team.submitted(branch="main", limit=4)
    asked = run["request"]["evaluation"]
    assert (asked["commit"], asked["branch"]) == (commit, "main")
    assert (asked["message"], asked["author"]) == ("change", "Somebody")
    team.work()
    assert team.run(run["id"])["state"] == "finished"
    states = [state for _, state, _ in git_team.told()]
    assert states in (["pending", "success"], ["success"])
    at, _, words = git_team.told()[-1]
    assert at == commit
    assert "n=4/4" in words
    assert git_team.statuses[-1][1]["context"] == "mesocosm/sums"
    document = team.owner.get(f"{git_team.path}/repository").json()
    assert (document["statuses"], document["status_error"]) == (True, "")
    again = team.submitted(from_run=run["id"], limit=1)["request"]["evaluation"]
    assert (again["message"], again["author"], again["dirty"]) == ("change", "Somebody", False)


def test_an_earlier_commit_and_another_branch_are_evaluated(git_team: GitTeam) -> None:
    team, known = git_team.team, git_team.known
    first = known.git("rev-parse", "HEAD")
    known.git("checkout", "--quiet", "-b", "try")
    second = known.commit({"evals/rollouts/sums/note.txt": "x"})
    known.git("checkout", "--quiet", "main")
    known.commit({"evals/rollouts/sums/main.py": "raise SystemExit('broken')\n"})
    places: tuple[dict[str, Any], ...] = ({"commit": first}, {"branch": "try"})
    for given in places:
        assert team.submit(**given).status_code == 409
        team.work()
    runs = [team.submitted(limit=1, **given) for given in places]
    assert [run["request"]["evaluation"]["commit"] for run in runs] == [first, second]
    team.work()
    assert [team.run(run["id"])["state"] for run in runs] == ["finished", "finished"]
    assert {at for at, state, _ in git_team.told() if state == "success"} == {first, second}


def test_a_configuration_pins_its_commit(git_team: GitTeam) -> None:
    team, known = git_team.team, git_team.known
    first = known.git("rev-parse", "HEAD")
    pinned = FILES["configs/eval/sums.toml"].replace("[experiment]", f'[experiment]\ncommit_sha = "{first}"')
    known.commit({"evals/configs/eval/pinned.toml": pinned, "evals/rollouts/sums/main.py": "broken ="})
    team.work()
    wanted: dict[str, Any] = {"configuration": "configs/eval/pinned.toml", "branch": "", "limit": 1}
    waits = team.submit(**wanted)
    assert waits.status_code == 409, waits.text
    team.work()
    run = team.submitted(**wanted)
    assert run["request"]["evaluation"]["commit"] == first
    team.work()
    assert team.run(run["id"])["state"] == "finished"


def test_the_token_is_nowhere_but_encrypted(git_team: GitTeam, tmp_path: Path) -> None:
    team = git_team.team
    team.work()
    run = team.submitted(branch="main", limit=1)
    team.work()
    owner = team.owner
    seen = [
        *(owner.get(f"/api/runs/{run['id']}{part}").text for part in ("", "/output", "/export", "/episodes")),
        *(owner.get(f"{git_team.path}{part}").text for part in ("/repository", "/syncs", "/syncs/1", "/secrets")),
        str(team.service.store.audit.list()),
    ]
    assert TOKEN not in "".join(seen)
    found = subprocess.run(
        ["grep", "-rl", TOKEN, str(tmp_path / "data"), str(tmp_path / "results")], capture_output=True, check=False
    )
    assert found.stdout == b""
