"""Recorded results of OSWorld: a results JSON, or a folder with a `result.txt` or JSON file per task."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.builtin.osworld.tasks import DesktopTask, TaskFilter
from mesocosm.benchmarks.items import ItemsFile, ProgramItem
from mesocosm.benchmarks.result import Bounds, ResultFileError, ResultValue, number, read_document
from mesocosm.core.failure import Cause, UsageError

BOUNDS = Bounds(0.0, 1.0)
DRY = "this was a dry run: the task was not done, so its result says nothing"
_LISTS = ("results", "tasks", "task_results", "per_task", "per_task_results")
_SCORES = ("score", "result", "reward", "success", "passed")
_KNOWN = ("overall_success_rate", "total_tasks", *_LISTS)


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """The recorded result of one task."""

    domain: str
    task_id: str
    reading: ResultValue
    instruction: str = ""
    error: str = ""

    @property
    def name(self) -> str:
        """Domain and id."""
        return f"{self.domain}/{self.task_id}" if self.domain else self.task_id


@dataclass(slots=True)
class RecordedResults:
    """All results, and the problems found in them."""

    found: list[RecordedResult] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_results(path: Path) -> RecordedResults:
    """Return the results recorded at `path`. Raises UsageError if it does not hold any."""
    results = RecordedResults()
    if path.is_dir():
        _folder(path, results)
    else:
        try:
            document = read_document(path)
        except ResultFileError as error:
            raise UsageError(f"osworld: the results in {path} cannot be used: {error}") from error
        results.found += _document(document, results.problems, dry=False)
    if not results.found:
        raise UsageError(
            f"osworld: {path} holds no results of single tasks; name a results JSON with a list of tasks, or a folder "
            "with DOMAIN/TASK/result.txt"
        )
    return results


def as_items(results: RecordedResults, tasks: Iterable[DesktopTask], choice: TaskFilter) -> ItemsFile:
    """Return the selected results as items. A task without a result is included with a missing score."""
    known = {task.name: task for task in tasks}
    found = {result.name: result for result in results.found if choice.takes(result.domain, result.task_id)}
    twice = len(results.found) - len({result.name for result in results.found})
    items = ItemsFile(problems=list(results.problems))
    if twice:
        items.problems.append(f"{twice} results are of a task that has one already; the last one of each counts")
    unknown = [name for name in found if name not in known] if known else []
    if unknown:
        items.problems.append(
            f"{len(unknown)} results are of no known task and were left out: {', '.join(unknown[:5])}"
        )
    for line, name in enumerate(sorted(known or found), 1):
        task, result = known.get(name), found.get(name)
        domain, task_id = (task.domain, task.id) if task else (result.domain, result.task_id) if result else ("", name)
        missing = ResultValue(None, Cause.VALUE_MISSING, "there is no result of this task")
        items.found.append(
            ProgramItem(
                id=name,
                line=line,
                reading=result.reading if result else missing,
                input={"domain": domain, "task": task_id, **_asked(task, result)},
                output=result.reading.value if result else None,
                error=result.error if result else "",
                tags={"domain": domain},
            )
        )
    return items


def _asked(task: DesktopTask | None, result: RecordedResult | None) -> dict[str, str]:
    instruction = task.instruction if task else result.instruction if result else ""
    return {"instruction": instruction} if instruction else {}


def _folder(root: Path, results: RecordedResults) -> None:
    folders = {file.parent for name in ("result.txt", "traj.jsonl") for file in root.rglob(name)}
    for folder in sorted(folders):
        results.found.append(RecordedResult(folder.parent.name, folder.name, _text(folder / "result.txt")))
    if folders:
        return
    for file in sorted(root.rglob("*.json")):
        try:
            document = read_document(file)
        except ResultFileError as error:
            results.problems.append(f"{file.relative_to(root)} was left out: {error}")
            continue
        results.found += _document(document, results.problems, dry=False)


def _text(file: Path) -> ResultValue:
    try:
        word = file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ResultValue(None, Cause.VALUE_MISSING, "the task has no result.txt: it was not finished")
    if word in ("True", "False"):
        word = str(int(word == "True"))
    try:
        return number({"result": float(word)}, "result", BOUNDS)
    except ValueError:
        return ResultValue(None, Cause.VALUE_UNUSABLE, f"result.txt says {word!r:.80}, which is not a number")


def _document(document: Any, problems: list[str], *, dry: bool) -> list[RecordedResult]:
    """Return the results in a JSON document, which may hold many tasks or one."""
    if isinstance(document, list):
        return _records(document, problems, dry=dry)
    if not isinstance(document, Mapping):
        return []
    dry = dry or _is_dry(document)
    listed = next((document[name] for name in _LISTS if isinstance(document.get(name), list | Mapping)), None)
    if listed is not None:
        found = _document(listed, problems, dry=dry)
        return found or _nested(listed, dry=dry)
    if "task_id" in document or ("id" in document and any(name in document for name in _SCORES)):
        return _records([document], problems, dry=dry)
    return [] if any(name in document for name in _KNOWN) else _nested(document, dry=dry)


def _nested(document: Any, *, dry: bool) -> list[RecordedResult]:
    """Return the results of an object of domains, each an object from task id to result."""
    if not isinstance(document, Mapping):
        return []
    return [
        RecordedResult(str(domain), str(task_id), _judged(value, dry=dry or _is_dry(value)))
        for domain, tasks in document.items()
        if isinstance(tasks, Mapping)
        for task_id, found in tasks.items()
        for value in (found if isinstance(found, Mapping) else {"score": found},)
    ]


def _records(records: Iterable[Any], problems: list[str], *, dry: bool) -> list[RecordedResult]:
    found = []
    for index, record in enumerate(records):
        task_id = record.get("task_id", record.get("id")) if isinstance(record, Mapping) else None
        if task_id in (None, ""):
            problems.append(f"result {index} names no task and was left out")
            continue
        found.append(
            RecordedResult(
                domain=str(record.get("domain") or ""),
                task_id=str(task_id),
                reading=_judged(record, dry=dry or _is_dry(record)),
                instruction=str(record.get("instruction") or ""),
                error=str(record.get("error") or ""),
            )
        )
    return found


def _judged(record: Mapping[str, Any], *, dry: bool) -> ResultValue:
    if dry:
        return ResultValue(None, Cause.UNVERIFIED, DRY)
    name = next(_present(record), "score")
    value = record.get(name)
    return number({name: int(value) if isinstance(value, bool) else value} if name in record else {}, name, BOUNDS)


def _present(record: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in _SCORES if record.get(name) is not None)


def _is_dry(record: Mapping[str, Any]) -> bool:
    modes = (record.get("mode"), record.get("status"))
    return bool(record.get("dry_run") or record.get("dryRun")) or any(
        isinstance(mode, str) and mode.replace("-", "_").lower() == "dry_run" for mode in modes
    )
