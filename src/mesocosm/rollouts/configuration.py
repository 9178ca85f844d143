"""The configuration of an evaluation: a TOML file under `configs/eval/` of a workspace.

Everything is checked here, before anything runs, and all problems are reported together.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.reading import join, nearest
from mesocosm.rollouts import checking
from mesocosm.rollouts.older import translate
from mesocosm.rollouts.project import WorkspaceDirectory, find_workspace
from mesocosm.rollouts.section import Section, describe_value, kind
from mesocosm.rollouts.tables import Columns, DatasetTable, Evaluation, Experiment, GraderTable, ModelTable

__all__ = [
    "Columns",
    "Config",
    "DatasetTable",
    "Evaluation",
    "Experiment",
    "GraderTable",
    "ModelTable",
    "parse_overrides",
    "read_config",
]

FLAG = "--set"
TABLES = ("experiment", "evaluation", "dataset", "grader", "model", "advanced", "env", "secrets")
"""The tables of a configuration."""

_FORM = f"write {FLAG} section.key=value, for example {FLAG} evaluation.n=3"
_KEY = re.compile(r"[\w-]+(\.[\w-]+){1,15}", re.ASCII)
_MOST_PARTS = 15
_TEXTS = ("experiment.", "env.", "dataset.revision", "dataset.split", "dataset.config")
"""Keys that are always text, even if the value looks like a number: commits, years, variables."""

_LARGEST = 2**20
_DEEPEST = 32
_FREE = ("grader.", "model.extra", "advanced.")
_OUTSIDE = (
    "write the value itself; a secret comes from the environment or from --secrets-file, by its name in "
    "[secrets] required"
)
_FOREIGN = {
    **dict.fromkeys(("training", "sampling", "checkpoints"), "it belongs into a configuration of training"),
    **dict.fromkeys(("tasks", "agents", "execution", "verifier"), "it belongs into a configuration of a benchmark"),
}
_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*(?::?[-=?+][^}]*)?\}")
_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True, slots=True)
class Config:
    """A valid configuration.

    `secrets` are names; `secret_values.resolve` finds their values. `notes` mention older spellings and settings that
    have no effect.
    """

    path: Path
    workspace: WorkspaceDirectory
    experiment: Experiment
    evaluation: Evaluation
    dataset: DatasetTable
    grader: GraderTable | None
    model: ModelTable
    advanced: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The rollout's folder, in the copy of the configured commit or branch if there is one."""
        workspace = WorkspaceDirectory(self.experiment.code.root) if self.experiment.code else self.workspace
        return workspace.rollouts / self.experiment.rollout

    @property
    def isolation(self) -> str:
        """`process`, `in-process`, or empty if the file does not set it."""
        return str(self.advanced.get("isolation", ""))

    @property
    def workers(self) -> int | None:
        """Number of worker processes; None if the file does not set it."""
        return self.advanced.get("workers")


def parse_overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Return the values of several `--set section.key=value`; the last one of a key counts. Raises UsageError."""
    return dict(map(_parse_override, texts))


def read_config(path: Path, overrides: Mapping[str, Any] | None = None, *, check_out: bool = True) -> Config:
    """Read and check the configuration at `path`; `overrides` maps `section.key` to values that take precedence.

    Unless `check_out`, a configured commit or branch is not looked up, and the rollout is not looked for in it.

    Raises UsageError if the file is missing or outside the workspace, InvalidInput with all problems of its content.
    """
    workspace = _workspace(path)
    return config_of(_document(path), path, workspace, overrides, check_out=check_out)


def config_of(
    document: Mapping[str, Any],
    path: Path,
    workspace: WorkspaceDirectory,
    overrides: Mapping[str, Any] | None = None,
    *,
    check_out: bool = True,
) -> Config:
    """Check the tables of a configuration, as `read_config` does; `path` is what problems are attributed to."""
    done = translate(_sound(document, str(path)))
    problems, notes = done.problems, done.notes
    tables = _tables(done.document, problems)
    problems += _apply(tables, _sound(overrides or {}, f"the values of {FLAG}"))
    unusable = list(_unusable(tables))
    config = _config(path.resolve(), workspace, tables, problems, notes, check_out=check_out)
    hopeless = {problem.path for problem in unusable}
    problems = [*unusable, *(problem for problem in problems if problem.path not in hopeless)]
    if problems:
        origins = {**done.origins, **dict.fromkeys(overrides or {}, FLAG)}
        raise InvalidInput(str(path), [_traced(problem, origins) for problem in problems])
    return config


def _traced(problem: Problem, origins: Mapping[str, str]) -> Problem:
    """Return `problem` with the origin of its value added, if that differs from its path."""
    for path, origin in origins.items():
        if problem.path == path or problem.path.startswith((f"{path}.", f"{path}[")):
            return msgspec.structs.replace(problem, message=f"{problem.message} (from {origin})")
    return problem


def _config(
    path: Path,
    workspace: WorkspaceDirectory,
    tables: Mapping[str, Any],
    problems: list[Problem],
    notes: list[str],
    *,
    check_out: bool,
) -> Config:
    def section(name: str) -> Section:
        return Section(name, tables.get(name, {}), problems)

    experiment = checking.experiment(section("experiment"), workspace, notes, check_out=check_out)
    variables = section("env")
    return Config(
        path=path,
        workspace=workspace,
        experiment=experiment,
        evaluation=checking.evaluation(section("evaluation"), notes),
        dataset=checking.dataset(section("dataset")),
        grader=checking.grader(section("grader")) if "grader" in tables else None,
        model=checking.model(section("model"), experiment.model_path),
        advanced=checking.advanced(section("advanced"), notes),
        env=checking.env(variables),
        secrets=checking.secrets(section("secrets"), variables.raw),
        notes=tuple(notes),
    )


def _workspace(path: Path) -> WorkspaceDirectory:
    if path.suffix != ".toml":
        raise UsageError(f"{path} is not a .toml file; configurations of evaluations are configs/eval/NAME.toml")
    if not path.is_file():
        near = nearest(path.name, [one.name for one in path.parent.glob("*.toml")])
        hint = f"did you mean {path.parent / near}?" if near else "`mesocosm eval init NAME` makes a first one"
        raise UsageError(f"there is no file {path}; {hint}")
    workspace = find_workspace(path.parent)
    if not path.resolve().is_relative_to(workspace.configs.resolve()):
        raise UsageError(f"{path} lies elsewhere than in {workspace.configs}; move it there")
    return workspace


def _document(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
        if len(content) > _LARGEST:
            raise UsageError(f"{path} is larger than 1 MiB, which no configuration is")
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problem = Problem(f"line {line}", "is not UTF-8", "save the file as UTF-8")
        raise InvalidInput(str(path), [problem]) from error
    try:
        return _sound(tomllib.loads(text), str(path))
    except (ValueError, RecursionError) as error:
        place = _AT_LINE.search(str(error))
        where = f"line {place[1]}, column {place[2]}" if place else ""
        what = _AT_LINE.sub("", str(error))
        raise InvalidInput(str(path), [Problem(where, f"is not TOML: {what}", "mend that line")]) from error


def _sound(values: Mapping[str, Any], subject: str) -> dict[str, Any]:
    """Return `values` with dates and times as text, as in JSON. Raises UsageError if they are nested too deeply."""
    level: list[Any] = [values]
    for _ in range(_DEEPEST):
        level = [
            item
            for value in level
            if isinstance(value, (Mapping, list))
            for item in (value.values() if isinstance(value, Mapping) else value)
        ]
    if level:
        raise UsageError(f"{subject}: nested more than {_DEEPEST} levels deep")
    return {key: _plain(value) for key, value in values.items()}


def _tables(document: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """Return the known tables of `document`."""
    found = {}
    homes = {key: table for table, keys in checking.KEYS.items() for key in keys}
    for name, value in document.items():
        if name in TABLES and isinstance(value, Mapping):
            found[name] = dict(value)
        elif name in TABLES:
            problems.append(Problem(name, f"must be a table, not {describe_value(value)}", f"write it as [{name}]"))
        else:
            near = nearest(name, TABLES)
            fix = f"it belongs into [{homes[name]}]" if name in homes else _FOREIGN.get(name, "")
            fix = fix or (f"did you mean [{near}]?" if near else f"known: {', '.join(TABLES)}")
            what = "is not a known section" if isinstance(value, (Mapping, list)) else "stands outside of every section"
            problems.append(Problem(join("", name), what, fix))
    return found


def _plain(value: Any) -> Any:
    """Return `value` with dates and times as text, as in JSON."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, (date, time)) else value


def _unusable(tables: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each value with a `${…}` placeholder, and for numbers that JSON cannot represent."""
    for path, value in _leaves("", tables):
        if isinstance(value, str) and _VARIABLE.search(value):
            yield Problem(path, "holds ${…}, and nothing is put in its place", _OUTSIDE)
        elif path.startswith(_FREE) and isinstance(value, float) and not math.isfinite(value):
            yield Problem(path, f"must be a finite number, not {value}")
        elif path.startswith(_FREE) and isinstance(value, int) and not -(2**63) <= value < 2**63:
            yield Problem(path, "must be an integer of at most 64 bits")


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(join(path, key), item)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(join(path, place), item)
    else:
        yield path, value


def _parse_override(text: str) -> tuple[str, Any]:
    """Return key and value of `section.key=value`.

    The value is parsed as TOML (`3`, `["A", "B"]`), else taken as a string (`all`). Raises UsageError, which never
    repeats the value.
    """
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not _KEY.fullmatch(key):
        raise UsageError(f"{FLAG} {key!r}: {'that is not a section.key' if equals else 'there is no ='}; {_FORM}")
    section = key.partition(".")[0]
    if section not in TABLES:
        near = nearest(section, TABLES)
        hint = f"did you mean {near}?" if near else f"known: {', '.join(TABLES)}"
        raise UsageError(f"{FLAG} {key}: there is no section {section!r}; {hint}")
    return key, _value(key, value.strip())


def _apply(tables: MutableMapping[str, Any], overrides: Mapping[str, Any]) -> list[Problem]:
    """Add `overrides` to `tables` in place; return a problem for each override without a valid place."""
    problems = []
    for path, value in overrides.items():
        *sections, key = path.split(".")
        if not sections or sections[0] not in TABLES or len(sections) > _MOST_PARTS:
            problems.append(Problem(path, "names no key of a section", _FORM))
            continue
        place: Any = tables
        for name in sections:
            place = place.setdefault(name, {})
            if not isinstance(place, MutableMapping):
                problems.append(Problem(path, f"lies below {name}, which is {kind(place)}"))
                break
        else:
            place[key] = value
    return problems


def _value(key: str, text: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    # More than one key: the text contained a line break, and TOML parsed what followed as further keys.
    if list(read) != ["value"] or (key.startswith(_TEXTS) and not isinstance(read["value"], str)):
        return text
    return read["value"]
