"""What is put around a command, for each kind of enclosure."""

import dataclasses
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.allowance import Allowance
from mesocosm.sandboxes.bubblewrap import ACCOUNT, View, available, confined, hand_over
from mesocosm.sandboxes.enclosure.choice import Kind
from mesocosm.sandboxes.enclosure.syscalls import syscall_filter
from mesocosm.sandboxes.plain import PYTHON

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
ENVIRONMENT = {"PATH": PATH, "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1", **PYTHON}  # noqa: S108
"""What every program in an enclosure gets, beside what is declared for it."""


def interpreter() -> tuple[Path, ...]:
    """Return where our interpreter is installed, without our packages: what the programs of ours inside need."""
    installed = Path(sys.base_prefix)
    return tuple(dict.fromkeys((installed, installed.resolve())))


def walled(kind: Kind, command: Sequence[str], view: View, allowance: Allowance, own: Path) -> list[str]:
    """Return the command that runs `command` behind a wall; what the wall needs is written to the folder `own`.

    Raises EpisodeError where there is none to be had.
    """
    # The number is what the watch says first, so that its author hears of it; the wall stands a little behind.
    most = allowance.processes
    beyond = dataclasses.replace(allowance, processes=None if most is None else most + most // 4 + 8)
    if kind == "plain":
        # Linux counts the processes of an account, which here are also ours and everybody's.
        return [*dataclasses.replace(beyond, processes=None).words(), *command]
    works = available()
    if not works:
        raise EpisodeError(Cause.SANDBOX_FAILED, f"{command[0]} cannot be confined: {works.reason}")
    for folder in view.writable:
        hand_over(folder)
    for shown in (*([view.cwd] if view.cwd else []), *view.readable):
        _check_shown(shown)
    # What asks the tree to end must reach the program, and not end bubblewrap, which would take it along at once.
    heard = ["env", "--default-signal=TERM,INT,HUP", *command]
    return ["env", "--ignore-signal=TERM,INT,HUP", *confined(heard, view, beyond, syscalls=_syscalls(own))]


def _check_shown(place: Path) -> None:
    """Refuse what the account of confined programs could not read: they would fail without a word of it."""
    try:
        seen = place.stat()
    except OSError as error:
        raise EpisodeError(
            Cause.SANDBOX_FAILED, f"{place} cannot be shown in an enclosure: {error.strerror}"
        ) from error
    needed = 0o005 if place.is_dir() else 0o004
    if os.getuid() == 0 and seen.st_uid != ACCOUNT and seen.st_mode & needed != needed:
        raise EpisodeError(
            Cause.SANDBOX_FAILED, f"{place} cannot be read by confined programs; give others the right (chmod o+rX)"
        )


def _syscalls(own: Path) -> Path | None:
    lines = syscall_filter()
    if lines is None:
        return None
    place = own / "syscalls"
    place.write_bytes(lines)
    return place


def identity(folder: Path) -> dict[Path, Path]:
    """Write the files of /etc that programs ask for who they are and where localhost is; return where to show them."""
    number = ACCOUNT if os.getuid() == 0 else os.getuid()
    texts = {
        "passwd": f"environment:x:{number}:{number}::/tmp:/bin/sh\n",
        "group": f"environment:x:{number}:\n",
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {Path("/etc", name): folder / name for name in texts}


def private_folder() -> Path:
    """Return a new folder that only we may enter."""
    return Path(tempfile.mkdtemp(prefix="mesocosm-"))
