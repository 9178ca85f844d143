"""Install guests: one virtual environment for each framework, below `guests_folder`."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.guests.interpreter import facts_of, named_python
from mesocosm.guests.kinds import GuestKind
from mesocosm.rollouts.processes.installation import pip_command, venv_command
from mesocosm.rollouts.processes.requirement import Interpreter, fits, fitting
from mesocosm.sandboxes.disk import remove
from mesocosm.sandboxes.installed import MARK, guests_folder

_TAIL = 15


def install(kind: GuestKind, python: str, notice: Callable[[str], None]) -> Path:
    """Install a framework in an environment of its own, made of `python` or of one that fits; return its program.

    An environment that is there already is replaced once the new one is complete. Raises UsageError,
    InfrastructureError with the installer's last words.
    """
    base = _base(kind, python)
    folder = guests_folder() / kind.name
    place = folder / token_hex(4)
    folder.mkdir(parents=True, exist_ok=True)
    notice(f"installing {', '.join(kind.requirements)} with Python {base} in {place}")
    try:
        _run(kind, venv_command(base, place))
        _run(kind, [*pip_command(place), "install", "--disable-pip-version-check", "--no-input", *kind.requirements])
    except BaseException:
        remove(place)
        raise
    mark = folder / MARK
    earlier = _marked(mark)
    new = mark.with_name(f"{MARK}.{place.name}")
    new.write_text(json.dumps({"environment": place.name, "requirements": kind.requirements}), encoding="utf-8")
    new.replace(mark)
    if earlier and earlier != place.name:
        remove(folder / earlier)
    return place / "bin" / "python"


def _base(kind: GuestKind, python: str) -> Interpreter:
    if python:
        path = named_python(python)
        facts = facts_of(path, ())
        if facts is None:
            raise UsageError(f"{path} is no Python that runs here")
        major, minor, micro = (int("".join(filter(str.isdigit, part))) for part in facts.python.split(".")[:3])
        found = Interpreter(path, (major, minor, micro))
        if not fits(found.version, kind.python):
            raise UsageError(f"{kind.title} needs Python {kind.python}, and {path} is {found}")
        return found
    fitted = asyncio.run(fitting(kind.python, os.environ))
    if fitted is None:
        raise UsageError(
            f"{kind.title} needs Python {kind.python}, and none is here; install one, or name it: --python"
        )
    return fitted


def _run(kind: GuestKind, command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 -- no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        raise InfrastructureError(f"{command[0]} cannot be started: {error}") from error
    if done.returncode:
        words = "\n".join(f"  | {line}" for line in done.stdout.strip().splitlines()[-_TAIL:])
        raise InfrastructureError(f"{kind.title} could not be installed; the installer's last words:\n{words}")


def _marked(mark: Path) -> str:
    try:
        return str(json.loads(mark.read_bytes())["environment"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
