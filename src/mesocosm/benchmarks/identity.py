"""What makes a benchmark that is a program this benchmark, and what is wrong with its description."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
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


def identity(setup: Setup, part: CommandPart) -> list[Any]:
    """Return everything that can change what is asked or how it is graded: description, knobs, content of files.

    Where files lie is no part of it. Of the command's words those count as files that name one in the benchmark's
    folder. Raises UsageError for a path that leads to nothing.
    """
    descriptor = setup.descriptor
    table = part.model_dump(mode="json", exclude={"timeout_s", "silence_s", "slots", "exclusive", "pass_environment"})
    paths = {
        name: content(path)
        for name, knob in descriptor.knobs.items()
        if knob.type == "path" and knob.content and (path := setup.path(name)) is not None
    }
    return [descriptor.id, descriptor.version, table, content_knobs(setup), paths, dict(_files(setup.folder, part))]


def content(path: Path) -> str:
    """Return the digest of a file, or of all files below a folder with their names."""
    if path.is_file():
        return _hashed(path)
    whole = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        if file.is_file() and not any(part in _UNSEEN for part in name.parts):
            whole.update(f"{name.as_posix()}\0{_hashed(file)}\n".encode())
    return whole.hexdigest()[:DIGEST_HEX]


def _hashed(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_HEX]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _files(folder: Path, part: CommandPart) -> Iterator[tuple[str, str]]:
    """Yield the words of a command that name files of the benchmark's own folder, with the digest of each."""
    root = folder.resolve()
    for word in placeholders.flat(part.argv):
        plain = word.replace("{folder}", str(root))
        if "{" in plain or not plain:
            continue
        path = (root / ("" if "{" in part.cwd else part.cwd) / plain).resolve()
        if path.is_relative_to(root) and path.is_file():
            yield word, _hashed(path)


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
