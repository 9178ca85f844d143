"""Limits by control groups: against a tree that behaves as the kernel's, and in a kernel of its own where one is.

The second needs Debian's `user-mode-linux`: a Linux kernel that runs as a program, with every controller of version 2.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from mesocosm.sandboxes import cgroup
from mesocosm.sandboxes.cgroup import OURS, PROGRAMS, CgroupLimits, Unavailable
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits

KERNEL = shutil.which(os.environ.get("LINUX_UML", "linux.uml"))
FILES = {
    "cgroup.procs": "",
    "cgroup.subtree_control": "",
    "cgroup.type": "domain\n",
    "cgroup.kill": "",
    "cpu.max": "max 100000\n",
    "cpu.weight": "100\n",
    "memory.max": "max\n",
    "memory.swap.max": "max\n",
    "memory.oom.group": "0\n",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
    "pids.max": "max\n",
}


def _called(path: Path, work: Callable[..., None], *given: Any, **named: Any) -> None:
    work(path, *given, **named)


class Tree:
    """Control groups in a folder: groups come with their files, controllers are handed down, moved processes leave."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.base = base
        self.controllers = "cpu memory pids"
        self.refused = ""
        self.killed: list[Path] = []
        self._mkdir, self._rmdir = Path.mkdir, Path.rmdir
        monkeypatch.setattr(Path, "mkdir", partialmethod(_called, self.mkdir))
        monkeypatch.setattr(Path, "rmdir", partialmethod(_called, self.rmdir))
        monkeypatch.setattr(cgroup, "_write", self.write)
        base.mkdir()

    def mkdir(self, path: Path, *given: Any, **named: Any) -> None:
        """Make a folder; a group comes with its files."""
        self._mkdir(path, *given, **named)
        if path.is_relative_to(self.base) and not (path / "cgroup.procs").exists():
            self.fill(path)

    def rmdir(self, path: Path) -> None:
        """Remove a folder; a group may hold no process."""
        if path.is_relative_to(self.base):
            if (path / "cgroup.procs").read_text():
                raise OSError(16, "Device or resource busy")
            for file in path.iterdir():
                file.unlink()
        self._rmdir(path)

    def write(self, file: Path, text: str) -> None:
        """Take what is written to a file of the kernel."""
        if file.name == self.refused:
            raise OSError(13, "Permission denied")
        if file.name == "cgroup.subtree_control":
            if (file.parent / "cgroup.procs").read_text():
                raise OSError(16, "Device or resource busy")
            text = " ".join([*file.read_text().split(), text.removeprefix("+")])
        elif file.name == "cgroup.procs":
            for other in self.base.rglob("cgroup.procs"):
                left = [line for line in other.read_text().split() if line != text]
                other.write_text("".join(f"{line}\n" for line in left))
            text = file.read_text() + f"{text}\n"
        elif file.name == "cgroup.kill":
            self.killed.append(file.parent)
            (file.parent / "cgroup.procs").write_text("")
        assert file.exists(), f"{file} is no file of the kernel"
        file.write_text(text)

    def fill(self, group: Path) -> None:
        """Write the files that the kernel makes for a group."""
        for name, text in FILES.items():
            (group / name).write_text(text)
        (group / "cgroup.controllers").write_text(self.controllers)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A group that was delegated to us, with two processes in it."""
    made = Tree(tmp_path / "unit.service", monkeypatch)
    (made.base / "cgroup.procs").write_text("11\n12\n")
    return made


@pytest.fixture
def divided(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The group below which those of programs are."""
    above = cgroup.divide(tree.base)
    monkeypatch.setattr(cgroup, "programs", lambda: above)
    return above


def test_our_processes_move_aside_and_controllers_are_handed_down(tree: Tree) -> None:
    above = cgroup.divide(tree.base)
    assert above == tree.base / PROGRAMS
    assert (tree.base / "cgroup.procs").read_text() == ""
    assert (tree.base / OURS / "cgroup.procs").read_text().split() == ["11", "12"]
    for group in (tree.base, above):
        assert set((group / "cgroup.subtree_control").read_text().split()) == {"memory", "pids", "cpu"}
    assert (above / "cpu.weight").read_text() == str(cgroup.SHARE)
    assert cgroup.divide(tree.base) == above


def test_a_program_gets_its_limits_and_no_swap(divided: Path) -> None:
    group = cgroup.make(CgroupLimits(64 * MIB, 20, 1.5))
    assert group is not None
    assert group.path.parent == divided
    texts = {name: (group.path / name).read_text() for name in FILES}
    assert texts["memory.max"] == str(64 * MIB)
    assert (texts["memory.swap.max"], texts["memory.oom.group"]) == ("0", "1")
    assert (texts["pids.max"], texts["cpu.max"]) == ("20", "150000 100000")
    assert str(group.path / "cgroup.procs") in group.words()


def test_what_the_kernel_ended_for_want_of_memory_is_known_after_the_group_is_gone(tree: Tree, divided: Path) -> None:
    group = cgroup.make(CgroupLimits(64 * MIB))
    assert group is not None
    assert cgroup.make(CgroupLimits(1)) is not None
    (group.path / "cgroup.procs").write_text("77\n")
    (group.path / "memory.events").write_text("oom 1\noom_kill 3\n")
    group.remove()
    assert not group.path.exists()
    assert group.path in tree.killed
    assert group.out_of_memory
    group.remove()
    assert group.path not in divided.iterdir()


def test_groups_of_processes_that_are_gone_are_swept(tree: Tree, divided: Path) -> None:
    (divided / "999999999-1").mkdir()
    (divided / f"{os.getpid()}-8").mkdir()
    cgroup.divide(tree.base)
    assert [place.name for place in divided.glob("*-*")] == [f"{os.getpid()}-8"]


@pytest.mark.parametrize("file", ["memory.max", "pids.max", "cpu.max"])
def test_a_group_that_does_not_take_its_limits_is_not_used(tree: Tree, divided: Path, file: str) -> None:
    tree.refused = file
    assert cgroup.make(CgroupLimits(64 * MIB, 20, 1.0)) is None
    assert list(divided.glob("*-*")) == []


def test_a_group_that_cannot_be_divided_says_why(tree: Tree) -> None:
    tree.refused = "cgroup.subtree_control"
    with pytest.raises(Unavailable, match="cannot be divided: Permission denied"):
        cgroup.divide(tree.base)


def test_the_kernel_stands_a_little_behind_the_limits_that_are_watched() -> None:
    limits = cgroup.limits_of(ProgramLimits(processes=16, scratch_bytes=8 * MIB), 64 * MIB)
    assert limits.memory == 80 * MIB
    assert limits.processes is not None
    assert limits.processes > 16
    assert limits.processors is not None
    assert limits.processors >= 1


@pytest.mark.skipif(KERNEL is None, reason="needs a kernel that runs as a program: apt-get install user-mode-linux")
def test_a_kernel_with_controllers_ends_what_passes_its_limits(tmp_path: Path) -> None:
    """Play hostile programs in delegated groups, as root and as a user, while nobody but the kernel looks."""
    assert KERNEL is not None
    start = tmp_path / "init"
    paths = ":".join(path for path in sys.path if path)
    guest = Path(__file__).with_name("kernel_guest.py")
    start.write_text(f"#!/bin/sh\nexport PYTHONPATH={paths}\nexec {sys.executable} -B {guest}\n")
    start.chmod(0o755)
    told = subprocess.run(
        [KERNEL, "mem=1500M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={start}", "con=null", "con0=fd:0,fd:1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    found = next(line for line in told.stdout.splitlines() if line.startswith("FOUND "))
    for name, one in json.loads(found.removeprefix("FOUND ")).items():
        assert one.get("failed", "") == "", name
        assert one["why_not"] == ""
        assert {"memory", "pids", "cpu"} <= set(one["enforced"])
        assert any("by the kernel" in line for line in one["holding"])
        assert one["ours"]
        assert (one["hog"][0], one["hog"][1]) == ("limit", "")
        assert one["fine"][:2] == ["ok", "fine\n"]
        assert one["environment hog"][0] == "limit"
        assert one["environment hog"][2] == "used more memory than its limit of 64 MB"
        assert one["environment fine"][:2] == ["ok", "fine"]
        assert one["left"] == []
