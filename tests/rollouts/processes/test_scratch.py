"""Temporary folders of rollouts: whose owner was killed is removed by the next one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mesocosm.rollouts.processes.scratch import ExecutorScratch

OWNER = """
import os, sys
from mesocosm.rollouts.processes.scratch import ExecutorScratch
print(ExecutorScratch("r1-", {}).folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_owner_left_is_removed_by_the_next() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        left = Path(os.fsdecode(owner.stdout.readline().strip()))
        beside = ExecutorScratch("r2-", {})
        assert left.is_dir()
        owner.kill()
    after = ExecutorScratch("r3-", {})
    assert not left.exists()
    assert beside.folder.is_dir()
    beside.clear()
    after.clear()


def test_nothing_is_left_at_the_end(temporary: Path) -> None:
    ExecutorScratch("r1-", {}).clear()
    assert list(temporary.iterdir()) == []


def test_a_folder_that_has_no_lock_yet_is_left_alone(temporary: Path) -> None:
    other = temporary / "mesocosm-rollout-begun"
    other.mkdir()
    ExecutorScratch("r1-", {}).clear()
    assert other.is_dir()
