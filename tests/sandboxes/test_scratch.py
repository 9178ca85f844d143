"""Folders of sandboxes: gone with their process, or found by the next one."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from mesocosm.sandboxes.scratch import ScratchFolder, sweep

KILLED = """
import os, sys
from mesocosm.sandboxes.scratch import ScratchFolder
scratch = ScratchFolder()
(scratch.path / "socket").touch()
print(scratch.path, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files, which is this test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def age(path: Path) -> None:
    """Let a folder be of yesterday."""
    os.utime(path, (time.time() - 86_400,) * 2)


def test_what_a_killed_process_left_is_removed(temporary: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.parent == temporary
    assert sweep() == 0
    age(left)
    assert sweep() == 1
    assert not left.exists()


def test_what_is_used_stays_and_so_does_what_is_not_ours(temporary: Path) -> None:
    used = ScratchFolder()
    foreign = temporary / "mesocosm-other"
    foreign.mkdir()
    linked = temporary / "mesocosm-box-linked"
    linked.symlink_to(foreign)
    for path in (used.path, foreign):
        age(path)
    assert sweep() == 0
    assert used.path.is_dir()
    assert foreign.is_dir()
    used.remove()
    used.remove()
    assert not used.path.exists()
