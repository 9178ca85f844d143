"""Task files of OSWorld: one JSON object each, in a folder per domain, checked before anything is run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.result import ResultFileError, read_document
from mesocosm.core.failure import InvalidInput, Problem, UsageError

ALL = "all"
MOST_LISTED = 50


@dataclass(frozen=True, slots=True)
class DesktopTask:
    """One task: its domain, instruction, and file."""

    id: str
    domain: str
    instruction: str
    file: Path

    @property
    def name(self) -> str:
        """Domain and id, as used in results."""
        return f"{self.domain}/{self.id}"


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """A filter of tasks; empty values select all."""

    domain: str = ""
    task_id: str = ""

    def takes(self, domain: str, task_id: str) -> bool:
        """Return whether a task is selected."""
        return self.domain in ("", ALL, domain) and self.task_id in ("", task_id)


def read_tasks(path: Path, choice: TaskFilter = TaskFilter()) -> list[DesktopTask]:
    """Return the selected tasks below a folder, or that of a single file. Raises InvalidInput listing every problem."""
    problems: list[Problem] = []
    found: list[DesktopTask] = []
    for file in _files(path):
        task = _read(file, problems)
        if task is not None and choice.takes(task.domain, task.id):
            found.append(task)
    if problems:
        rest = len(problems) - MOST_LISTED
        more = [Problem("", f"{rest} more problems")] if rest > 0 else []
        raise InvalidInput(f"task files in {path}", [*problems[:MOST_LISTED], *more])
    if not found:
        raise UsageError(f"osworld: no task file in {path} is wanted; check tasks_path, domain and task_id")
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    # Files directly in this folder are lists of tasks, not tasks.
    root = path / "examples" if (path / "examples").is_dir() else path
    yield from sorted(root.glob("*/*.json"))


def _read(file: Path, problems: list[Problem]) -> DesktopTask | None:
    place = f"{file.parent.name}/{file.name}"
    try:
        raw = read_document(file)
    except ResultFileError as error:
        problems.append(Problem(place, str(error)))
        return None
    found = [Problem(f"{place}: {problem.path}", problem.message) for problem in faults(raw)]
    problems += found
    return None if found else DesktopTask(raw["id"], file.parent.name, raw["instruction"], file)


def faults(raw: Any) -> Iterator[Problem]:
    """Yield the problems of one task."""
    if not isinstance(raw, Mapping):
        yield Problem("", "must be an object")
        return
    for name in ("id", "instruction", "snapshot"):
        if not isinstance(raw.get(name), str) or not raw[name].strip():
            yield Problem(name, "must be a text that is not empty")
    config = raw.get("config", [])
    if not isinstance(config, Sequence) or isinstance(config, str):
        yield Problem("config", "must be a list of steps")
    else:
        yield from _steps(config)
    if not isinstance(raw.get("related_apps", []), list):
        yield Problem("related_apps", "must be a list of names")
    yield from _evaluator(raw.get("evaluator"))


def _steps(config: Sequence[Any]) -> Iterator[Problem]:
    for index, step in enumerate(config):
        if not isinstance(step, Mapping) or not isinstance(step.get("type"), str):
            yield Problem(f"config[{index}]", "must be an object with a type")
        elif not isinstance(step.get("parameters", {}), Mapping):
            yield Problem(f"config[{index}].parameters", "must be an object")


def _evaluator(evaluator: Any) -> Iterator[Problem]:
    if not isinstance(evaluator, Mapping):
        yield Problem("evaluator", "is required: without it nothing can be said of the outcome")
        return
    names = evaluator.get("func")
    several = isinstance(names, list)
    named = names if several else [names]
    if not named or not all(isinstance(name, str) and name for name in named):
        yield Problem("evaluator.func", "must be the name of a function, or a list of such names")
        return
    if several and evaluator.get("conj", "and") not in ("and", "or"):
        yield Problem("evaluator.conj", "must be 'and' or 'or'")
    if named == ["infeasible"]:
        return
    if "result" not in evaluator:
        yield Problem("evaluator.result", "is required: it says what the function looks at")
        return
    for part in ("result", "expected", "options"):
        value = evaluator.get(part)
        if several and part in evaluator and not (isinstance(value, list) and len(value) == len(named)):
            yield Problem(f"evaluator.{part}", f"must be a list of {len(named)}, one for each function")
