"""A new environment repository that runs green untouched."""

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


@dataclass(frozen=True, slots=True)
class Written:
    """One file of the scaffold: its path, and whether it was written or left because it exists."""

    path: Path
    written: bool


def scaffold(directory: Path, *, name: str = "", force: bool = False) -> list[Written]:
    """Write the files of a new environment into `directory` and return what became of each.

    `name` gives its id, its title and the name of its class; without one they are `my-env`, `My environment` and
    `MyEnv`. Existing files stay unless `force`. Raises UsageError when the directory cannot be written.
    """
    named = _named(name)
    templates = files("mesocosm.environments") / "templates"
    done = []
    for file in FILES:
        path = directory / file
        # The template has no leading dot, so that packaging tools do not take it as their own ignore file.
        content = (templates / file.replace(".gitignore", "gitignore")).read_bytes()
        write = force or not path.exists()
        if write:
            for template, own in named.items():
                content = content.replace(template.encode(), own.encode())
            _write(path, content)
        done.append(Written(path, write))
    return done


def _named(name: str) -> dict[str, str]:
    """Return what takes the place of the template's names. Raises UsageError for a name without a letter."""
    words = re.findall(r"[A-Za-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name))
    own = "-".join(words).lower()[:64].strip("-")
    if not name or own == "my-env":
        return {}
    if not words or not words[0][0].isalpha():
        raise UsageError(f"an environment cannot be called {name!r}: its name begins with a letter from A to Z")
    kind = "".join(word[0].upper() + word[1:] for word in words)
    kind += "" if kind.endswith("Env") else "Env"
    # The title is kept as it was written, where it was written as one.
    title = name if " " in name.strip() else " ".join(words).capitalize()
    return {"my-env": own, "My environment": title.strip().replace('"', "'"), "MyEnv": kind}


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}; choose another --dir") from error
