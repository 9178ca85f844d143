"""The interpreter of a guest: named, installed for it, or found on this machine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import msgspec

from mesocosm.core.failure import Incompatible, UsageError
from mesocosm.core.folder import from_home
from mesocosm.guests.kinds import GuestKind
from mesocosm.sandboxes.installed import installed_python

_ASK_S = 30.0
_FACTS = (
    "import importlib.util, json, platform, sys\n"
    "from importlib import metadata\n"
    "def version(name):\n"
    "    try: return metadata.version(name)\n"
    "    except metadata.PackageNotFoundError: return ''\n"
    "names = sys.argv[1:]\n"
    "print(json.dumps({'python': platform.python_version(), 'packages':"
    " {n: version(n) or 'unknown' for n in names if importlib.util.find_spec(n)}}))\n"
)


@dataclass(frozen=True, slots=True)
class GuestPython:
    """An interpreter: its program, and how it was found (`named`, `installed`, `own`, `found`)."""

    path: str
    how: str


class PythonFacts(msgspec.Struct, frozen=True):
    """What an interpreter says of itself: its version, and the versions of the modules that it has."""

    python: str
    packages: dict[str, str]


def python_for(kind: GuestKind, named: str = "") -> GuestPython:
    """Return the interpreter for a guest. Raises UsageError for a named one that cannot run, Incompatible."""
    if named:
        return GuestPython(named_python(named), "named")
    if installed := installed_python(kind.name):
        return GuestPython(installed, "installed")
    if all(find_spec(name) is not None for name in kind.imports):
        return GuestPython(sys.executable, "own")
    for path in _candidates():
        facts = facts_of(path, kind.imports)
        if facts is not None and len(facts.packages) == len(kind.imports):
            return GuestPython(path, "found")
    wanted = " and ".join(kind.imports)
    remedy = f"install it with `mesocosm guests install {kind.name}`, or name an interpreter that has it: --python PATH"
    raise Incompatible(kind.title, [f"no Python here has {wanted}: {remedy}"])


def facts_of(path: str, modules: tuple[str, ...]) -> PythonFacts | None:
    """Return what an interpreter says of itself; None if it cannot run."""
    try:
        done = subprocess.run(  # noqa: S603 -- no shell
            [path, "-c", _FACTS, *modules],
            capture_output=True,
            timeout=_ASK_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=_environment(os.environ),
        )
        return msgspec.json.decode(done.stdout, type=PythonFacts) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, msgspec.DecodeError):
        return None


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name in {"PATH", "HOME", "LANG", "SYSTEMROOT"}}


def named_python(name: str) -> str:
    """Return the path of an interpreter that the user names. Raises UsageError."""
    path = shutil.which(str(from_home(name)))
    if path is None:
        raise UsageError(f"--python {name}: there is no such program; name an interpreter, as in ~/envs/x/bin/python")
    if Path(path).is_dir():
        raise UsageError(f"--python {name} is a folder; name the interpreter in it: {name}/bin/python")
    return str(Path(path).absolute())


def _candidates() -> Iterator[str]:
    """Yield interpreters that the user has at hand: that of the active environment, and those on the path."""
    active = os.environ.get("VIRTUAL_ENV", "")
    seen = {str(Path(sys.executable))}
    for path in (
        str(Path(active) / "bin" / "python") if active else None,
        *(shutil.which(name) for name in ("python3", "python", "python3.12", "python3.13", "python3.11")),
    ):
        if path is not None and path not in seen and Path(path).exists():
            seen.add(path)
            yield path
