"""Instances from users: our own form, the published form of REALM-Bench, and job shop text files.

Own form: an object with `problem` (P1 to P11) and the fields of that problem's instance, as a prompt shows them.
Published form: the keys of REALM-Bench's files; mesocosm.benchmarks.builtin.realm.conversion describes each problem and
the defaults of missing keys. Job shop: text files, see mesocosm.benchmarks.builtin.realm.job_shop_text.

The problem is given by the key `problem`, or else by the start of the file's or folder's name. Instances from such
files are not disrupted.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.realm.conversion import CONVERSIONS
from mesocosm.benchmarks.builtin.realm.job_shop_text import read_job_shop
from mesocosm.benchmarks.builtin.realm.problems import HIDDEN, PROBLEMS
from mesocosm.benchmarks.builtin.realm.supplied import FileValue
from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.foreign import read_json

JOB_SHOP = "P11"
_NAME = re.compile(r"(P[0-9]{1,2})(?![0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PublishedInstance:
    """An instance, its problem, and a unique name."""

    problem: str
    name: str
    instance: Any


def read_instances(place: Path, problems: Sequence[str], most: int | None) -> list[PublishedInstance]:
    """Return the first `most` instances (None: all) of each of `problems` in a file or folder.

    Raises UsageError if there are no instances, and InvalidInput naming file and key.
    """
    taken: dict[str, int] = {}
    found: list[PublishedInstance] = []
    for file in _files(place):
        known = JOB_SHOP if file.suffix != ".json" else _problem_of(file, place)
        if known is not None and (known not in problems or (most is not None and taken.get(known, 0) >= most)):
            continue
        for one in _instances(file, place):
            if one.problem in problems and (most is None or taken.get(one.problem, 0) < most):
                taken[one.problem] = taken.get(one.problem, 0) + 1
                found.append(one)
    if not found:
        raise UsageError(f"realm: {place} holds no instance of {', '.join(problems)}; see the help of data_path")
    return found


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for file in sorted(place.rglob("*")):
        hidden = file.name.startswith((".", "README", "LICENSE"))
        job_shop = file.suffix in {"", ".txt", ".jsp"} and _problem_of(file, place) == JOB_SHOP
        if file.is_file() and not hidden and (file.suffix == ".json" or job_shop):
            yield file


def _problem_of(file: Path, place: Path) -> str | None:
    """Return the problem named at the start of the file's name or of a folder above it, or None."""
    inside = file.relative_to(place).parts if place in file.parents else (file.name,)
    for name in (*reversed(inside), place.name):
        match = _NAME.match(name)
        if match and match[1].upper() in PROBLEMS:
            return match[1].upper()
    return None


def _instances(file: Path, place: Path) -> Iterator[PublishedInstance]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    label = str(file.relative_to(place).with_suffix("")) if place in file.parents else file.stem
    if file.suffix != ".json":
        yield PublishedInstance(JOB_SHOP, label, read_job_shop(str(file), data))
        return
    try:
        whole = read_json(data, large=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(str(file), [Problem("", f"is not JSON: {error}")]) from error
    parts = FileValue(str(file), "", whole).items() if isinstance(whole, list) else [FileValue(str(file), "", whole)]
    for number, part in enumerate(parts):
        name = f"{label}-{number}" if len(parts) > 1 else label
        yield _instance(part, name, _problem_of(file, place))


def _instance(part: FileValue, name: str, guessed: str | None) -> PublishedInstance:
    named = part.maybe("problem", "problem_id")
    problem = named.text().upper() if named else guessed
    if problem not in PROBLEMS:
        raise part.wrong(f"belongs to no known problem ({problem}); add the key `problem` with P1 to P11")
    shape = PROBLEMS[problem].family.instance
    fields = {field.name for field in msgspec.structs.fields(shape) if field.required}
    if not fields <= set(part.value):
        return PublishedInstance(problem, name, _checked(part, problem, CONVERSIONS[problem](part)))
    own = {key: value for key, value in part.value.items() if key not in HIDDEN}
    try:
        return PublishedInstance(problem, name, _checked(part, problem, msgspec.convert(own, shape)))
    except msgspec.ValidationError as error:
        raise part.wrong(f"is not an instance of {problem}: {error}") from error


def _checked(part: FileValue, problem: str, instance: Any) -> Any:
    """Return the instance after checking it with trivial plans, which reveal undefined names."""
    family = PROBLEMS[problem].family
    try:
        for plan in family.free_of_content(instance):
            family.accepts(instance, plan)
        family.bound(instance)
    except (KeyError, IndexError, ValueError, StopIteration, ZeroDivisionError) as error:
        raise part.wrong(
            f"is not a usable instance of {problem}: {error!r} is empty, or named and not defined"
        ) from error
    return instance
