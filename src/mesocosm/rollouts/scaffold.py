"""Create a new rollout that passes unchanged, and a workspace for it if needed."""

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from mesocosm.core.failure import UsageError
from mesocosm.rollouts.project import WorkspaceDirectory, find_workspace

_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")
_MARK = "{{name}}"
_COMMENTS = 32
"""The column at which the comments of a configuration start."""

_FILES = {
    "rollouts/{{name}}/main.py": "main.py",
    # The templates have other names, so that packaging tools do not take them for this project's own files.
    "rollouts/{{name}}/pyproject.toml": "rollout.toml",
    "data/{{name}}.jsonl": "data.jsonl",
    "configs/eval/{{name}}.toml": "eval.toml",
    ".github/workflows/{{name}}-eval.yml": "workflow.yml",
}
_SHARED = {".gitignore": "gitignore", "configs/training/.gitkeep": ""}
"""Files of the workspace; existing ones are never overwritten."""


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What was created: the workspace, the rollout's name, and the files, relative to the workspace."""

    workspace: WorkspaceDirectory
    name: str
    written: tuple[Path, ...]

    @property
    def config(self) -> Path:
        """The configuration that runs it."""
        return self.workspace.configs / f"{self.name}.toml"


def scaffold(name: str, directory: Path, *, force: bool = False) -> Scaffold:
    """Create the rollout `name` in the workspace of `directory`; without a workspace, `directory` becomes one.

    Raises UsageError for an invalid name, for files that exist already (unless `force`), and for write errors.
    """
    if not _NAME.fullmatch(name) or name == "default":
        raise UsageError(
            f"a rollout cannot be called {name!r}: small letters, digits and -, a letter first, at most 64, "
            "and not `default`"
        )
    root = _root(directory)
    wanted = {Path(path.replace(_MARK, name)): template for path, template in _FILES.items()}
    taken = [str(path) for path in wanted if (root / path).exists()]
    if taken and not force:
        raise UsageError(f"{root} has {', '.join(taken)} already; choose another name, or overwrite with --force")
    wanted |= {Path(path): template for path, template in _SHARED.items() if not (root / path).exists()}
    for path, template in wanted.items():
        _write(root / path, _content(template, name))
    return Scaffold(WorkspaceDirectory(root), name, tuple(wanted))


def _root(directory: Path) -> Path:
    try:
        return find_workspace(directory).root
    except UsageError:
        return directory.resolve()


def _content(template: str, name: str) -> str:
    if not template:
        return ""
    text = (files("mesocosm.rollouts") / "templates" / template).read_text("utf-8")
    return "".join(_named(line, name) for line in text.splitlines(keepends=True))


def _named(line: str, name: str) -> str:
    """Insert the name into a line; a trailing comment stays in its column if the name leaves room."""
    written = line.replace(_MARK, name)
    code, mark, comment = written.partition("  # ")
    if written == line or not mark:
        return written
    return f"{code.rstrip():<{_COMMENTS}} # {comment}"


def _write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}; choose another --dir") from error
