"""Create a new environment repository that works without changes."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from mesocosm.core.failure import UsageError

FILES = (
    "benchanything.json",
    "adapter.py",
    "env.py",
    "test_env.py",
    "requirements.txt",
    "LOCAL_DEV.md",
    ".gitignore",
    "showcase/README.md",
    "showcase/replay.example.json",
    "showcase/index.html",
)
SMALLEST = ("benchanything.json", "adapter.py", "env.py", "test_env.py")
"""The files of an environment that runs and is tested, without what a repository of its own wants."""

_NAMES = re.compile(rb"my-env|My environment|MyEnv")
"""Names of the environment in the templates. The title occurs only in JSON strings."""


@dataclass(frozen=True, slots=True)
class ScaffoldFile:
    """One file of the scaffold: its path, and whether it was written or kept because it exists."""

    path: Path
    written: bool


def scaffold(directory: Path, *, name: str = "", force: bool = False) -> list[ScaffoldFile]:
    """Write the files of a new environment to `directory` and return them.

    `name` determines its id, title and class name; the defaults are `my-env`, `My environment` and `MyEnv`. Existing
    files are kept unless `force`. Raise UsageError for an unusable name, or if the directory cannot be written.
    """
    done = []
    for file, content in templates(name).items():
        path = directory / file
        write = force or not path.exists()
        if write:
            _write(path, content.encode())
        done.append(ScaffoldFile(path, write))
    return done


def templates(name: str = "", wanted: Sequence[str] = FILES) -> dict[str, str]:
    """Return the content of files of a new environment called `name`. Raises UsageError for an unusable name."""
    named = _named(name)
    folder = files("mesocosm.environments") / "templates"
    found = {}
    for file in wanted:
        # The template has no leading dot, so that packaging tools do not use it as their own ignore file.
        content = (folder / file.replace(".gitignore", "gitignore")).read_bytes()
        found[file] = _NAMES.sub(lambda match: named[match[0]], content).decode()
    return found


def _named(name: str) -> dict[bytes, bytes]:
    """Return the replacement for each of the template's names.

    Raise UsageError for a name that does not begin with a letter or is not valid text.
    """
    words = re.findall(r"[A-Za-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name))
    own = "-".join(words).lower()[:64].strip("-")
    if not name or own == "my-env":
        name, own, words = "My environment", "my-env", ["My"]
    if not words or not words[0][0].isalpha():
        raise UsageError(f"an environment cannot be called {name!r}: its name begins with a letter from A to Z")
    kind = "".join(word[0].upper() + word[1:] for word in words)
    kind += "" if kind.endswith("Env") else "Env"
    # A name with spaces is kept as the title.
    title = name.strip() if " " in name.strip() else " ".join(words).capitalize()
    try:
        shown = json.dumps(title, ensure_ascii=False)[1:-1].encode()
    except UnicodeEncodeError:
        raise UsageError(f"an environment cannot be called {name!r}: its name is not text") from None
    return {b"my-env": own.encode(), b"My environment": shown, b"MyEnv": kind.encode()}


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}; choose another --dir") from error
