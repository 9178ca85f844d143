"""The template of a plug-in is installed like any package: its parts are found, and they keep their contracts."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.core import registry
from mesocosm.rollouts.graders.catalogue import open_grader

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

EXAMPLES = Path(__file__).parents[2] / "examples"
PLUGIN = EXAMPLES / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory that the plug-in is installed into."""
    place = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run([*command, "--target", place, PLUGIN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def plugged_in(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process find the plug-in, for one test."""
    monkeypatch.syspath_prepend(installed)
    for known in (registry.MODELS, registry.AGENTS, registry.GRADERS, registry.SOURCES):
        monkeypatch.setattr(known, "_installed", None)


@pytest.mark.usefixtures("plugged_in")
def test_its_parts_are_listed_with_their_package(mesocosm: "Invoke") -> None:
    listed = mesocosm("plugins", "--json").document
    mine = {(entry["kind"], entry["name"]) for entry in listed if entry["origin"] == "my-plugin"}
    assert mine == {("models", "parrot"), ("agents", "vote"), ("graders", "prefix"), ("sources", "guess")}


@pytest.mark.usefixtures("plugged_in")
def test_its_agent_plays_with_its_model(mesocosm: "Invoke", tmp_path: Path) -> None:
    manifest = EXAMPLES / "word-game" / "benchanything.json"
    model = ("--model", "parrot/any", "--allow-cloud", "--agent", "vote", "--agent-option", "votes=2")
    there = ("--manifest", manifest, "--episodes", "1", "--results-dir", tmp_path)
    run = mesocosm("run", "local", *there, *model, "--json").document["run"]
    assert (run["status"], run["config"]["agent_config"]["model"]) == ("finished", "parrot/any")


@pytest.mark.usefixtures("plugged_in")
def test_its_source_is_run_by_its_scheme(mesocosm: "Invoke", tmp_path: Path) -> None:
    words = ("run", "guess:3", "-m", "builtin/random", "-n", "4", "-P", "guesses=2", "--results-dir", tmp_path)
    run = mesocosm(*words, "--json").document["run"]
    assert (run["status"], run["config"]["domain_id"], run["config"]["num_episodes"]) == ("finished", "guess:3", 4)


@pytest.mark.usefixtures("plugged_in")
def test_its_grader_is_opened_by_name_with_options() -> None:
    assert type(open_grader("prefix", {"case": False})).__name__ == "PrefixGrader"


def test_its_own_tests_pass_with_pytest_alone(installed: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(installed)!r}); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    command: list[str | Path] = [
        sys.executable,
        "-c",
        code,
        "-p",
        "no:cacheprovider",
        "--rootdir",
        tmp_path,
        PLUGIN / "tests",
    ]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
