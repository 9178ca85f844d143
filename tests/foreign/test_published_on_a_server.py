"""Rollouts as people have them, unchanged, from a bare repository to the scores of their rows on a server.

What they declare is installed in the sandbox, from a folder of wheels as the operator's index: the sandbox reaches
public addresses alone, and the index of the machine that tests may have another. It needs Python 3.12.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rollouts import puppet
from tests.rollouts.published_rollout import PUBLISHED, Row, Workspace, differences, expected
from tests.server.evaluations.conftest import OpenTeam, Team, cheap_passwords, open_team

from mesocosm.sandboxes.bubblewrap import available
from mesocosm.testing.model_server import ModelServer

__all__ = ["cheap_passwords", "open_team"]

pytestmark = [
    pytest.mark.skipif(not available(), reason="there is no bubblewrap"),
    pytest.mark.skipif(not os.environ.get("MESOCOSM_TEST_PUBLISHED"), reason="run by make test-published"),
]

_PYENV = sorted(Path.home().glob(".pyenv/versions/3.12.*/bin/python3"))
PYTHON = [str(_PYENV[-1] if _PYENV else shutil.which("python3.12") or sys.executable)]
# Later ones need mcp 2, which osmosis-ai and strands-agents exclude between them without asking for an older LiteLLM.
FITTING = ["litellm<1.101"]
KINDS = {"calculator": "a plain OpenAI client", "reception": "Strands", "quiz": "the old form of one file"}


@pytest.fixture(scope="module")
def wheels() -> Iterator[Path]:
    """A folder with all that the rollouts declare; the sandbox reads it, so others may."""
    with tempfile.TemporaryDirectory(prefix="mesocosm-wheels-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        _download(place)
        yield place


def _download(place: Path) -> None:
    for name in KINDS:
        project = tomllib.loads((PUBLISHED / name / "pyproject.toml").read_text())["project"]
        words = [*PYTHON, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", str(place)]
        subprocess.run([*words, *project["dependencies"], *FITTING], check=True)


@pytest.fixture(autouse=True)
def index(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the folder the only index of the worker."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def git(*words: str, at: Path) -> None:
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *author, *words], cwd=at, check=True, capture_output=True)


def bare(place: Path, name: str) -> Path:
    """Return a bare repository with a workspace directory of one published rollout, and its dataset beside it."""
    root = place / "clone"
    Workspace.of(root, name)
    (root / "data" / f"{name}.jsonl").rename(place / f"{name}.jsonl")
    git("init", "-q", "-b", "main", at=root)
    git("add", "-A", at=root)
    git("commit", "-qm", f"Add {name}", at=root)
    git("clone", "-q", "--bare", str(root), str(place / "evals.git"), at=place)
    return place / "evals.git"


@pytest.fixture
def team(open_team: OpenTeam) -> Iterator[Team]:
    """A team whose server reads repositories of this disk, and serves the puppet."""
    with ModelServer(puppet.answer) as model:
        names = ("openai/puppet", "openai/small")
        models = [{"name": name, "served_as": f"{name}@{model.openai_url}"} for name in names]
        yield open_team(models=models, local_git=True, secrets_key="")


@pytest.mark.parametrize("name", KINDS)
def test_a_published_rollout_gives_on_a_server_what_its_author_expects(team: Team, name: str, tmp_path: Path) -> None:
    path = f"/api/workspaces/{team.workspace}"
    connected = team.owner.request("PUT", f"{path}/repository", json={"url": str(bare(tmp_path, name))})
    assert connected.status_code == 201, connected.text
    team.add_dataset(name, (tmp_path / f"{name}.jsonl").read_bytes())
    (sync,) = team.owner.get(f"{path}/syncs").json()
    assert sync["status"] == "success", sync
    assignments = {"experiment.dataset": name}
    run = team.submitted(configuration=f"configs/eval/{name}.toml", branch="main", assignments=assignments)
    assert run["request"]["evaluation"]["commit"] == sync["commit"]
    team.work()
    done = team.run(run["id"])
    output = team.owner.get(f"/api/runs/{run['id']}/output").json()["items"]
    assert done["state"] == "finished", (done["error"], "".join(piece["text"] for piece in output)[-4_000:])
    assert differences(rows(team, run["id"]), expected(name)) == [], failures(team, run["id"])


def rows(team: Team, run_id: str) -> list[Row]:
    """Return what came of the first trial of each row."""
    listed = team.owner.get(f"/api/runs/{run_id}/episodes", params={"limit": 500}).json()["items"]
    first = sorted((one for one in listed if one["trial"] == 0), key=lambda one: int(one["task_id"]))
    return [_row(one) for one in first]


def failures(team: Team, run_id: str) -> str:
    """Return why the episodes of a run failed."""
    listed = team.owner.get(f"/api/runs/{run_id}/episodes", params={"limit": 500}).json()["items"]
    return "\n".join(f"{one['failure']['message']}\n{one['failure']['detail']}" for one in listed if one["failure"])


def _row(episode: dict[str, Any]) -> Row:
    scores = {score["name"]: score["value"] for score in episode["scores"] if score["value"] is not None}
    reward = scores.pop("reward", None)
    missing = next((score["missing"] for score in episode["scores"] if score["name"] == "reward"), None)
    failure = episode["failure"]["cause"] if episode["failure"] else missing or ""
    return Row(reward, scores, failure if reward is None else "")


def test_the_three_kinds_are_still_there() -> None:
    for name in KINDS:
        assert json.loads((Path(puppet.__file__).parent / "published" / name / "expected.json").read_text())
