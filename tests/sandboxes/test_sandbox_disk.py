"""What programs in sandboxes leave on disk to be in the way."""

import os
import sys
from pathlib import Path

import pytest

from mesocosm.sandboxes import watches as watching
from mesocosm.sandboxes.bubblewrap import available, hand_over
from mesocosm.sandboxes.disk import DEEPEST, remove, settle, used
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.sandbox import ProgramSandbox
from mesocosm.sandboxes.sandboxed_process import Finished

LEVELS = 6_000
"""Deeper than Python recurses, in paths longer than the system takes."""


def deep(folder: Path, levels: int = LEVELS) -> None:
    """Make folders in folders, with a file in the last."""
    before = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(folder)
        for _ in range(levels):
            os.mkdir("a")  # noqa: PTH102
            os.chdir("a")
        Path("file").write_text("x")
    finally:
        os.chdir(before)


async def run(tmp_path: Path, script: str, most_bytes: int = 20 * MIB) -> Finished:
    """Run a script that may write into `tmp_path / "out"`, which is its argument."""
    place, out = tmp_path / "source", tmp_path / "out"
    place.mkdir(mode=0o755)
    out.mkdir()
    sandbox = ProgramSandbox(
        kind="bubblewrap" if available() else "plain",
        most_memory=512 * MIB,
        allowance=ProgramLimits(processes=64),
        readable=(Path(sys.prefix),),
    )
    command = [sys.executable, "-c", script, str(out)]
    return await sandbox.run(command, cwd=place, writable=(out,), seconds=60, most_bytes=most_bytes)


def test_a_tree_too_deep_for_any_path_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").write_text("x")
    deep(root)
    assert remove(root)
    assert not root.exists()


def test_what_a_link_leads_to_is_not_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(kept)
    (tmp_path / "itself").symlink_to(kept)
    assert remove(root)
    assert remove(tmp_path / "itself")
    assert (kept / "file").read_text() == "x"


def test_folders_that_forbid_everything_are_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "closed" / "inner").mkdir(parents=True)
    (root / "closed" / "inner" / "file").write_text("x")
    (root / "closed" / "inner").chmod(0)
    (root / "closed").chmod(0)
    assert remove(root)


def test_a_tree_is_handed_over_however_deep_its_folders_are(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    deep(root, 1_500)
    hand_over(root)
    assert remove(root)


def test_what_lies_too_deep_to_be_counted_is_told(tmp_path: Path) -> None:
    deep(tmp_path)
    assert used([tmp_path], 10**9, 10**6).hidden
    assert remove(tmp_path)


def test_pipes_and_sockets_do_not_stay(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "file").write_text("x")
    (tmp_path / "closed" / "file").chmod(0)
    (tmp_path / "closed").chmod(0o500)
    (tmp_path / "link").symlink_to("nowhere")
    settle(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["closed", "link"]
    assert (tmp_path / "closed").stat().st_mode & 0o700 == 0o700
    assert (tmp_path / "closed" / "file").stat().st_mode & 0o600 == 0o600


async def test_a_program_that_hides_files_in_deep_folders_is_ended(tmp_path: Path) -> None:
    script = f"""
import os, sys, time
os.chdir(sys.argv[1])
for _ in range({LEVELS}):
    os.mkdir("a")
    os.chdir("a")
time.sleep(60)
"""
    finished = await run(tmp_path, script)
    assert finished.how == "limit"
    assert finished.reason == f"made a folder that is closed, or lies more than {DEEPEST} folders deep"
    assert remove(tmp_path / "out")


async def test_a_program_that_fills_the_disk_and_ends_at_once_is_noticed(tmp_path: Path) -> None:
    script = "import sys\nopen(sys.argv[1] + '/big', 'wb').write(bytes(30 * 2**20))"
    finished = await run(tmp_path, script)
    assert (finished.how, finished.reason) == ("limit", "wrote more than 20 MB to disk")


async def test_files_without_a_name_count(tmp_path: Path) -> None:
    script = """
import os, sys, time
held = []
for number in range(4):
    held.append(open(sys.argv[1] + "/f", "wb"))
    os.unlink(sys.argv[1] + "/f")
    held[-1].write(bytes(10 * 2**20))
    held[-1].flush()
time.sleep(60)
"""
    finished = await run(tmp_path, script)
    assert (finished.how, finished.reason) == ("limit", "wrote more than 20 MB to disk")


async def test_who_writes_is_ended_before_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LEAST_FREE", 2**62)
    finished = await run(tmp_path, "import time\ntime.sleep(60)")
    assert finished.how == "limit"
    assert "the disk of this machine has less than" in finished.reason
