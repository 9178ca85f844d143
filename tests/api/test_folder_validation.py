"""Verdicts on task folders, by playing them in containers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mesocosm.api.folder_validation import FolderPlayed, FolderVerdict, counts, validate_folders
from mesocosm.sandboxes.bubblewrap import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no bubblewrap")
TASKS = Path(__file__).parents[1] / "benchmarks" / "harbor" / "tasks"


def task(place: Path, name: str, **files: str) -> None:
    """Copy a task, with other files in it."""
    shutil.copytree(TASKS / "file-answer", place / name)
    for path, text in files.items():
        (place / name / path.replace("__", "/").replace("_", ".")).write_text(text)


async def test_each_task_gets_a_verdict(tmp_path: Path) -> None:
    done = "echo 1 > /logs/verifier/reward.txt\n"
    # A verifier of its own: nothing that the agent leaves running is there.
    apart = '[verifier]\nenvironment_mode = "separate"\n[environment]\nnetwork_mode = "no-network"\n'
    artifact = f'artifacts = ["/app/hello.txt"]\n{apart}'
    task(tmp_path, "apart", task_toml=artifact)
    task(tmp_path, "shared")
    task(tmp_path, "free", tests__test_sh=f"#!/bin/sh\n{done}", task_toml=apart)
    task(tmp_path, "unsolved", solution__solve_sh="#!/bin/sh\ntrue\n", task_toml=artifact)
    task(tmp_path, "broken", tests__test_sh="#!/bin/sh\nexit 1\n", task_toml=artifact)
    players: list[FolderPlayed] = []
    verdicts = {
        one.task: one for one in await validate_folders(tmp_path, {"engine": "bubblewrap"}, None, players.append)
    }
    assert [one.player for one in players[:3]] == ["oracle", "nop", "rewards"]
    assert verdicts["apart"].words == "solvable · not free · not forgeable"
    assert verdicts["shared"].words == "solvable · not free · forgeable by watcher"
    assert verdicts["free"].free
    assert verdicts["unsolved"].reason == "the oracle earns 0 of 1"
    assert (verdicts["broken"].solvable, verdicts["broken"].reason) == (False, "the oracle earns nothing: grader_error")
    assert [name for name, one in verdicts.items() if one.ok] == ["apart"]


def test_faults_are_counted() -> None:
    good = FolderVerdict("a", solvable=True, free=False)
    bad = FolderVerdict("b", solvable=False, free=False, forged=("watcher",))
    assert list(counts([good, bad])) == ["1 of 2 not solvable by their own solution", "1 of 2 forgeable"]
    assert list(counts([good])) == []


def test_the_command_prints_verdicts_and_fails_for_a_fault() -> None:
    words = ["validate", f"harbor:{TASKS / 'file-answer'}", "--extra", '{"engine": "bubblewrap"}', "--json"]
    done = subprocess.run([sys.executable, "-m", "mesocosm", *words], capture_output=True, text=True, check=False)
    (found,) = json.loads(done.stdout)["tasks"]
    assert (found["task"], found["solvable"], found["free"], found["forged"]) == (
        "file-answer",
        True,
        False,
        ["watcher"],
    )
    assert done.returncode == 1
