"""What makes a benchmark that is a program this benchmark, and what is wrong with its description."""

import ast
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mesocosm.benchmarks import placeholders
from mesocosm.benchmarks.descriptor import CommandPart, Descriptor
from mesocosm.benchmarks.items import item_paths
from mesocosm.benchmarks.json_path import parse_path
from mesocosm.benchmarks.native import content_knobs
from mesocosm.benchmarks.opening import Setup
from mesocosm.benchmarks.result import check_pattern
from mesocosm.core.failure import Problem, UsageError
from mesocosm.core.ids import DIGEST_HEX

_UNSEEN = ("__pycache__", ".git")


@dataclass(frozen=True, slots=True)
class Files:
    """Digests of the files that a program is made of, or is given.

    `paths` are those of knobs, by the knob and the name below it (empty where the knob names a file itself); `program`
    are words of the command that name files of the benchmark's own folder, and modules beside them that they import.
    """

    paths: Mapping[str, Mapping[str, str]]
    program: Mapping[str, str]

    def named(self) -> dict[str, str]:
        """Return all of them by names that people understand."""
        given = {
            f"{knob}/{name}" if name else knob: found
            for knob, all_ in self.paths.items()
            for name, found in all_.items()
        }
        return given | {word.removeprefix("{folder}/"): found for word, found in self.program.items()}


def read_files(setup: Setup, part: CommandPart) -> Files:
    """Return what a program is made of now. Raises UsageError for a path that leads to nothing or cannot be read."""
    paths = {
        name: _listed(path)
        for name, knob in setup.descriptor.knobs.items()
        if knob.type == "path" and knob.content and (path := setup.path(name)) is not None
    }
    return Files(paths, dict(_program(setup.folder, part)))


def identity(setup: Setup, part: CommandPart, files: Files) -> list[Any]:
    """Return everything that can change what is asked or how it is graded: description, knobs, content of files.

    Where files lie is no part of it.
    """
    descriptor = setup.descriptor
    table = part.model_dump(mode="json", exclude={"timeout_s", "silence_s", "slots", "exclusive", "pass_environment"})
    paths = {name: _whole(found) for name, found in files.paths.items()}
    return [descriptor.id, descriptor.version, table, content_knobs(setup), paths, dict(files.program)]


def _listed(path: Path) -> dict[str, str]:
    """Return the digests of all files below a folder by their names, or that of the file itself under no name."""
    if path.is_file():
        return {"": _hashed(path)}
    files = ((file.relative_to(path), file) for file in sorted(path.rglob("*")) if file.is_file())
    return {name.as_posix(): _hashed(file) for name, file in files if not any(part in _UNSEEN for part in name.parts)}


def _whole(files: Mapping[str, str]) -> str:
    if "" in files:
        return files[""]
    whole = hashlib.sha256()
    for name, found in files.items():
        whole.update(f"{name}\0{found}\n".encode())
    return whole.hexdigest()[:DIGEST_HEX]


def _hashed(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_HEX]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _program(folder: Path, part: CommandPart) -> Iterator[tuple[str, str]]:
    """Yield the words of a command that name files of the benchmark's own folder, with the digest of each.

    Modules that a Python file imports from beside itself follow, by their names below the folder.
    """
    root = folder.resolve()
    seen: dict[Path, None] = {}
    for word in placeholders.flat(part.argv):
        plain = word.replace("{folder}", str(root))
        if "{" in plain or not plain:
            continue
        path = (root / ("" if "{" in part.cwd else part.cwd) / plain).resolve()
        if path.is_relative_to(root) and path.is_file():
            yield word, _hashed(path)
            seen[path] = None
    named, pending = set(seen), list(seen)
    while pending:
        for path in _imported(pending.pop()):
            if path not in seen and path.is_relative_to(root):
                seen[path] = None
                pending.append(path)
    for path in sorted(set(seen) - named):
        yield path.relative_to(root).as_posix(), _hashed(path)


def _imported(file: Path) -> Iterator[Path]:
    """Yield the files beside a Python file that it imports, also in the midst of a function."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            names += [f"{node.module}.{alias.name}" for alias in node.names] if node.module else []
        for name in names:
            # Importing a module of a package imports the packages around it as well.
            parts = name.split(".")
            for depth in range(1, len(parts) + 1):
                place = file.parent.joinpath(*parts[:depth])
                yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file())


def shown_knobs(descriptor: Descriptor, knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the knobs that are set, as people see them: of paths the last part alone, for the rest is of one machine.

    Settings that cannot change what is asked are left out.
    """
    return {
        name: Path(str(value)).name if descriptor.knobs[name].type == "path" else value
        for name, value in knobs.items()
        if value is not None and name in descriptor.knobs and descriptor.knobs[name].content
    }


def faults(descriptor: Descriptor) -> Iterator[Problem]:
    """Yield what is wrong with a command: unknown placeholders, patterns that lead outside, broken JSON paths."""
    part = descriptor.command
    if part is None:
        return
    known = {*placeholders.RUN, *descriptor.knobs}
    words = {"argv": placeholders.flat(part.argv), "cwd": [part.cwd], "environment": list(part.environment.values())}
    for place, some in words.items():
        yield from _tried(f"command.{place}", partial(placeholders.check, some, known))
    for pattern in (*part.result, *([part.items] if part.items else [])):
        yield from _tried("command.result", partial(check_pattern, pattern))
    paths = {"score": part.score, **{f"metrics.{name}": path for name, path in part.metrics.items()}}
    paths |= {f"item.{name}": path for name, path in item_paths(part.item).items()}
    for name, path in paths.items():
        yield from _tried(f"command.{name}", partial(parse_path, path))


def _tried(place: str, check: Callable[[], object]) -> Iterator[Problem]:
    try:
        check()
    except UsageError as error:
        yield Problem(place, str(error))
