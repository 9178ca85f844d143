"""Instances in SWE-bench's published columns, and two columns of our own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.foreign import read_json


class Gold(msgspec.Struct, frozen=True, omit_defaults=True):
    """Data that only the grader and the oracle may use.

    `patch` is the reference repair, `test_patch` adds the tests; those of `failing` fail before a repair and pass after
    it, those of `passing` pass before and after. `row` is the published row, for the official evaluation.
    """

    patch: str
    test_patch: str = ""
    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    test_command: str = ""
    row: dict[str, Any] = {}


class Instance(msgspec.Struct, frozen=True, omit_defaults=True):
    """One instance. `files` is its repository if included; otherwise the repository is cloned."""

    id: str
    repository: str
    commit: str
    problem: str
    gold: Gold
    files: dict[str, str] = {}


_NEEDED = ("instance_id", "repo", "base_commit", "problem_statement", "patch")


def read_instances(subject: str, rows: Sequence[Mapping[str, Any]]) -> list[Instance]:
    """Return the instances in `rows`. Raises InvalidInput listing every invalid row."""
    found: dict[str, Instance] = {}
    problems: list[Problem] = []
    for place, row in enumerate(rows, 1):
        problem = _wrong(row)
        if problem:
            problems.append(Problem(f"row {place}", problem))
        elif row["instance_id"] in found:
            problems.append(Problem(f"row {place}", f"instance_id {row['instance_id']!r} was there before"))
        else:
            found[row["instance_id"]] = _instance(row)
    if problems:
        raise InvalidInput(f"the instances of {subject}", problems)
    return list(found.values())


def _wrong(row: Mapping[str, Any]) -> str:
    lacking = [name for name in _NEEDED if not isinstance(row.get(name), str) or not row[name]]
    if lacking:
        return f"{', '.join(lacking)} must be there as text"
    if row["base_commit"].startswith("-"):
        return "base_commit is not a commit"
    try:
        _ = [_names(row.get(column)) for column in ("FAIL_TO_PASS", "PASS_TO_PASS")]
    except ValueError as error:
        return str(error)
    files = row.get("files") or {}
    if not isinstance(files, dict) or not all(_inside(path) and isinstance(text, str) for path, text in files.items()):
        return "files must be an object of relative paths and their texts"
    return ""


def _inside(path: object) -> bool:
    return isinstance(path, str) and bool(path) and not path.startswith("/") and ".." not in path.split("/")


def _instance(row: Mapping[str, Any]) -> Instance:
    gold = Gold(
        row["patch"],
        str(row.get("test_patch") or ""),
        _names(row.get("FAIL_TO_PASS")),
        _names(row.get("PASS_TO_PASS")),
        str(row.get("test_command") or ""),
        {} if row.get("files") else {str(name): value for name, value in row.items() if _plain(value)},
    )
    return Instance(
        row["instance_id"],
        row["repo"],
        row["base_commit"],
        row["problem_statement"],
        gold,
        dict(row.get("files") or {}),
    )


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool | list | dict)


def _names(value: Any) -> tuple[str, ...]:
    """Return test names, which are published as a list or as the JSON text of a list. Raises ValueError."""
    if isinstance(value, str):
        try:
            value = read_json(value) if value.strip() else []
        except msgspec.DecodeError as error:
            raise ValueError("FAIL_TO_PASS and PASS_TO_PASS must be lists of names") from error
    if value is None:
        return ()
    if not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise ValueError("FAIL_TO_PASS and PASS_TO_PASS must be lists of names")
    return tuple(value)


def touched(patch: str) -> Iterator[str]:
    """Yield the paths that a patch changes or creates, from its headers."""
    for line in patch.splitlines():
        if line.startswith("+++ b/"):
            yield line.removeprefix("+++ b/").rstrip("\t")
