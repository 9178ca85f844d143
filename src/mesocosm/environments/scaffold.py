"""Create a new environment repository that works without changes."""

import json
import re
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
    named = _named(name)
    templates = files("mesocosm.environments") / "templates"
    done = []
    for file in FILES:
        path = directory / file
        # The template has no leading dot, so that packaging tools do not use it as their own ignore file.
        content = (templates / file.replace(".gitignore", "gitignore")).read_bytes()
        write = force or not path.exists()
        if write:
            _write(path, _NAMES.sub(lambda match: named[match[0]], content))
        done.append(ScaffoldFile(path, write))
    return done


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
