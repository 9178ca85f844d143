"""Temporary folders of rollouts: whose owner was killed is removed by a later one."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from mesocosm.rollouts.processes.http_transport import ServerFiles

OWNER = """
import os, sys
from mesocosm.rollouts.processes.http_transport import ServerFiles
print(ServerFiles("r1-", {}).folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_owner_left_is_removed_by_a_later_one() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        left = Path(os.fsdecode(owner.stdout.readline().strip()))
        os.utime(left, (time.time() - 86_400,) * 2)
        beside = ServerFiles("r2-", {})
        assert left.is_dir()
        owner.kill()
    after = ServerFiles("r3-", {})
    assert not left.exists()
    assert beside.folder.is_dir()
    beside.clear()
    after.clear()


def test_nothing_is_left_at_the_end(temporary: Path) -> None:
    ServerFiles("r1-", {}).clear()
    assert list(temporary.iterdir()) == []
