"""What identifies a benchmark that is a program, and a check of its descriptor."""

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from mesocosm.benchmarks import placeholders
from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.descriptor import CommandPart, Descriptor
from mesocosm.benchmarks.items import item_paths, list_path
from mesocosm.benchmarks.json_path import parse_path
from mesocosm.benchmarks.native import content_parameters
from mesocosm.benchmarks.result import check_pattern
from mesocosm.benchmarks.setup import BenchmarkSetup, own_files
from mesocosm.core.failure import Problem, UsageError
from mesocosm.core.folder import fingerprint
from mesocosm.core.ids import DIGEST_HEX

_UNSEEN = ("__pycache__", ".git")
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True, slots=True)
class FileDigests:
    """Digests of the files that a program consists of or is given.

    `paths` holds those of parameters, by parameter and relative name (empty if the parameter names a file itself);
    `program` holds those below the benchmark's folder and those outside that the command names.
    """

    paths: Mapping[str, Mapping[str, str]]
    program: Mapping[str, str]

    def named(self) -> dict[str, str]:
        """Return all digests by readable names."""
        given = {
            f"{parameter}/{name}" if name else parameter: found
            for parameter, all_ in self.paths.items()
            for name, found in all_.items()
        }
        return given | dict(self.program)


def read_files(setup: BenchmarkSetup, part: CommandPart) -> FileDigests:
    """Return the current digests of a program's files. Raises UsageError for a path that is missing or unreadable."""
    paths = {
        name: _listed(path)
        for name, parameter in setup.descriptor.parameters.items()
        if parameter.type == "path" and parameter.content and (path := setup.path(name)) is not None
    }
    return FileDigests(paths, _program(setup, part))


_LATER = frozenset({"stderr", "n", "item_list"})


def identity(setup: BenchmarkSetup, part: CommandPart, files: FileDigests) -> list[Any]:
    """Return everything that can change the tasks or the grading: description, parameters, and file contents.

    The location of the files is not part of it.
    """
    descriptor = setup.descriptor
    table = part.model_dump(mode="json", exclude={"timeout_s", "silence_s", "slots", "exclusive", "pass_environment"})
    # Keys that came later are left out while they are unset, so that earlier runs are the same experiment.
    table = {name: value for name, value in table.items() if value or name not in _LATER}
    paths = {name: _whole(found) for name, found in files.paths.items()}
    return [descriptor.id, descriptor.version, table, content_parameters(setup), paths, dict(files.program)]


def _listed(path: Path) -> dict[str, str]:
    """Return the digests of all files below a folder by name; for a single file, its digest under the empty name."""
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
        return fingerprint(path)[:DIGEST_HEX]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _program(setup: BenchmarkSetup, part: CommandPart) -> dict[str, str]:
    """Return, by name, the digests of all files that the program may read without being given them.

    These are the files below the benchmark's folder, and those outside that its command names. For a built-in benchmark
    the result is empty: its version identifies the code.
    """
    if setup.folder.parent == BUILTIN:
        return {}
    folder = setup.folder.resolve()
    found = own_files(setup)
    for name, path in (*_named(folder, part), *_modules(part)):
        if path.is_file():
            found.setdefault(name, _hashed(path))
        elif not path.is_relative_to(folder):
            found |= {f"{name}/{below}": content for below, content in own_files(setup, path).items()}
    return found


def _named(folder: Path, part: CommandPart) -> Iterator[tuple[str, Path]]:
    """Yield the files and directories that a command names, and the directories from which Python then imports.

    Names are relative to the folder. Absolute paths usually point to programs installed on the machine: of these only
    Python files and PYTHONPATH entries are yielded, under their last component.
    """
    start = _place(folder, part.cwd.replace("{folder}", str(folder))) or folder
    words = [word.partition("=")[2] if word.startswith("-") else word for word in placeholders.flat(part.argv)]
    imported = part.environment.get("PYTHONPATH", "").split(os.pathsep)
    words += [*imported, *part.environment.values()]
    named = [(word, _place(start, word.replace("{folder}", str(folder)))) for word in dict.fromkeys(words)]
    for word, path in [(part.cwd, start), *named]:
        if path is None or (Path(word).is_absolute() and word not in imported and path.suffix != ".py"):
            continue
        name = path.name if Path(word).is_absolute() else Path(os.path.relpath(path, folder)).as_posix()
        yield name, path
        if path.suffix == ".py" and path.is_file():
            yield str(PurePosixPath(name).parent), path.parent


def _place(start: Path, word: str) -> Path | None:
    """Return the file or directory that a word names; None if it does not exist or depends on the run."""
    if not word or "{" in word or "\0" in word:
        return None
    try:
        path = (start / word).resolve()
        return path if path.is_file() or path.is_dir() else None
    except OSError:  # a path that cannot be looked up, for example because the name is too long
        return None


def _modules(part: CommandPart) -> Iterator[tuple[str, Path]]:
    """Yield the location of the module that our Python runs with -m, unless it is an installed package."""
    words = placeholders.flat(part.argv)
    if words[:1] != ["{python}"] or "-m" not in words[:-1]:
        return
    name = words[words.index("-m") + 1].partition(".")[0]
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        return
    for place in [] if spec is None else map(Path, spec.submodule_search_locations or [spec.origin or ""]):
        installed = _INSTALLED.intersection(place.parts) or place.is_relative_to(Path(sys.base_prefix) / "lib")
        if place.is_absolute() and place.exists() and not installed:
            yield name, place.resolve()


def shown_parameters(descriptor: Descriptor, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are set, for display: a path is reduced to its last component, the same on any
    machine.

    Parameters that cannot change the tasks or the grading are left out.
    """
    return {
        name: Path(str(value)).name if descriptor.parameters[name].type == "path" else value
        for name, value in parameters.items()
        if value is not None and name in descriptor.parameters and descriptor.parameters[name].content
    }


def faults(descriptor: Descriptor) -> Iterator[Problem]:
    """Yield the faults of a command: unknown placeholders, patterns that leave the output folder, broken JSON paths."""
    part = descriptor.command
    if part is None:
        return
    known = {*placeholders.RUN, *descriptor.parameters}
    words = {"argv": placeholders.flat(part.argv), "cwd": [part.cwd], "environment": list(part.environment.values())}
    for place, some in words.items():
        yield from _tried(f"command.{place}", partial(placeholders.check, some, known))
    patterns = [*(("result", pattern) for pattern in part.result), *([("items", part.items)] if part.items else [])]
    for place, pattern in patterns:
        yield from _tried(f"command.{place}", partial(check_pattern, pattern))
    paths = {"score": part.score, **{f"metrics.{name}": path for name, path in part.metrics.items()}}
    paths |= {f"item.{name}": path for name, path in item_paths(part.item).items()}
    paths |= {name: path for name, path in (("stderr", part.stderr), ("n", part.n)) if path}
    for name, path in paths.items():
        yield from _tried(f"command.{name}", partial(parse_path, path))
    if part.item_list:
        yield from _tried("command.item_list", partial(list_path, part.item_list))


def _tried(place: str, check: Callable[[], object]) -> Iterator[Problem]:
    try:
        check()
    except UsageError as error:
        yield Problem(place, str(error))
