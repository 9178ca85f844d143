"""The first program of a kernel of its own: plays hostile programs in control groups and prints what came of it."""

import asyncio
import ctypes
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mesocosm.sandboxes import watches

USER = 1_000
PYTHON = str(Path(sys.executable).resolve())
HIERARCHY = Path("/sys/fs/cgroup")
HOG = "held = bytearray(900 << 20)\nfor place in range(0, len(held), 4096): held[place] = 1\nprint('THROUGH')"
TOUCHED = (
    "import mmap\n"
    "held = [mmap.mmap(-1, 64 << 20) for _ in range(12)]\n"
    "for one in held:\n"
    "    for place in range(0, len(one), 4096): one[place] = 1\n"
    "    one.madvise(mmap.MADV_DONTNEED)\n"
    "print('THROUGH')"
)
BOMB = (
    "import os, time\nmade = 0\nwhile made < 500:\n"
    "    try:\n        if os.fork() == 0: time.sleep(60); os._exit(0)\n    except OSError: break\n    made += 1\n"
    "print('made', made)"
)


def mount(kind: str, place: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", place.encode(), kind.encode(), 0, None):
        raise OSError(ctypes.get_errno(), place)


def unit(name: str, owner: int) -> Path:
    """Return a group as systemd delegates it."""
    made = HIERARCHY / name
    made.mkdir()
    os.setxattr(made, "user.delegate", b"1")
    for place in (made, *(made / file for file in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads"))):
        os.chown(place, owner, owner)
    return made


@contextmanager
def shown_folder() -> Iterator[Path]:
    """A folder that every account may read."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def played(above: Path) -> dict[str, Any]:
    from mesocosm.sandboxes import cgroup
    from mesocosm.sandboxes import programs as graded
    from mesocosm.sandboxes.attacks import holding
    from mesocosm.sandboxes.bubblewrap import available
    from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
    from mesocosm.sandboxes.sandbox import ProgramSandbox, choose

    # What is tried is the kernel: nobody else looks.
    for module in (graded, watches):
        vars(module)["more_than"] = lambda *_: 0
    found: dict[str, Any] = {"why_not": cgroup.why_not(), "enforced": cgroup.enforced(), "holding": holding()}
    found["bubblewrap"] = available().reason
    found["ours"] = [int(line) for line in (above / "mesocosm/cgroup.procs").read_text().split()] == [os.getpid()]
    allowance = ProgramLimits(processes=16, scratch_bytes=8 * MIB)
    programs = graded.Programs(allowance, most_memory=64 * MIB)
    for name, source in (("hog", HOG), ("touched", TOUCHED), ("bomb", BOMB), ("fine", "print('fine')")):
        ended = await programs.run(source, seconds=60)
        found[name] = [ended.how, ended.stdout.decode(), ended.stderr[-300:]]
    sandbox = ProgramSandbox(kind=choose("auto", unsafe=False), allowance=allowance, most_memory=64 * MIB)
    with shown_folder() as folder:
        for name, source in (("environment hog", HOG), ("environment fine", "print('fine')")):
            done = await sandbox.run([PYTHON, "-I", "-S", "-c", source], cwd=folder, seconds=60)
            found[name] = [done.how, done.output_tail[-300:], done.reason]
    found["left"] = [place.name for place in (above / cgroup.PROGRAMS).iterdir() if place.is_dir()]
    return found


def of_user(name: str, user: int) -> dict[str, Any]:
    """Play it as a user of this machine, in a group that was given to that user."""
    told, tell = os.pipe()
    above = unit(name, user)
    pid = os.fork()
    if pid == 0:
        try:
            (above / "cgroup.procs").write_text(str(os.getpid()))
            if user:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            found = asyncio.run(played(above))
        except BaseException:  # noqa: BLE001 -- this process has no other way to say it
            found = {"failed": traceback.format_exc()}
        os.write(tell, json.dumps(found).encode())
        os._exit(0)
    os.close(tell)
    with os.fdopen(told, "rb") as file:
        said = file.read()
    os.waitpid(pid, 0)
    return dict(json.loads(said))


def _readable_to_all(place: Path) -> bool:
    """Return whether any user may run the interpreter; it may lie in the home of root."""
    return all(path.stat().st_mode & 0o005 == 0o005 for path in (place.resolve(), *place.resolve().parents))


def main() -> None:
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp"), ("cgroup2", str(HIERARCHY))):
        mount(kind, place)
    Path("/tmp").chmod(0o1777)
    os.environ["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)
    (HIERARCHY / "cgroup.subtree_control").write_text("+memory +pids +cpu +io")
    found = {"root": of_user("root.service", 0)}
    if _readable_to_all(Path(sys.executable)):
        found["user"] = of_user("user.service", USER)
    print("\nFOUND", json.dumps(found), flush=True)
    os.sync()
    Path("/proc/sysrq-trigger").write_text("o")


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001 -- the first program of a kernel must not end
        traceback.print_exc()
        Path("/proc/sysrq-trigger").write_text("o")
