"""Tools on the files of a checkout. Paths cannot leave it, even through links that a worker creates."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import applies
from mesocosm.benchmarks.orchestrated.confinement import run_confined
from mesocosm.benchmarks.orchestrated.tool import Arguments, ToolError, WorkTool, tool
from mesocosm.core.failure import EpisodeError

MOST_BYTES = 2_000_000
SHELL_SECONDS = 120
_MOST_COMMAND = 20_000
_LISTED = 500
_HITS = 100
_PATH = {"path": "a path in the repository"}


class CheckoutWorkspace:
    """The folder of a checkout, and the worker's operations in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def listed(self, arguments: Arguments) -> str:
        """Return the paths of files below a folder."""
        root = self._inside(arguments.get("path") or ".")
        if not root.is_dir():
            raise ToolError(f"there is no folder {arguments['path'][:200]!r}")
        found = sorted(self._files(root))
        more = f"\n… and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        return "\n".join(found[:_LISTED]) + more or "(no files)"

    async def read(self, arguments: Arguments) -> str:
        """Return a file with line numbers, starting from a given line."""
        lines = self._text(arguments["path"]).splitlines()
        first = arguments.get("first_line", "1")
        if not first.isdigit() or int(first) < 1:
            raise ToolError("first_line must be a number from 1 on")
        chosen = enumerate(lines[int(first) - 1 :], int(first))
        return "\n".join(f"{number:6} {line}" for number, line in chosen) or "(no lines)"

    async def searched(self, arguments: Arguments) -> str:
        """Return the lines that contain a text."""
        wanted = arguments["text"]
        if not wanted:
            raise ToolError("text must not be empty")
        found: list[str] = []
        for path in sorted(self._files(self._inside(arguments.get("path") or "."))):
            for number, line in enumerate(self._lines(path), 1):
                if wanted in line:
                    found.append(f"{path}:{number}: {line[:300]}")
                    if len(found) >= _HITS:
                        return "\n".join([*found, "… and more"])
        return "\n".join(found) or "Nothing was found."

    async def written(self, arguments: Arguments) -> str:
        """Write a whole file."""
        path = self._inside(arguments["path"])
        self._save(path, arguments["content"])
        return f"{arguments['path']} was written."

    async def edited(self, arguments: Arguments) -> str:
        """Replace a text that occurs exactly once."""
        path, old = self._inside(arguments["path"]), arguments["old"]
        text = self._text(arguments["path"])
        times = text.count(old) if old else 0
        if times != 1:
            raise ToolError(f"old is {times} times in the file; it must be there exactly once")
        self._save(path, text.replace(old, arguments["new"]))
        return f"{arguments['path']} was changed."

    async def patched(self, arguments: Arguments) -> str:
        """Apply a unified diff."""
        patch = arguments["patch"]
        reason = await applies(patch if patch.endswith("\n") else f"{patch}\n", self.folder)
        if reason:
            raise ToolError(f"the patch does not apply: {reason}")
        return "The patch was applied."

    async def ran(self, arguments: Arguments) -> str:
        """Run a shell command, confined."""
        if len(arguments["command"]) > _MOST_COMMAND:
            raise ToolError(f"the command is longer than {_MOST_COMMAND} characters")
        try:
            ran = await run_confined(
                ["sh", "-c", arguments["command"]], cwd=self.folder, seconds=SHELL_SECONDS, writable=[self.folder]
            )
        except (EpisodeError, ValueError) as error:
            raise ToolError(f"the command could not be started: {error}") from error
        return ran.text

    def _inside(self, path: str) -> Path:
        root = self.folder.resolve()
        try:
            place = (root / path.strip()).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise ToolError(f"{path[:200]!r} is not a path") from error
        if not place.is_relative_to(root):
            raise ToolError(f"{path[:200]!r} is not in the repository; use paths relative to its root")
        return place

    def _text(self, path: str) -> str:
        place = self._inside(path)
        if not place.is_file():
            raise ToolError(f"there is no file {path[:200]!r}")
        try:
            if place.stat().st_size > MOST_BYTES:
                raise ToolError(f"{path[:200]!r} is larger than {MOST_BYTES} bytes")
            return place.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise ToolError(f"{path[:200]!r} is not text") from error
        except OSError as error:
            raise ToolError(f"{path[:200]!r} cannot be read: {error.strerror}") from error

    def _save(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
        except (OSError, ValueError) as error:
            raise ToolError(f"the file cannot be written: {error}") from error

    def _files(self, root: Path) -> Iterator[str]:
        """Yield the files below a folder, or the single file, relative to the repository; links are not followed."""
        if root.is_file():
            yield root.relative_to(self.folder.resolve()).as_posix()
            return
        for place, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in {".git", "__pycache__"}]
            for name in files:
                path = Path(place, name)
                if path.is_file() and not path.is_symlink():
                    yield path.relative_to(self.folder.resolve()).as_posix()

    def _lines(self, path: str) -> list[str]:
        try:
            return self._text(path).splitlines()
        except ToolError:
            return []


def work_tools(space: CheckoutWorkspace, *, shell: bool) -> list[WorkTool]:
    """Return the tools of a worker, with a shell only if it can be confined."""
    below = {"path": "only below this path"}
    change = {**_PATH, "old": "text that is in the file exactly once", "new": "what takes its place"}
    found = [
        WorkTool(tool("list_files", "List the files of the repository.", {}, below), "code.read", space.listed),
        WorkTool(
            tool("read_file", "Read a file.", _PATH, {"first_line": "number of the first line to show"}),
            "code.read",
            space.read,
        ),
        WorkTool(
            tool("search", "Find lines that hold a text.", {"text": "what to look for"}, below),
            "code.search",
            space.searched,
        ),
        WorkTool(
            tool("write_file", "Write a whole file.", {**_PATH, "content": "all of it"}), "code.write", space.written
        ),
        WorkTool(tool("edit_file", "Replace a text in a file.", change), "code.edit", space.edited),
        WorkTool(
            tool("apply_patch", "Apply a unified diff (a/ and b/ paths).", {"patch": "the diff"}),
            "code.edit",
            space.patched,
        ),
    ]
    if shell:
        described = f"Run a shell command in the repository, without a network, for at most {SHELL_SECONDS} seconds."
        found.append(WorkTool(tool("shell", described, {"command": "the command"}), "code.shell", space.ran))
    return found


def definition_of(problem: str) -> str:
    """Return a word of a text to search for, as a worker would."""
    found = re.findall(r"`(\w+)", problem) or re.findall(r"\w{4,}", problem) or ["def"]
    return str(found[0])
